"""How answers of the API look on a terminal: moments, states as symbol and word.

Owns the forms alone. All foreign text goes through the one function that shows text.
"""

import datetime as dt
from collections.abc import Mapping
from typing import Any, Final

from repositories.engine.display import show_text

NOTHING: Final = "-"
_MARKS: Final[Mapping[str, str]] = {
    "waiting": "…",
    "admitted": "…",
    "running": "▶",
    "succeeded": "✓",
    "partial_failure": "◐",
    "failed": "✗",
    "cancelled": "■",
    "skipped": "○",
    "active": "✓",
    "paused": "‖",
    "flagged": "!",
    "registering": "…",
}


def moment(text: str | None) -> str:
    """Return an instant of the API as `2026-11-30 02:00 UTC`."""
    if text is None:
        return NOTHING
    return f"{dt.datetime.fromisoformat(text).astimezone(dt.UTC):%Y-%m-%d %H:%M} UTC"


def exact(text: str | None) -> str:
    """Return an instant to the second, where it is compared with logs: `2026-11-30 02:00:07 UTC`."""
    if text is None:
        return NOTHING
    return f"{dt.datetime.fromisoformat(text).astimezone(dt.UTC):%Y-%m-%d %H:%M:%S} UTC"


def state(word: str | None) -> str:
    """Return a state as symbol and word."""
    return f"{_MARKS.get(word, '?')} {word.replace('_', ' ')}" if word else NOTHING


def standing(job: Mapping[str, Any]) -> str:
    """Return whether a job is active, paused, or has a schedule that plans nothing."""
    flagged = any(one["state"] == "flagged" for one in job["schedules"])
    return state("flagged" if flagged and job["status"] == "active" else job["status"])


def waited_for(job: Mapping[str, Any]) -> list[str]:
    """Return the names of the jobs that a job waits for, and how many more whoever asks does not see."""
    names, unseen = [show_text(one["name"]) for one in job["depends_on"]], job["unseen_dependencies"]
    return [*names, f"{unseen} that you do not see"] if unseen else names


def next_run(job: Mapping[str, Any]) -> str:
    """Return when a job is due next and what postpones it, or that it runs by hand; of a paused one, nothing is."""
    if job["next_run_at"] or job["status"] != "active" or job["schedules"]:
        return f"{moment(job['next_run_at'])}{postponed(job)}"
    return show_text(job["schedule_description"])


def postponed(job: Mapping[str, Any]) -> str:
    """Return until when a window holds the next run, to stand behind its instant; "" where none does.

    A server of an earlier version tells nothing of windows in its lists.
    """
    window = job.get("next_start_window")
    if window is None:
        return ""
    name = show_text(window["name"])
    if job["next_start_at"] is None:
        return f", held by windows such as {name}: no free instant within 31 days"
    what = f"the blackout {name}" if window["code"] == "blackout" else f"windows such as {name}"
    return f", held until {moment(job['next_start_at'])} by {what}"


def text(value: Any) -> str:
    """Return any value of an answer as harmless text."""
    return NOTHING if value is None or value == "" else show_text(str(value))


def why(run: Mapping[str, Any]) -> str:
    """Return what a waiting run waits for, to stand behind its state."""
    return f": {show_text(run['held']['sentence'])}" if run["held"] else ""


def silence(run: Mapping[str, Any]) -> str:
    """Return since when a running run's worker has not been heard of, or tells no progress; "" while it does."""
    if run["silent_since"]:
        return f": no sign of life since {exact(run['silent_since'])}"
    return f": no progress since {exact(run['stalled_since'])}" if run.get("stalled_since") else ""

"""How windows look on a terminal, and how one is sent back: its times in words, whose it is, what it moves.

Owns the forms alone.
"""

from typing import Any, Final

from jobs.ctl import shapes
from jobs.ctl.api import Api, Json
from jobs.ctl.refusals import RefusedError
from repositories.console.terminal import Terminal
from repositories.engine.display import show_duration, show_text

# What an answer holds beside the window itself.
_NOT_SENT: Final = frozenset({"id", "created_at", "warnings"})


def body_of(window: Json) -> dict[str, Any]:
    """Return a window as the API takes it."""
    return {name: value for name, value in window.items() if name not in _NOT_SENT}


def times_of(window: Json) -> str:
    """Return when a window is open."""
    if "starts_at" in window:
        return f"from {shapes.moment(window['starts_at'])} until {shapes.moment(window['ends_at'])}"
    days = "every day" if len(window["days"]) == 7 else ", ".join(window["days"])
    length = show_duration(window["length_seconds"])
    return show_text(f"{days} at {window['start']} for {length} ({window['time_zone']})")


def level_of(api: Api, window: Json) -> str:
    """Return whose window it is."""
    if window["repository_id"] is not None:
        return f"repository {show_text(api.get('repositories/' + window['repository_id'])['name'])}"
    if window["job_id"] is not None:
        return f"job {show_text(_job_name(api, window['job_id']))}"
    return "everything"


def tell_window(terminal: Terminal, api: Api, window: Json) -> None:
    """Print a window."""
    terminal.table(
        [
            ("window", show_text(window["name"])),
            ("kind", window["type"]),
            ("of", level_of(api, window)),
            ("when", times_of(window)),
            ("holds", shapes.text(", ".join(window["kinds"]))),
            ("id", window["id"]),
        ]
    )


def tell_preview(terminal: Terminal, preview: Json) -> None:
    """Print what a window does; objectives that it breaks are warnings."""
    for one in preview["openings"]:
        terminal.line(f"open from {shapes.moment(one['starts_at'])} until {shapes.moment(one['ends_at'])}")
    if not preview["openings"]:
        terminal.line("it does not open any more")
    for one in preview["moved"]:
        starts = shapes.moment(one["starts_at"]) if one["starts_at"] else "never: no instant is free within 31 days"
        terminal.line(f"{show_text(one['job']['name'])}: planned {shapes.moment(one['planned'])}, starts {starts}")
    if not preview["moved"]:
        terminal.line("it moves no planned run")
    for sentence in preview["warnings"]:
        terminal.warning(show_text(sentence))


def _job_name(api: Api, job_id: str) -> str:
    """Return the job's name, of a deleted one its id."""
    try:
        return str(api.get(f"jobs/{job_id}")["name"])
    except RefusedError:
        return job_id

"""When a job runs, as a form shows and reads it: a kind, its value and a time zone. Pure.

Owns the way back from a schedule's JSON to these words; the way there is that of the command line's options.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from jobs.ctl.schedule_options import schedule_of

KEPT: Final = "kept"
KINDS: Final = (
    ("", "none"),
    ("daily", "daily at"),
    ("every", "every"),
    ("hourly", "hourly at minute"),
    ("weekly", "weekly on"),
    ("monthly", "monthly on"),
    ("cron", "cron"),
    ("manual", "only by hand"),
)
HELP: Final = "02:00 daily; 6h every; 15 hourly; sat,sun@22:00 weekly; 1,15,last@02:00 monthly; five fields of cron."
_UNITS: Final = ((86400, "d"), (3600, "h"), (60, "min"), (1, "s"))


@dataclass(frozen=True, slots=True)
class When:
    """A schedule in words; `kind` is KEPT for what no words say."""

    kind: str = ""
    value: str = ""
    zone: str = ""


def when_of(definition: Any) -> When:
    """Return a schedule's JSON in words."""
    try:
        return _when(definition)
    except (AttributeError, KeyError, TypeError, ValueError):
        return When(KEPT)


def definition_of(when: When) -> dict[str, Any]:
    """Return the JSON that the words say; raises CommandError with the reason."""
    if when.kind == "manual":
        return {"type": "manual"}
    return schedule_of({when.kind: when.value}, when.zone or None)


def _when(definition: Mapping[str, Any]) -> When:
    kind, zone = definition["type"], str(definition.get("time_zone", ""))
    if kind == "interval":
        return When("every", _length(int(definition["every_seconds"])))
    if kind == "manual":
        return When(kind)
    if kind == "hourly":
        return When(kind, str(int(definition["minute"])), zone)
    if kind == "cron":
        return When(kind, str(definition["expression"]), zone)
    if kind == "daily":
        return When(kind, str(definition["time"]), zone)
    if kind not in ("weekly", "monthly"):
        return When(KEPT)
    days = ",".join("last" if day == -1 else str(day) for day in definition["days"])
    return When(kind, f"{days}@{definition['time']}", zone)


def _length(seconds: int) -> str:
    size, unit = next((size, unit) for size, unit in _UNITS if seconds % size == 0)
    return f"{seconds // size}{unit}"

"""Reading of the API's JSON of a schedule, with errors that name the field.

Owns types and bounds of single values. Which fields a kind has is the kind's own.
"""

import datetime as dt
import re
from collections.abc import Mapping
from typing import Any, Final

from jobs.calendar.errors import ScheduleInvalidError
from jobs.calendar.zones import load_zone

_CLOCK: Final = re.compile(r"([01][0-9]|2[0-3]):([0-5][0-9])")


class Fields:
    """One schedule's JSON object; each field is taken once, and what nobody took is refused by `finish`."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._rest = dict(values)

    def integer(self, name: str, *, least: int, most: int) -> int:
        """Take a whole number within bounds."""
        value = self._rest.pop(name, None)
        if isinstance(value, bool) or not isinstance(value, int):
            raise ScheduleInvalidError(name, f"must be a whole number from {least} to {most}.")
        if not least <= value <= most:
            raise ScheduleInvalidError(name, f"must be from {least} to {most}, not {value}.")
        return value

    def text(self, name: str, default: str = "") -> str:
        """Take a text; null and absence give the default."""
        value = self._rest.pop(name, None)
        if value is None:
            return default
        if not isinstance(value, str):
            raise ScheduleInvalidError(name, "must be a text.")
        return value

    def items(self, name: str) -> list[Any]:
        """Take a list with something in it."""
        value = self._rest.pop(name, None)
        if not isinstance(value, list) or not value:
            raise ScheduleInvalidError(name, "must be a list with at least one entry.")
        return value

    def time_zone(self) -> str:
        """Take `time_zone`; absent it is UTC, never the server's (B4). An empty one or null is refused: whose zone?"""
        if "time_zone" not in self._rest:
            return "UTC"
        name = self.text("time_zone")
        if not name:
            raise ScheduleInvalidError("time_zone", "must name a zone, such as Europe/Berlin; leave it out for UTC.")
        load_zone(name)
        return name

    def clock_time(self, name: str) -> dt.time:
        """Take a time of day written hh:mm."""
        match = _CLOCK.fullmatch(self.text(name))
        if match is None:
            raise ScheduleInvalidError(name, "must be a time of day written hh:mm, such as 02:30.")
        return dt.time(int(match[1]), int(match[2]))

    def instant(self, name: str) -> dt.datetime | None:
        """Take an instant in ISO 8601 with its offset; None where it is absent."""
        text = self.text(name)
        if not text:
            return None
        try:
            moment = dt.datetime.fromisoformat(text)
            if moment.tzinfo is not None:
                return moment.astimezone(dt.UTC)
        except (ValueError, OverflowError):
            pass
        raise ScheduleInvalidError(name, "must be an instant with its offset, such as 2026-01-31T02:30:00+01:00.")

    def finish(self) -> None:
        """Refuse a field that the kind does not have: a misspelt one must not be silently ignored."""
        for name in sorted(self._rest):
            raise ScheduleInvalidError(name, "is no field of this kind of schedule.")

"""Reading of the API's JSON of a schedule or a window, with an error that names all fields that are wrong.

Owns types and bounds of single values. Which fields a kind has is the kind's own.
"""

import datetime as dt
import re
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from typing import Any, Final, TypeVar

from jobs.calendar.errors import ScheduleInvalidError
from jobs.calendar.zones import load_zone

_CLOCK: Final = re.compile(r"([01][0-9]|2[0-3]):([0-5][0-9])")
_Entry = TypeVar("_Entry", bound=Hashable)


class Fields:
    """One JSON object; each field is taken once, and what nobody took is refused by `finish`.

    A field that is wrong is noted and stood in for, so that the others are judged all the same: what was made of them
    is nothing before `finish` has passed. Who raises on their own account takes all of theirs before.
    """

    def __init__(self, values: Mapping[str, Any], kind: str = "kind of schedule") -> None:
        self._rest, self._kind = dict(values), kind
        self.noted: dict[str, str] = {}

    def note(self, name: str, sentence: str) -> None:
        """Note what is wrong with a field; of several sentences the first stays."""
        self.noted.setdefault(name, sentence)

    def has(self, name: str) -> bool:
        """Tell whether a field that is not taken yet has something in it; null and "" are nothing."""
        return self._rest.get(name) not in (None, "")

    def integer(self, name: str, *, least: int, most: int) -> int:
        """Take a whole number within bounds."""
        value = self._rest.pop(name, None)
        if isinstance(value, bool) or not isinstance(value, int):
            self.note(name, f"must be a whole number from {least} to {most}.")
        elif not least <= value <= most:
            self.note(name, f"must be from {least} to {most}, not {value}.")
        else:
            return value
        return least

    def text(self, name: str, default: str = "") -> str:
        """Take a text; null and absence give the default."""
        value = self._rest.pop(name, None)
        if value is not None and not isinstance(value, str):
            self.note(name, "must be a text.")
        return value if isinstance(value, str) else default

    def word(self, name: str, known: Collection[str], default: str = "") -> str:
        """Take one of the known words."""
        word = self.text(name, default)
        if word not in known:
            self.note(name, f"must be one of {', '.join(known)}.")
        return word

    def words(self, name: str, known: Collection[str], default: Sequence[str]) -> Sequence[str]:
        """Take some of the known words; null and absence give the default."""
        words = self._rest.pop(name, None)
        if words is None:
            return default
        known_ones = [str(word) for word in known]
        if isinstance(words, list | tuple) and words and all(word in known_ones for word in words):
            return words
        self.note(name, f"must be a list of some of {', '.join(known_ones)}.")
        return default

    def each(self, name: str, read: Callable[[Any], _Entry]) -> frozenset[_Entry]:
        """Take a list with something in it, each entry as `read` returns it or refuses it."""
        value = self._rest.pop(name, None)
        if isinstance(value, list) and value:
            try:
                return frozenset(read(entry) for entry in value)
            except ScheduleInvalidError as error:
                self.note(error.field, error.problems[error.field])
        else:
            self.note(name, "must be a list with at least one entry.")
        return frozenset()

    def time_zone(self) -> str:
        """Take `time_zone`; absent it is UTC, never the server's (B4). An empty one or null is refused: whose zone?"""
        if "time_zone" not in self._rest:
            return "UTC"
        name = self.text("time_zone")
        if not name:
            self.note("time_zone", "must name a zone, such as Europe/Berlin; leave it out for UTC.")
            return "UTC"
        try:
            load_zone(name)
        except ScheduleInvalidError as error:
            self.note(error.field, error.problems[error.field])
            return "UTC"
        return name

    def clock_time(self, name: str) -> dt.time:
        """Take a time of day written hh:mm."""
        match = _CLOCK.fullmatch(self.text(name))
        if match is None:
            self.note(name, "must be a time of day written hh:mm, such as 02:30.")
            return dt.time()
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
        self.note(name, "must be an instant with its offset, such as 2026-01-31T02:30:00+01:00.")
        return None

    def finish(self, raised: ScheduleInvalidError | None = None) -> None:
        """Raise ScheduleInvalidError with all that is wrong: what was noted, what a kind has `raised` on its own
        account, and fields that it does not have, since a misspelt one must not be silently ignored.
        """
        for name, sentence in raised.problems.items() if raised else ():
            self.note(name, sentence)
        for name in sorted(self._rest):
            self.note(name, f"is no field of this {self._kind}.")
        if self.noted:
            raise ScheduleInvalidError.of(self.noted)

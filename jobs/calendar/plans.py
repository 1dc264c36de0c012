"""What every kind of schedule is: a plan that answers for its instants, its JSON and its sentence.

Owns the interface alone. Instants are aware and UTC; a plan is a value and never knows what time it is.
"""

import datetime as dt
import enum
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol


class Note(enum.StrEnum):
    """What is special about an instant."""

    # The local time does not exist on this day: it runs later by the length of the gap (B2).
    GAP = "gap"
    # The local time comes twice on this day, and this is the first; a wall time runs at this one alone (B3).
    FIRST_OF_TWO = "first_of_two"
    # The same local time again, for kinds that follow real time (B5).
    SECOND_OF_TWO = "second_of_two"


# An instant (UTC), and the wall time that it stands for; None for kinds that follow real time.
Start = tuple[dt.datetime, dt.datetime | None]


@dataclass(frozen=True, slots=True)
class Occurrence:
    """One planned instant (UTC), as its zone shows it, with the wall time asked for where it follows a wall clock."""

    instant: dt.datetime
    local: dt.datetime
    nominal: dt.datetime | None = None
    notes: tuple[Note, ...] = ()


class Plan(Protocol):
    """A schedule as a value: equal ones answer alike. All answers are pure; each takes milliseconds at most."""

    kind: ClassVar[str]

    def __hash__(self) -> int:
        """Be a key of what was asked before."""

    @property
    def zone_name(self) -> str:
        """The zone whose wall clock it follows; "UTC" where it follows none (B4)."""

    def starts(self, after: dt.datetime) -> Iterator[Start]:
        """Yield all starts strictly later than `after`, strictly increasing, as far as the calendar goes."""

    def occurrence(self, start: Start) -> Occurrence:
        """Return one of its starts as people see it."""

    def next_after(self, instant: dt.datetime) -> Occurrence | None:
        """Return the first occurrence strictly later than `instant`; None: there is none."""

    def latest_until(self, instant: dt.datetime) -> Occurrence | None:
        """Return the last occurrence at or before `instant`; None: there is none."""

    def count(self, first: dt.datetime, last: dt.datetime, limit: int) -> tuple[int, bool]:
        """Return how many occurrences lie in [first, last], and whether that is all: stepping stops at `limit`."""

    def pattern(self, midnight: dt.datetime) -> Hashable | None:
        """Return what the starts of the UTC day from `midnight` on follow from, None where that is not so simple.

        Days with equal patterns have their starts, and the wall times that these stand for, at equal distances from
        their midnights; on each of them wall times are as far from each other as their starts.
        """

    def definition(self) -> Mapping[str, Any]:
        """Return the API's JSON, which parses to an equal plan."""

    def describe(self) -> str:
        """Return the sentence for people, in the language that is active (B6)."""

"""The kind `interval`: anchor + k x every, a grid of distances that knows no zone (B1, B4; execution.md, section 4).

Late starts, windows and the switch to summer time never move the grid.
"""

import datetime as dt
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from jobs.calendar.durations import every
from jobs.calendar.errors import ScheduleInvalidError
from jobs.calendar.fields import Fields
from jobs.calendar.limits import LAST_YEAR
from jobs.calendar.plans import Occurrence, Start

SHORTEST_SECONDS: Final = 60
LONGEST_SECONDS: Final = 366 * 24 * 3600
# How many years ahead a grid may begin: further on, an anchor is a slip of the pen that would plan nothing for a life.
FARTHEST_YEARS: Final = 10
_YEAR: Final = dt.timedelta(days=365)
_END: Final = dt.datetime(LAST_YEAR + 1, 1, 1, tzinfo=dt.UTC)


@dataclass(frozen=True, slots=True)
class IntervalPlan:
    """Every so many seconds since `anchor`; `named` says whether the JSON gave the anchor itself."""

    kind: ClassVar[str] = "interval"
    every_seconds: int
    anchor: dt.datetime
    named: bool = False
    zone_name: str = "UTC"

    def starts(self, after: dt.datetime) -> Iterator[Start]:
        """The points of the grid; the first is the anchor itself."""
        point = self._point(max(self._index(after) + 1, 0))
        step = dt.timedelta(seconds=self.every_seconds)
        while point is not None and point < _END:
            yield point, None
            point += step

    def occurrence(self, start: Start) -> Occurrence:
        """A point as UTC shows it."""
        return Occurrence(start[0], start[0])

    def next_after(self, instant: dt.datetime) -> Occurrence | None:
        """The next point of the grid."""
        start = next(self.starts(instant), None)
        return None if start is None else self.occurrence(start)

    def latest_until(self, instant: dt.datetime) -> Occurrence | None:
        """The last point of the grid, none before the anchor."""
        index = self._index(instant)
        point = self._point(index) if index >= 0 else None
        return None if point is None else Occurrence(point, point)

    def pattern(self, midnight: dt.datetime) -> Hashable | None:
        """How far the grid is at midnight."""
        if midnight < self.anchor:
            return midnight
        return (midnight - self.anchor) % dt.timedelta(seconds=self.every_seconds)

    def count(self, first: dt.datetime, last: dt.datetime, limit: int) -> tuple[int, bool]:
        """Arithmetic, so the limit is never needed."""
        before = self._index(first - dt.timedelta(microseconds=1))
        return max(0, self._index(last) - max(before, -1)), True

    def definition(self) -> Mapping[str, Any]:
        """`{"type": "interval", "every_seconds": …}`, with the anchor where it was given."""
        anchor = {"anchor": self.anchor.isoformat()} if self.named else {}
        return {"type": self.kind, "every_seconds": self.every_seconds, **anchor}

    def describe(self) -> str:
        """Every 6 hours."""
        return every(self.every_seconds)

    def _index(self, instant: dt.datetime) -> int:
        return (instant - self.anchor) // dt.timedelta(seconds=self.every_seconds)

    def _point(self, index: int) -> dt.datetime | None:
        since = index * dt.timedelta(seconds=self.every_seconds)
        return self.anchor + since if since < _END - self.anchor else None


def refuse_far_anchor(plan: IntervalPlan, now: dt.datetime) -> None:
    """Raise ScheduleInvalidError where the grid would begin more than ten years after `now`."""
    if plan.anchor > now + FARTHEST_YEARS * _YEAR:
        raise ScheduleInvalidError(
            "anchor",
            f"must be within the next {FARTHEST_YEARS} years: nothing is planned before {plan.anchor:%Y-%m-%d}.",
        )


def parse_interval(fields: Fields, anchor: dt.datetime) -> IntervalPlan:
    """`{"type": "interval", "every_seconds": 21600, "anchor": …}`; without an anchor the grid begins at `anchor`."""
    seconds = fields.integer("every_seconds", least=SHORTEST_SECONDS, most=LONGEST_SECONDS)
    given = fields.instant("anchor")
    if given is not None and given.year > LAST_YEAR:
        raise ScheduleInvalidError("anchor", f"must not be later than the year {LAST_YEAR}: it would never come.")
    return IntervalPlan(seconds, given or anchor.astimezone(dt.UTC).replace(microsecond=0), named=given is not None)

"""The widest gap between starts of plans together over hundreds of days, with what is shut between them (B10).

Owns the walk. Twenty dense plans have millions of starts in that time, but few kinds of days: where no clock changes,
days on which the same rules match have their starts at the same times, so each kind of day is made once.
"""

import datetime as dt
import heapq
from bisect import bisect_left, bisect_right
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from operator import attrgetter, sub
from typing import Final, Protocol

from jobs.calendar.plans import Plan, Start
from jobs.calendar.wallclock import DAY
from jobs.calendar.zones import load_zone

# What a gap is where nothing is free any more.
NEVER: Final = dt.timedelta.max
_MOMENT: Final = dt.timedelta(microseconds=1)
_NONE: Final = dt.timedelta(0)


class Shut(Protocol):
    """No start from `start` up to but without `end`; what falls into it starts at its end, None: never."""

    @property
    def start(self) -> dt.datetime:
        """The first shut instant."""

    @property
    def end(self) -> dt.datetime | None:
        """The first free instant after it."""


@dataclass(frozen=True, slots=True)
class _Start:
    """One start, the wall time that it stands for if it follows one, and whose wall clock that is."""

    instant: dt.datetime
    zone_name: str
    nominal: dt.datetime | None
    is_postponed: bool = False


# The starts of a plan on a day: since midnight, the wall time less that midnight's if it follows one.
_Times = Sequence[tuple[dt.timedelta, dt.timedelta | None]]
_Told = dict[dt.timedelta, tuple[str, dt.timedelta | None]]


@dataclass(frozen=True, slots=True)
class _Day:
    """The starts of a kind of day since its midnight (UTC): each time once, with the first and the last plan's."""

    times: Sequence[dt.timedelta]
    first: _Told
    last: _Told

    def at(self, told: _Told, place: int, midnight: dt.datetime) -> _Start:
        """Return a start as it comes on the day of `midnight`."""
        time = self.times[place]
        zone_name, wall = told[time]
        return _Start(midnight + time, zone_name, None if wall is None else midnight.replace(tzinfo=None) + wall)

    def widest(self, first: int, behind: int) -> dt.timedelta:
        """Return the widest gap among some of the times that follow each other."""
        return max(map(sub, self.times[first + 1 : behind], self.times[first : behind - 1]), default=_NONE)


def widest_between(
    plans: Sequence[Plan],
    start: dt.datetime,
    end: dt.datetime,
    shut: Iterable[Shut] = (),
    *,
    since: dt.datetime | None = None,
) -> dt.timedelta | None:
    """Return the widest gap between starts in (start, end] of all plans together, None when there is none.

    `shut` are stretches in order that do not touch each other. By wall clock between two starts of one zone, but never
    more than real time. NEVER: somewhere a start finds no free instant. Where nothing has started by `since`, the time
    from then to the first start is a gap as well.
    """
    walk = _Walk(plans, shut, since)
    midnight = dt.datetime.combine(start.astimezone(dt.UTC).date(), dt.time(), dt.UTC)
    while midnight <= end and not walk.is_over:
        patterns = tuple(plan.pattern(midnight) for plan in plans)
        after, until = max(start, midnight - _MOMENT), min(end, midnight + DAY - _MOMENT)
        if None in patterns:
            walk.take_each(after, until)
        else:
            walk.take_day(midnight, patterns, after, until)
        midnight += DAY
    return walk.result()


class _Walk:
    """Takes starts in order and remembers the last one and the widest gap so far."""

    def __init__(self, plans: Sequence[Plan], shut: Iterable[Shut], since: dt.datetime | None) -> None:
        self._plans = plans
        self._since = since
        self._shut = iter(shut)
        self._next = next(self._shut, None)
        self._held: tuple[_Start, _Start] | None = None
        self._before: _Start | None = None
        self._widest: dt.timedelta | None = None
        self._days: dict[Hashable, _Day] = {}
        self._times: dict[tuple[int, Hashable], _Times] = {}
        self.is_over = False

    def result(self) -> dt.timedelta | None:
        """Return the widest gap, with what was held at the end."""
        self._release()
        return NEVER if self.is_over else self._widest

    def take_each(self, after: dt.datetime, until: dt.datetime) -> None:
        """Take the starts in (after, until] one by one."""
        for one in _merged(self._plans, after, until):
            if self._shut_at(one.instant):
                self._hold(one, one)
            else:
                self._place(one)

    def take_day(
        self, midnight: dt.datetime, patterns: Sequence[Hashable], after: dt.datetime, until: dt.datetime
    ) -> None:
        """Take the starts in (after, until] of a day that follow from its patterns: by stretches, not one by one."""
        key = tuple(patterns)
        if key not in self._days:
            self._days[key] = _day(self._plans, [self._times_of(*each, midnight) for each in enumerate(patterns)])
        day = self._days[key]
        place, most = bisect_right(day.times, after - midnight), bisect_right(day.times, until - midnight)
        while place < most and not self.is_over:
            is_shut = self._shut_at(midnight + day.times[place])
            edge = self._next and (self._next.end if is_shut else self._next.start)
            behind = bisect_left(day.times, edge - midnight, place, most) if edge else most
            first, last = day.at(day.first, place, midnight), day.at(day.last, behind - 1, midnight)
            if is_shut:
                self._hold(first, last)
            else:
                self._place(first)
                self._widen(day.widest(place, behind) if behind - place > 1 else None)
                self._before = last
            place = behind

    def _times_of(self, index: int, pattern: Hashable, midnight: dt.datetime) -> _Times:
        if (index, pattern) not in self._times:
            base = midnight.replace(tzinfo=None)
            self._times[index, pattern] = [
                (instant - midnight, None if nominal is None else nominal - base)
                for instant, nominal in _between(self._plans[index], midnight - _MOMENT, midnight + DAY - _MOMENT)
            ]
        return self._times[index, pattern]

    def _shut_at(self, instant: dt.datetime) -> bool:
        """Tell whether `instant` is shut; what was held before it is started."""
        while self._next is not None and self._next.end is not None and self._next.end <= instant:
            self._release()
            self._next = next(self._shut, None)
        return self._next is not None and self._next.start <= instant

    def _hold(self, first: _Start, last: _Start) -> None:
        self._held = (self._held[0] if self._held else first, last)
        self.is_over = self._next is not None and self._next.end is None

    def _release(self) -> None:
        """Start what the present stretch held, at its end."""
        if self._held is None or self._next is None or self._next.end is None:
            return
        first, last = (replace(one, instant=self._next.end, is_postponed=True) for one in self._held)
        is_one = self._held[0] == self._held[1]
        self._held = None
        self._place(first)
        self._widen(None if is_one else _NONE)
        self._before = last

    def _place(self, start: _Start) -> None:
        if self._before is not None:
            self._widen(_distance(self._before, start))
        elif self._since is not None and start.instant > self._since:
            self._widen(start.instant - self._since)
        self._before = start

    def _widen(self, gap: dt.timedelta | None) -> None:
        if gap is not None:
            self._widest = gap if self._widest is None else max(self._widest, gap)


def _day(plans: Sequence[Plan], times: Sequence[_Times]) -> _Day:
    told = [{time: (plan.zone_name, wall) for time, wall in each} for plan, each in zip(plans, times, strict=True)]
    first: _Told = {}
    last: _Told = {}
    for each in told:
        last |= each
    for each in reversed(told):
        first |= each
    return _Day(sorted(first), first, last)


def _merged(plans: Sequence[Plan], after: dt.datetime, until: dt.datetime) -> Iterator[_Start]:
    return heapq.merge(*(_stream(plan, after, until) for plan in plans), key=attrgetter("instant"))


def _stream(plan: Plan, after: dt.datetime, until: dt.datetime) -> Iterator[_Start]:
    for instant, nominal in _between(plan, after, until):
        yield _Start(instant, plan.zone_name, nominal)


def _between(plan: Plan, after: dt.datetime, until: dt.datetime) -> Iterator[Start]:
    return takewhile(lambda start: start[0] <= until, plan.starts(after))


def _distance(before: _Start, after: _Start) -> dt.timedelta:
    elapsed = after.instant - before.instant
    if before.zone_name != after.zone_name or before.nominal is None or after.nominal is None:
        return elapsed
    # Never more than real time: in a gap two wall times meet in one instant, and the later one stands for both; and the
    # edge of a window may follow another clock.
    return min(_wall(after) - _wall(before), elapsed)


def _wall(start: _Start) -> dt.datetime:
    if start.nominal is not None and not start.is_postponed:
        return start.nominal
    return start.instant.astimezone(load_zone(start.zone_name)).replace(tzinfo=None)

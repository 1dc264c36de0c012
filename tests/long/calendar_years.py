"""Every zone, 20 years, schedules of every kind, against an independent account: `python -m tests.long.calendar_years`.

The account knows a zone only as what UTC instants show: it looks at every quarter of an hour, then at minutes where the
offset changed, and lists stretches of one offset. Wall times are looked up in those, by comparing alone.
"""

import argparse
import datetime as dt
import importlib.resources
import itertools
import sys
import time
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Final

from jobs import calendar
from jobs.calendar.zones import load_zone, zone_names
from tests.jobs.calendar.generated import KINDS, Rule, schedule

FIRST: Final = dt.date(2011, 1, 1)
YEARS: Final = 20
DAY: Final = dt.timedelta(days=1)
MINUTE: Final = dt.timedelta(minutes=1)
ANCHOR: Final = dt.datetime(2010, 1, 1, tzinfo=dt.UTC)
# So many instants of one schedule are compared at most: schedules of every few minutes get fewer days.
MOST: Final = 20_000


@dataclass(frozen=True)
class Stretch:
    """From `begin` to before `end` the zone's clock shows UTC plus `offset`."""

    begin: dt.datetime
    end: dt.datetime
    offset: dt.timedelta


class SlowZone:
    """A zone as its stretches, in order."""

    def __init__(self, name: str) -> None:
        self._zone = load_zone(name)
        self.stretches = list(self._stretches())
        self._begins = [stretch.begin for stretch in self.stretches]

    def wall(self, wall: dt.datetime) -> dt.datetime:
        """Return when a wall time runs: shown by a stretch, else swallowed between two, and later by that gap."""
        around = bisect_right(self._begins, wall.replace(tzinfo=dt.UTC))
        near = self.stretches[max(around - 3, 0) : around + 3]
        for stretch in near:
            instant = (wall - stretch.offset).replace(tzinfo=dt.UTC)
            if stretch.begin <= instant < stretch.end:
                return instant
        for before, after in itertools.pairwise(near):
            if self._shows(before.end, before) <= wall < self._shows(before.end, after):
                return before.end + (wall - self._shows(before.end, before))
        raise AssertionError(f"{wall} is nowhere in {self._zone.key}")

    def passes(self, wall: dt.datetime) -> list[dt.datetime]:
        """Return every instant that shows a wall time."""
        around = bisect_right(self._begins, wall.replace(tzinfo=dt.UTC))
        found = [
            (stretch, (wall - stretch.offset).replace(tzinfo=dt.UTC))
            for stretch in self.stretches[max(around - 3, 0) : around + 3]
        ]
        return [instant for stretch, instant in found if stretch.begin <= instant < stretch.end]

    def _stretches(self) -> Iterator[Stretch]:
        begin = dt.datetime.combine(FIRST, dt.time(), dt.UTC) - 10 * DAY
        end, step = begin + (366 * YEARS + 30) * DAY, 15 * MINUTE
        offset, at = self._offset(begin), begin
        while at < end:
            following = at + step
            if self._offset(following) != offset:
                while self._offset(at) == offset:
                    at += MINUTE
                yield Stretch(begin, at, offset)
                begin, offset, following = at, self._offset(at), at
            at = following
        yield Stretch(begin, end, offset)

    def _offset(self, instant: dt.datetime) -> dt.timedelta:
        return instant.astimezone(self._zone).utcoffset() or dt.timedelta()

    @staticmethod
    def _shows(instant: dt.datetime, stretch: Stretch) -> dt.datetime:
        return (instant + stretch.offset).replace(tzinfo=None)


def expected(rule: Rule, zone: SlowZone, first: dt.date, days: int) -> list[dt.datetime]:
    """Return the instants of a rule for `days` dates from `first` on."""
    instants = set[dt.datetime]()
    for date in (first + n * DAY for n in range(days)):
        if rule.has_date(date):
            walls = [dt.datetime.combine(date, dt.time(hour, minute)) for hour, minute in rule.times]
            instants |= {one for wall in walls for one in (zone.passes(wall) if rule.real else [zone.wall(wall)])}
    return sorted(instants)


def compare(kind: str, name: str, zone: SlowZone, random: Random) -> tuple[int, float]:
    """Compare one generated schedule; return how many instants it had, and the longest answer in seconds."""
    definition, rule = schedule(kind, name, random)
    days = max(10, min(YEARS * 365, MOST // len(rule.times)))
    first = FIRST + random.randint(0, YEARS * 365 - days) * DAY
    if not any(rule.has_date(FIRST + n * DAY) for n in range(YEARS * 365)):
        return 0, 0.0
    plan = calendar.parse(definition, anchor=ANCHOR)
    wanted = expected(rule, zone, first, days)
    # Dates before the first may run into it, and later ones into the last: both ends are left out.
    begin = dt.datetime.combine(first, dt.time(), dt.UTC) + 3 * DAY
    end = begin + (days - 6) * DAY
    wanted = [one for one in wanted if begin < one <= end]
    starts = itertools.takewhile(lambda start: start[0] <= end, plan.starts(begin))
    found = [instant for instant, _ in starts]
    assert found == wanted, f"{definition}: {sorted(set(found) ^ set(wanted))[:5]}"
    return len(found), max(_ask(plan, wanted, random) for _ in range(20))


def _ask(plan: calendar.Plan, wanted: list[dt.datetime], random: Random) -> float:
    """Ask from an instant somewhere among them, for the next and for the last one; return what it took."""
    if len(wanted) < 2:
        return 0.0
    index = random.randrange(len(wanted) - 1)
    at = wanted[index] + (wanted[index + 1] - wanted[index]) * random.random()
    began = time.process_time()
    following, latest = plan.next_after(at), plan.latest_until(at)
    took = (time.process_time() - began) / 2
    assert following is not None
    assert latest is not None
    assert (latest.instant, following.instant) == (wanted[index], wanted[index + 1]), plan.definition()
    return took


def distinct_zones() -> list[str]:
    """Return one name of each different zone."""
    files = importlib.resources.files("tzdata.zoneinfo")
    names = {files.joinpath(*name.split("/")).read_bytes(): name for name in sorted(zone_names(), reverse=True)}
    return sorted(names.values())


def main() -> int:
    """Play all zones, or each n-th; exit at the first difference."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=1, help="schedules of each kind in each zone; cron gets four")
    parser.add_argument("--every", type=int, default=1, help="take only each n-th zone")
    options = parser.parse_args()
    instants, schedules, longest = 0, 0, 0.0
    names = distinct_zones()[:: options.every]
    for number, name in enumerate(names, 1):
        zone, random = SlowZone(name), Random(f"{options.seed} {name}")
        for kind in [each for each in (*KINDS, "cron", "cron", "cron") for _ in range(options.rounds)]:
            count, took = compare(kind, name, zone, random)
            instants, schedules, longest = instants + count, schedules + 1, max(longest, took)
        if number % 20 == 0 or number == len(names):
            told = f"{number} zones, {schedules} schedules, {instants} instants agree"
            sys.stdout.write(f"{told}; longest answer {longest * 1000:.1f} ms of processor time\n")
            sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Generated schedules of every calendar kind against the slow calendar, around changes of the clocks (B2-B5, A14).

A sample; `tests/long/calendar_years.py` plays every zone over 20 years.
"""

import datetime as dt
import itertools
from collections.abc import Iterator
from random import Random

import pytest

from jobs import calendar
from jobs.calendar.zones import load_zone, zone_names
from tests.jobs.calendar.generated import KINDS, Rule, schedule
from tests.jobs.calendar.slow_calendar import real_instants, wall_instants

ANCHOR = dt.datetime(2000, 1, 1, tzinfo=dt.UTC)
DAY = dt.timedelta(days=1)
# Zones with what their clocks did on these dates.
CHANGES = [
    ("Europe/Berlin", "2026-03-29"),  # a gap of an hour
    ("Europe/Berlin", "2026-10-25"),  # a fold of an hour
    ("Australia/Lord_Howe", "2026-10-04"),  # a gap of 30 minutes
    ("Australia/Lord_Howe", "2026-04-05"),  # a fold of 30 minutes
    ("Antarctica/Troll", "2026-03-29"),  # a gap of two hours
    ("Antarctica/Troll", "2026-10-25"),  # a fold of two hours
    ("Pacific/Apia", "2011-12-30"),  # a day that does not exist
    ("Pacific/Kwajalein", "1969-09-30"),  # a fold of 23 hours
    ("Pacific/Kwajalein", "1993-08-21"),  # another missing day
    ("America/Havana", "2026-03-08"),  # no midnight
    ("America/Havana", "2026-11-01"),  # midnight twice
    ("America/Asuncion", "2023-10-01"),  # no midnight
    ("Asia/Beirut", "2026-03-29"),  # no midnight
    ("Asia/Beirut", "2026-10-25"),  # the last hour of the day before, twice
    ("America/Nuuk", "2026-03-28"),  # a gap over midnight
    ("America/Nuuk", "2026-10-25"),  # a fold over midnight
    ("Africa/Casablanca", "2026-02-15"),  # a rule that follows the moon
    ("Asia/Pyongyang", "2018-05-05"),  # a zone that moved by half an hour
    ("America/St_Johns", "2011-03-13"),  # a half-hour zone that changed at a minute past midnight
    ("Asia/Kathmandu", "2026-05-01"),  # nothing, at +05:45
    ("Pacific/Marquesas", "2026-05-01"),  # nothing, at -09:30
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("zone", "date"), CHANGES)
def test_the_days_around_a_change_agree_with_the_slow_calendar(kind: str, zone: str, date: str) -> None:
    """B2, B3, B5."""
    first = dt.date.fromisoformat(date) - 2 * DAY
    random = Random(f"{kind} {zone} {date}")
    drawn = (schedule(kind, zone, random, hours=(0, 1, 2, 3, 23)) for _ in itertools.count())
    # Rare rules name no date of these few: one that does is drawn.
    there = (one for one in drawn if any(one[1].has_date(first + n * DAY) for n in range(1, 4)))
    for definition, rule in itertools.islice(there, 3 if kind == "cron" else 1):
        expected = slow(rule, zone, first, 4)
        assert fast(definition, zone, first, 4) == expected, definition
        assert expected or rule.real


@pytest.mark.parametrize("kind", KINDS)
def test_any_zone_and_year_increases_and_is_the_same_from_everywhere(kind: str) -> None:
    """A14, B5: strictly increasing; from any instant the next and the last of the one sequence."""
    random = Random(kind)
    for zone in random.sample(sorted(zone_names()), 40):
        plan = parsed(schedule(kind, zone, random)[0])
        start = dt.datetime(2007, 1, 1, tzinfo=dt.UTC) + dt.timedelta(minutes=random.randrange(30 * 525960))
        found = [one for one, _ in itertools.islice(plan.starts(start), 30)]
        assert all(a < b for a, b in itertools.pairwise([start, *found]))
        assert [one for one, _ in walked(plan, start, 30)] == found
        for before, after in itertools.pairwise(found):
            between = before + (after - before) * random.random()
            following, latest = plan.next_after(between), plan.latest_until(between)
            assert following is not None
            assert latest is not None
            assert (latest.instant, following.instant) == (before, after)


def test_a_daily_schedule_has_a_run_for_each_date_that_there_is() -> None:
    """B2, B4: over 20 years."""
    random = Random(7)
    for zone in ["Pacific/Apia", "America/Nuuk", *random.sample(sorted(zone_names()), 6)]:
        plan = parsed(schedule("daily", zone, random)[0])
        starts = itertools.islice(plan.starts(dt.datetime(2007, 1, 1, tzinfo=dt.UTC)), 20 * 365)
        dates = [wall.date() for _, wall in starts if wall is not None]
        skipped = [a + DAY for a, b in itertools.pairwise(dates) if b - a != DAY]
        assert len(dates) == len(set(dates))
        assert skipped == ([dt.date(2011, 12, 30)] if zone == "Pacific/Apia" else [])


def test_no_zone_changes_its_clock_twice_within_two_days() -> None:
    """What the walk over dates relies on: a date that begins and ends with one offset has no other in between."""
    for zone in map(load_zone, sorted(zone_names())):
        days = (dt.datetime(2026, 1, 1, tzinfo=dt.UTC) + DAY * n for n in range(400))
        offsets = [day.astimezone(zone).utcoffset() for day in days]
        changes = [n for n, (a, b) in enumerate(itertools.pairwise(offsets)) if a != b]
        assert all(b - a > 2 for a, b in itertools.pairwise(changes)), zone.key


def parsed(definition: dict[str, object]) -> calendar.Plan:
    return calendar.parse(definition, anchor=ANCHOR)


def walked(plan: calendar.Plan, start: dt.datetime, count: int) -> Iterator[tuple[dt.datetime, object]]:
    for _ in range(count):
        one = plan.next_after(start)
        if one is None:
            return
        yield one.instant, one
        start = one.instant


def slow(rule: Rule, zone: str, first: dt.date, days: int) -> list[dt.datetime]:
    instants = real_instants if rule.real else wall_instants
    return instants(rule.holds, load_zone(zone), first, days)


def fast(definition: dict[str, object], zone: str, first: dt.date, days: int) -> list[dt.datetime]:
    """Return the instants that belong to the dates, whichever date their clocks show in the end."""
    middle = dt.datetime.combine(first, dt.time(), dt.UTC)
    end = middle + (days + 3) * DAY
    starts = itertools.takewhile(lambda start: start[0] < end, parsed(definition).starts(middle - 3 * DAY))
    dates = ((one, (wall or one.astimezone(load_zone(zone))).date()) for one, wall in starts)
    return [one for one, date in dates if first <= date < first + days * DAY]

"""Shut stretches, and the widest gap that windows leave between starts (B10)."""

import datetime as dt
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from jobs import calendar, windows
from jobs.calendar.plans import Start
from jobs.calendar.timetables import Timetable
from jobs.windows.parsing import DAYS
from tests.jobs.calendar.generated import KINDS, schedule
from tests.jobs.windows.slow_gaps import slow_widest

ANCHOR = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
DAILY = {"type": "daily", "time": "02:30", "time_zone": "Europe/Berlin"}
HOURLY = {"type": "interval", "every_seconds": 3600}
# From 01:00 to 06:00 in Berlin.
NIGHT = {"type": "blackout", "start": "01:00", "length_seconds": 5 * 3600, "time_zone": "Europe/Berlin"}
HOUR = dt.timedelta(hours=1)


def gap(schedules: list[dict[str, Any]], *definitions: dict[str, Any]) -> dt.timedelta | None:
    plans = [calendar.parse(one, anchor=ANCHOR) for one in schedules]
    return windows.widest_gap(plans, [windows.parse(one) for one in definitions], ANCHOR)


@pytest.mark.parametrize(
    ("schedules", "definitions", "hours"),
    [
        ([DAILY], [], 24),
        ([HOURLY], [NIGHT | {"time_zone": "UTC"}], 6),
        # At 00:00 a run, at 06:00 the postponed ones: six hours, and no more where nothing falls into it.
        ([DAILY | {"time": "12:00"}], [NIGHT], 24),
        ([DAILY | {"time": "00:30"}, DAILY | {"time": "06:30"}], [NIGHT], 18),
        # Two schedules that meet in one start.
        ([DAILY, DAILY | {"time": "03:30"}, DAILY | {"time": "18:00"}], [NIGHT | {"time_zone": "UTC"}], 13),
        # Only at weekends: from Sunday's last start to Saturday's first.
        ([HOURLY], [{"type": "allowed", "days": ["sat"], "start": "00:00", "length_seconds": 48 * 3600}], 121),
        ([{"type": "manual"}, HOURLY], [NIGHT | {"time_zone": "UTC"}], 6),
        # Cron beside cron: what falls at four starts at six, and half past ten fills no night.
        (
            [{"type": "cron", "expression": "0 */4 * * *"}, {"type": "cron", "expression": "30 22 * * mon-fri"}],
            [NIGHT | {"time_zone": "UTC"}],
            6,
        ),
    ],
)
def test_the_widest_gap(schedules: list[dict[str, Any]], definitions: list[dict[str, Any]], hours: int) -> None:
    """B10: over all schedules of the job after its windows."""
    assert gap(schedules, *definitions) == hours * HOUR


def test_what_is_postponed_each_day_keeps_its_day() -> None:
    """A length is elapsed time: after the night of 25 October, which ends at 05:00, the next start is 25 hours off."""
    assert gap([DAILY], NIGHT) == 25 * HOUR
    utc = NIGHT | {"time_zone": "UTC", "start": "00:00", "length_seconds": 2 * 3600}
    assert gap([DAILY], utc) == 24 * HOUR


def test_no_free_instant_is_no_gap_of_any_length() -> None:
    assert gap([DAILY], {"type": "blackout", "start": "00:00", "length_seconds": 86400}) == windows.NEVER
    assert gap([{"type": "manual"}], NIGHT) is None
    assert gap([], NIGHT) is None


ZONES = ("Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Africa/Casablanca", "Asia/Kolkata", "UTC")
# Before the clocks of Berlin, of New York and of Lord Howe change, each in the horizon of some.
BEGINNINGS = (dt.datetime(2026, 3, 1, 7, 3, tzinfo=dt.UTC), dt.datetime(2026, 10, 3, tzinfo=dt.UTC))


def generated_case(random: Random) -> tuple[list[calendar.Plan], list[windows.Rule]]:
    plans = []
    for _ in range(random.randint(1, 4)):
        definition, _rule = schedule(random.choice(KINDS), random.choice(ZONES), random)
        if random.random() < 0.2:
            definition = {"type": "interval", "every_seconds": random.randint(3000, 100_000)}
        plans.append(calendar.parse(definition, anchor=BEGINNINGS[0]))
    rules = []
    for _ in range(random.randint(0, 2)):
        length = random.choice((1800, 5 * 3600, 30 * 3600))
        window = NIGHT | {"start": f"{random.randrange(24):02}:15", "length_seconds": length}
        rules.append(windows.parse(window | {"time_zone": random.choice(ZONES), "days": random.sample(DAYS, 3)}))
    return plans, rules


@pytest.mark.parametrize("seed", range(40))
def test_kinds_of_days_give_what_each_start_gives(seed: int) -> None:
    """B10: the figures are exact, whatever clocks change, windows shut and schedules meet in one instant."""
    random = Random(seed)
    plans, rules = generated_case(random)
    start = random.choice(BEGINNINGS)
    end = start + dt.timedelta(days=random.randint(20, 45))
    stretches = list(windows.shut_stretches(rules, start, end))
    assert calendar.widest_between(plans, start, end, stretches) == slow_widest(plans, stretches, start, end)


def test_twenty_dense_schedules_are_looked_at_by_kinds_of_days(monkeypatch: pytest.MonkeyPatch) -> None:
    """A job may have many; their millions of starts in 400 days are not walked through."""
    walked: list[object] = []

    def starts(table: Timetable, after: dt.datetime) -> Iterator[Start]:
        for start in original(table, after):
            walked.append(start)
            yield start

    original = Timetable.starts
    monkeypatch.setattr(Timetable, "starts", starts)
    every = [{"type": "cron", "expression": f"{k}-59/5 * * * *", "time_zone": ZONES[k]} for k in range(5)]
    # From 00:59 to 02:00.
    assert gap(every, NIGHT | {"length_seconds": 3600}) == HOUR + dt.timedelta(minutes=1)
    assert len(walked) < 5 * 288 * 40


def test_stretches_touch_overlap_and_end() -> None:
    rules = [
        windows.parse({"type": "blackout", "start": "08:00", "length_seconds": 7200}),
        windows.parse({"type": "blackout", "start": "10:00", "length_seconds": 3600}),
        windows.parse({"type": "allowed", "start": "06:00", "length_seconds": 14 * 3600}),
    ]
    found = list(windows.shut_stretches(rules, ANCHOR, ANCHOR + 2 * 24 * HOUR))
    hours = [((one.start - ANCHOR) // HOUR, (one.end - ANCHOR) // HOUR) for one in found if one.end]
    assert hours == [(0, 6), (8, 11), (20, 30), (32, 35), (44, 54)]
    assert list(windows.shut_stretches([], ANCHOR, ANCHOR + 24 * HOUR)) == []
    around_the_clock = [windows.parse({"type": "allowed", "start": "00:00", "length_seconds": 86400})]
    assert list(windows.shut_stretches(around_the_clock, ANCHOR, ANCHOR + 400 * 24 * HOUR)) == []


def test_stretches_are_what_single_questions_say() -> None:
    """Each instant of a week: shut exactly when a stretch covers it."""
    rules = [windows.parse(NIGHT), windows.parse({"type": "allowed", "start": "20:00", "length_seconds": 12 * 3600})]
    start = dt.datetime(2026, 3, 26, tzinfo=dt.UTC)
    stretches = list(windows.shut_stretches(rules, start, start + 7 * 24 * HOUR))
    for minutes in range(0, 7 * 24 * 60, 10):
        instant = start + dt.timedelta(minutes=minutes)
        covered = any(one.start <= instant and (one.end is None or instant < one.end) for one in stretches)
        assert covered == (windows.block_at(rules, instant) is not None)


NOON = dt.datetime(2026, 6, 1, 12, tzinfo=dt.UTC)


def gap_with_blackout(first: dt.timedelta, last: dt.timedelta, *schedules: dict[str, Any]) -> dt.timedelta | None:
    """Return the gap at noon with a blackout from `first` to `last`, both counted from then."""
    told = {"starts_at": (NOON + first).isoformat(), "ends_at": (NOON + last).isoformat()}
    plans = [calendar.parse(one, anchor=ANCHOR) for one in schedules or (DAILY | {"time_zone": "UTC"},)]
    return windows.widest_gap(plans, [windows.parse({"type": "blackout"} | told)], NOON)


@pytest.mark.parametrize("begins", [dt.timedelta(minutes=-1), 24 * HOUR])
def test_a_window_that_holds_already_counts_as_one_to_come(begins: dt.timedelta) -> None:
    """B10: the gap that is going on counts from the last start before it."""
    last = begins + 20 * 24 * HOUR
    before = dt.timedelta(hours=9.5) if begins < 0 * HOUR else -14.5 * HOUR
    assert gap_with_blackout(begins, last) == last + before


def test_where_nothing_was_free_before_it_counts_from_now() -> None:
    """What the window held starts at its end, and before the first start of all there is none to count from."""
    assert gap_with_blackout(-48 * HOUR, 48 * HOUR) == 48 * HOUR
    assert gap_with_blackout(-12 * HOUR, HOUR) == 24 * HOUR
    later = HOURLY | {"anchor": (NOON + 100 * HOUR).isoformat()}
    assert gap_with_blackout(-HOUR, 130 * HOUR, later) == 130 * HOUR
    assert gap_with_blackout(-HOUR, HOUR, later) == 100 * HOUR


def test_rare_starts_are_judged_by_the_windows_that_hold_then(monkeypatch: pytest.MonkeyPatch) -> None:
    """B10: years are looked at without a walk along each edge in them, and with the same answer."""
    leap_day = {"type": "cron", "expression": "* 2,3 29 2 *"}
    shut = NIGHT | {"time_zone": "UTC"}
    found = gap([leap_day], shut, NIGHT | {"type": "allowed", "start": "00:00", "length_seconds": 86400})
    assert found == 1461 * 24 * HOUR
    assert gap([leap_day], NIGHT | {"start": "00:00", "length_seconds": 86400}) == windows.NEVER
    monkeypatch.setattr("jobs.windows.gaps._FAR", dt.timedelta.max)
    assert gap([leap_day], shut) == found

"""Daily schedules: gap, fold, calendar days and zones (B2-B4), also against a slow independent account."""

import datetime as dt
import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobs import calendar
from jobs.calendar.zones import load_zone, zone_names
from tests.jobs.calendar.slow_calendar import wall_instants

ANCHOR = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
ZONES = sorted(zone_names())
INSTANTS = st.datetimes(
    dt.datetime.fromisoformat("2007-01-01"), dt.datetime.fromisoformat("2037-01-01"), timezones=st.just(dt.UTC)
)


def daily(time: str, zone: str = "Europe/Berlin") -> calendar.Plan:
    return calendar.parse({"type": "daily", "time": time, "time_zone": zone}, anchor=ANCHOR)


def utc(text: str) -> dt.datetime:
    return dt.datetime.fromisoformat(text).replace(tzinfo=dt.UTC)


def next_local(plan: calendar.Plan, after: str) -> str:
    one = plan.next_after(utc(after))
    assert one is not None
    return f"{one.local:%Y-%m-%d %H:%M%z}"


@pytest.mark.parametrize(
    ("zone", "time", "after", "expected"),
    [
        # B2: the gap of 29 March 2026 is an hour long, so 02:30 runs at 03:30.
        ("Europe/Berlin", "02:30", "2026-03-28T12:00", "2026-03-29 03:30+0200"),
        ("Europe/Berlin", "02:00", "2026-03-28T12:00", "2026-03-29 03:00+0200"),
        ("Europe/Berlin", "03:00", "2026-03-28T12:00", "2026-03-29 03:00+0200"),
        # B3: 02:30 comes twice on 25 October 2026, the first is summer time.
        ("Europe/Berlin", "02:30", "2026-10-24T12:00", "2026-10-25 02:30+0200"),
        ("Europe/Berlin", "02:30", "2026-10-25T00:30", "2026-10-26 02:30+0100"),
        # A gap and a fold of 30 minutes.
        ("Australia/Lord_Howe", "02:15", "2026-10-03T12:00", "2026-10-04 02:45+1100"),
        ("Australia/Lord_Howe", "01:45", "2026-04-04T12:00", "2026-04-05 01:45+1100"),
        # A gap over midnight: the day begins at 01:00.
        ("America/Havana", "00:30", "2026-03-07T12:00", "2026-03-08 01:30-0400"),
        # Samoa had no 30 December 2011: its run comes a day later, together with the 31st's.
        ("Pacific/Apia", "08:00", "2011-12-29T19:00", "2011-12-31 08:00+1400"),
        ("Pacific/Apia", "08:00", "2011-12-30T18:00", "2012-01-01 08:00+1400"),
        # A fold of 24 hours: Alaska had 19 October 1867 twice from end to end, and the first of them runs.
        ("America/Juneau", "12:00", "1867-10-18T20:00", "1867-10-19 12:00+150219"),
        ("America/Juneau", "12:00", "1867-10-18T21:00", "1867-10-20 12:00-085741"),
        # Half-hour and negative zones.
        ("Asia/Kolkata", "23:59", "2026-01-01T00:00", "2026-01-01 23:59+0530"),
        ("Pacific/Marquesas", "00:00", "2026-01-01T00:00", "2026-01-01 00:00-0930"),
    ],
)
def test_next_in_gaps_folds_and_odd_zones(zone: str, time: str, after: str, expected: str) -> None:
    """B2, B3, B4."""
    assert next_local(daily(time, zone), after) == expected


def test_no_zone_means_utc_never_the_servers() -> None:
    """B4."""
    plan = calendar.parse({"type": "daily", "time": "02:00"}, anchor=ANCHOR)
    assert plan.zone_name == "UTC"
    assert next_local(plan, "2026-07-01T00:00") == "2026-07-01 02:00+0000"


def test_a_day_of_23_or_25_hours_moves_no_later_run() -> None:
    """B4: steps are days, never 24 hours."""
    shown = [f"{one.local:%H:%M}" for one in calendar.preview(daily("04:00"), utc("2026-01-01T00:00"), 400)]
    assert set(shown) == {"04:00"}


def test_an_instant_itself_is_not_after_itself() -> None:
    plan = daily("02:00", "UTC")
    assert plan.next_after(utc("2026-01-02T02:00")).instant == utc("2026-01-03T02:00")  # type: ignore[union-attr]
    assert plan.latest_until(utc("2026-01-02T02:00")).instant == utc("2026-01-02T02:00")  # type: ignore[union-attr]


def test_notes_tell_gap_and_fold() -> None:
    """B6."""
    spring = daily("02:30").next_after(utc("2026-03-28T12:00"))
    autumn = daily("02:30").next_after(utc("2026-10-24T12:00"))
    plain = daily("02:30").next_after(utc("2026-06-01T12:00"))
    assert (spring.notes, autumn.notes, plain.notes) == (  # type: ignore[union-attr]
        (calendar.Note.GAP,),
        (calendar.Note.FIRST_OF_TWO,),
        (),
    )


@pytest.mark.parametrize("zone", ["Europe/Berlin", "Australia/Lord_Howe", "Africa/Casablanca", "America/Havana"])
@pytest.mark.parametrize("time", ["02:30"])
def test_a_year_agrees_with_the_slow_calendar(zone: str, time: str) -> None:
    """B2, B3: every minute of the weeks around each change of the clocks is looked at."""
    clock = dt.time.fromisoformat(time)
    for month, day in ((2, 10), (3, 1), (3, 28), (10, 22)):
        slow = wall_instants(lambda wall: wall.time() == clock, load_zone(zone), dt.date(2026, month, day), 8)
        fast = calendar.preview(daily(time, zone), slow[0] - dt.timedelta(minutes=1), 8)
        assert [one.instant for one in fast] == slow


@settings(max_examples=60, deadline=None)
@given(
    zone=st.sampled_from(ZONES),
    time=st.times(),
    start=INSTANTS,
)
def test_every_zone_increases_and_skips_no_day(zone: str, time: dt.time, start: dt.datetime) -> None:
    """B2-B4: strictly increasing, every local date that the zone has gets its run, none twice."""
    plan = daily(f"{time:%H:%M}", zone)
    found = calendar.preview(plan, start, 120)
    instants = [one.instant for one in found]
    assert all(a < b for a, b in itertools.pairwise(instants))
    nominal = [one.nominal.date() for one in found if one.nominal]
    missing = {a + dt.timedelta(days=n) for a, b in itertools.pairwise(nominal) for n in range(1, (b - a).days)}
    # A date may only be missing when the zone itself skipped the whole of it.
    assert all(not _exists(date, zone) for date in missing)
    assert len(set(nominal)) == len(nominal)


@settings(max_examples=60, deadline=None)
@given(
    zone=st.sampled_from(ZONES),
    time=st.times(),
    start=INSTANTS,
    offset=st.integers(0, 5 * 24 * 3600),
)
def test_from_any_instant_the_same_sequence_is_seen(zone: str, time: dt.time, start: dt.datetime, offset: int) -> None:
    """A14: asking from elsewhere gives the next of the same sequence, and latest_until agrees with it."""
    plan = daily(f"{time:%H:%M}", zone)
    sequence = [one.instant for one in calendar.preview(plan, start, 12)]
    asked = start + dt.timedelta(seconds=offset)
    following, latest = plan.next_after(asked), plan.latest_until(asked)
    assert following is not None
    assert following.instant == next(each for each in sequence if each > asked)
    earlier = [each for each in sequence if each <= asked]
    if earlier:
        assert latest is not None
        assert latest.instant == earlier[-1]


def _exists(date: dt.date, zone: str) -> bool:
    noon = dt.datetime.combine(date, dt.time(12), dt.UTC)
    hours = (noon + dt.timedelta(hours=h) for h in range(-40, 41))
    return any(hour.astimezone(load_zone(zone)).date() == date for hour in hours)

"""How many runs were missed (A13), and whether an objective can be kept (B10)."""

import datetime as dt

import pytest

from jobs import calendar
from jobs.calendar import durations
from syncova_project.errors import ValidationFailedError

ANCHOR = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
DAILY = {"type": "daily", "time": "02:30", "time_zone": "Europe/Berlin"}


def plan(**definition: object) -> calendar.Plan:
    return calendar.parse(definition, anchor=ANCHOR)


def utc(text: str) -> dt.datetime:
    return dt.datetime.fromisoformat(text).replace(tzinfo=dt.UTC)


def test_three_days_down_are_three_instants_and_the_newest_runs() -> None:
    """A13."""
    span = calendar.span(plan(**DAILY), utc("2026-01-02T01:30"), utc("2026-01-05T00:00"))
    assert (span.count, span.count_is_minimum) == (3, False)
    assert span.newest == utc("2026-01-04T01:30")


def test_a_stored_instant_off_the_plan_still_counts() -> None:
    """Zone rules may have changed since it was promised."""
    span = calendar.span(plan(**DAILY), utc("2026-01-02T01:17"), utc("2026-01-02T02:00"))
    assert (span.first, span.newest, span.count) == (utc("2026-01-02T01:17"), utc("2026-01-02T01:30"), 2)


def test_three_years_of_minutes_are_counted_at_once() -> None:
    """A13: arithmetic for intervals."""
    every_minute = plan(type="interval", every_seconds=60)
    span = calendar.span(every_minute, ANCHOR, ANCHOR + dt.timedelta(days=1096))
    assert span.count == 1096 * 1440 + 1
    assert not span.count_is_minimum


def test_counting_of_calendars_is_bounded() -> None:
    """H7: it stops at 10,000 and says so."""
    span = calendar.span(plan(**DAILY), utc("2026-01-02T01:30"), utc("2060-01-01T00:00"))
    assert span.count_is_minimum
    assert span.newest == utc("2059-12-31T01:30")


@pytest.mark.parametrize(
    ("plans", "hours"),
    [
        ([DAILY], 24),
        ([{"type": "interval", "every_seconds": 6 * 3600}], 6),
        # Same zone, by wall clock: 02:30 and 14:30 keep their twelve hours through gap and fold.
        ([DAILY, DAILY | {"time": "14:30"}], 12),
        # Two zones: the gap is real time, an hour longer while their summer times differ.
        ([{"type": "daily", "time": "00:00"}, {"type": "daily", "time": "13:00", "time_zone": "Europe/Berlin"}], 13),
        ([{"type": "manual"}, DAILY], 24),
    ],
)
def test_the_widest_gap(plans: list[dict[str, object]], hours: int) -> None:
    """B10: by wall clock for calendar kinds, so that daily keeps 24 hours in autumn too."""
    gap = calendar.widest_gap([plan(**each) for each in plans], ANCHOR)
    assert gap == dt.timedelta(hours=hours)


def test_a_daily_schedule_cannot_promise_four_hours() -> None:
    """B10: both figures are said."""
    with pytest.raises(ValidationFailedError) as caught:
        calendar.refuse_broken_rpo([plan(**DAILY)], 4 * 3600, ANCHOR)
    assert "1 day" in caught.value.message
    assert "4 hours" in caught.value.message
    assert list(caught.value.details) == ["rpo_seconds"]


def test_by_hand_only_promises_nothing() -> None:
    """B10."""
    for plans in ([], [plan(type="manual")]):
        with pytest.raises(ValidationFailedError, match="no schedule"):
            calendar.refuse_broken_rpo(plans, 10**6, ANCHOR)


def test_what_can_be_kept_is_accepted() -> None:
    calendar.refuse_broken_rpo([plan(**DAILY)], 24 * 3600, ANCHOR)
    calendar.refuse_broken_rpo([plan(**DAILY), plan(type="interval", every_seconds=3600)], 3600, ANCHOR)
    calendar.refuse_broken_rpo([plan(**DAILY), plan(**(DAILY | {"time": "14:30"}))], 12 * 3600, ANCHOR)


LEAP_DAY = {"type": "cron", "expression": "0 0 29 2 *"}


@pytest.mark.parametrize("now", ["2026-11-30T12:00", "2027-12-01T00:00", "2028-03-01T00:00"])
def test_a_leap_day_keeps_four_years(now: str) -> None:
    """B10: schedules that rarely come are looked at as far as they need."""
    assert calendar.widest_gap([plan(**LEAP_DAY)], utc(now)) == dt.timedelta(days=1461)
    calendar.refuse_broken_rpo([plan(**LEAP_DAY)], 3660 * 86400, utc(now))
    with pytest.raises(ValidationFailedError, match=r"up to 1461 days between two runs.* objective of 1460 days\."):
        calendar.refuse_broken_rpo([plan(**LEAP_DAY)], 1460 * 86400, utc(now))


def test_a_grid_that_begins_later_leaves_the_time_until_then() -> None:
    """B10, alone and beside others."""
    later = plan(type="interval", every_seconds=3600, anchor="2028-01-01T00:00:00Z")
    assert calendar.widest_gap([later], ANCHOR) == utc("2028-01-01T00:00") - ANCHOR
    assert calendar.widest_gap([later, plan(type="manual")], ANCHOR) == utc("2028-01-01T00:00") - ANCHOR
    assert calendar.widest_gap([later], utc("2028-02-01T00:30")) == dt.timedelta(hours=1)
    with pytest.raises(ValidationFailedError, match=r"730 days between now and its first run.* objective of 2 hours"):
        calendar.refuse_broken_rpo([later], 7200, ANCHOR)


def test_what_was_kept_with_an_anchor_out_of_reach_keeps_no_objective() -> None:
    """B10: never told as "no schedule"."""
    never = plan(type="interval", every_seconds=3600, anchor="9000-01-01T00:00:00Z")
    assert calendar.widest_gap([never], ANCHOR) is None
    assert calendar.widest_gap([never, plan(type="manual")], ANCHOR) is None
    with pytest.raises(ValidationFailedError, match="plans no run within 10 years"):
        calendar.refuse_broken_rpo([never], 7200, ANCHOR)


def test_figures_are_exact_and_in_the_same_units() -> None:
    cases = {0: "0 seconds", 86399: "23 hours 59 minutes 59 seconds", 1465 * 3600: "61 days 1 hour"}
    cases |= {86400: "1 day", 30 * 86400: "30 days", 959 * 60: "15 hours 59 minutes", 86401: "1 day 1 second"}
    assert {seconds: durations.words(seconds) for seconds in cases} == cases

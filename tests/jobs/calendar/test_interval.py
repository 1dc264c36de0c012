"""Interval schedules: a grid of distances that nothing moves (B1, B4, A14)."""

import datetime as dt

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobs import calendar

ANCHOR = dt.datetime(2026, 3, 28, 1, 0, 7, tzinfo=dt.UTC)


def interval(seconds: int, **fields: str) -> calendar.Plan:
    return calendar.parse({"type": "interval", "every_seconds": seconds, **fields}, anchor=ANCHOR)


def test_the_grid_begins_at_the_anchor_and_ignores_summer_time() -> None:
    """B4: an interval counts distances and has no zone."""
    found = calendar.preview(interval(6 * 3600), ANCHOR, 8)
    assert [one.instant - ANCHOR for one in found] == [dt.timedelta(hours=6 * k) for k in range(1, 9)]


def test_an_anchor_keeps_its_fraction_of_a_second() -> None:
    """B4: a grid is not moved by what it was written with."""
    plan = interval(3600, anchor="2026-05-01T00:30:00.25Z")
    first = plan.next_after(ANCHOR)
    assert first is not None
    assert first.instant == dt.datetime(2026, 5, 1, 0, 30, 0, 250000, tzinfo=dt.UTC)
    assert calendar.parse(plan.definition(), anchor=ANCHOR) == plan


def test_a_named_anchor_is_kept_and_is_the_first_instant() -> None:
    plan = interval(3600, anchor="2026-05-01T02:30:00+02:00")
    first = plan.next_after(ANCHOR)
    assert first is not None
    assert first.instant == dt.datetime(2026, 5, 1, 0, 30, tzinfo=dt.UTC)
    assert plan.latest_until(ANCHOR) is None
    assert calendar.parse(plan.definition(), anchor=ANCHOR + dt.timedelta(days=1)) == plan


@settings(deadline=None)
@given(
    every=st.integers(60, 366 * 24 * 3600),
    asked=st.datetimes(
        dt.datetime.fromisoformat("2020-01-01"), dt.datetime.fromisoformat("2060-01-01"), timezones=st.just(dt.UTC)
    ),
)
def test_next_is_the_first_grid_point_strictly_later(every: int, asked: dt.datetime) -> None:
    """A14: no drift, wherever it is asked from."""
    plan, instant = interval(every), asked
    following = plan.next_after(instant)
    assert following is not None
    steps, rest = divmod(following.instant - ANCHOR, dt.timedelta(seconds=every))
    assert rest == dt.timedelta()
    assert following.instant > instant
    assert steps == 0 or following.instant - dt.timedelta(seconds=every) <= instant


@settings(deadline=None)
@given(
    every=st.integers(60, 100_000),
    first=st.integers(-500_000, 500_000),
    length=st.integers(0, 2_000_000),
)
def test_count_agrees_with_stepping(every: int, first: int, length: int) -> None:
    """A13: counting is arithmetic and right."""
    plan = interval(every)
    begin = ANCHOR + dt.timedelta(seconds=first)
    end = begin + dt.timedelta(seconds=length)
    stepped, one = 0, plan.next_after(begin - dt.timedelta(microseconds=1))
    while one is not None and one.instant <= end and stepped < 3000:
        stepped, one = stepped + 1, plan.next_after(one.instant)
    assert min(plan.count(begin, end, 10)[0], 3000) == stepped


@pytest.mark.parametrize(
    ("seconds", "sentence"),
    [
        (60, "every minute"),
        (3600, "every hour"),
        (21600, "every 6 hours"),
        (5400, "every 90 minutes"),
        (86400, "every 24 hours"),
        (90, "every 90 seconds"),
    ],
)
def test_the_sentence(seconds: int, sentence: str) -> None:
    """B6."""
    assert interval(seconds).describe() == sentence


def test_an_anchor_that_plans_nothing_for_years_is_refused() -> None:
    """Schedules that never fire are refused when they are made; what is kept already stays readable."""
    definition = {"type": "interval", "every_seconds": 3600}
    for anchor in ("9000-01-01T00:00:00Z", (ANCHOR + dt.timedelta(days=3651)).isoformat()):
        with pytest.raises(calendar.ScheduleInvalidError, match="within the next 10 years") as caught:
            calendar.parse_new(definition | {"anchor": anchor}, now=ANCHOR)
        assert caught.value.field == "anchor"
        assert interval(3600, anchor=anchor).next_after(ANCHOR) is not None
    with pytest.raises(calendar.ScheduleInvalidError, match="would never come"):
        interval(3600, anchor="9999-12-31T23:59:59Z")
    for anchor in ((ANCHOR + dt.timedelta(days=3650)).isoformat(), "1970-01-01T00:00:00Z"):
        assert calendar.parse_new(definition | {"anchor": anchor}, now=ANCHOR).next_after(ANCHOR) is not None

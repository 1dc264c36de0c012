"""Hourly, weekly and monthly schedules: their dates, words and JSON (B1-B4, B6)."""

import datetime as dt
from collections.abc import Mapping

import pytest

from jobs import calendar

ANCHOR = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)


def shown(definition: Mapping[str, object], start: str, count: int) -> list[str]:
    plan = calendar.parse(definition, anchor=ANCHOR)
    moment = dt.datetime.fromisoformat(start).replace(tzinfo=dt.UTC)
    return [f"{one.local:%m-%d %H:%M%z}" for one in calendar.preview(plan, moment, count)]


def test_hourly_is_each_real_hour() -> None:
    """B1, execution.md section 4: as cron's `m * * * *`, through gap and fold."""
    berlin = {"type": "hourly", "minute": 15, "time_zone": "Europe/Berlin"}
    assert shown(berlin, "2026-03-29T00:00", 3) == ["03-29 01:15+0100", "03-29 03:15+0200", "03-29 04:15+0200"]
    assert shown(berlin, "2026-10-25T00:00", 3) == ["10-25 02:15+0200", "10-25 02:15+0100", "10-25 03:15+0100"]
    plan = calendar.parse(berlin, anchor=ANCHOR)
    same = calendar.parse({"type": "cron", "expression": "15 * * * *", "time_zone": "Europe/Berlin"}, anchor=ANCHOR)
    assert calendar.preview(plan, ANCHOR, 9000) == calendar.preview(same, ANCHOR, 9000)


def test_an_hour_of_a_half_hour_zone_is_its_own() -> None:
    """B4: without a zone it is UTC's minute."""
    assert shown({"type": "hourly", "minute": 0, "time_zone": "Asia/Kolkata"}, "2026-01-01T00:00", 1) == [
        "01-01 06:00+0530"
    ]
    assert shown({"type": "hourly", "minute": 0}, "2026-01-01T00:00", 1) == ["01-01 01:00+0000"]


def test_weekly_keeps_its_days_through_gap_and_fold() -> None:
    """B2-B4."""
    weekly = {"type": "weekly", "days": ["sun", "wed"], "time": "02:30", "time_zone": "Europe/Berlin"}
    assert shown(weekly, "2026-03-25T12:00", 3) == ["03-29 03:30+0200", "04-01 02:30+0200", "04-05 02:30+0200"]
    assert shown(weekly, "2026-10-22T12:00", 2) == ["10-25 02:30+0200", "10-28 02:30+0100"]


def test_monthly_knows_the_last_day_and_invents_none() -> None:
    """B1: -1 is the last day of each month; the 31st is no other day of a shorter one."""
    last = {"type": "monthly", "days": [-1], "time": "04:00"}
    assert shown(last, "2028-01-15T00:00", 4) == [
        "01-31 04:00+0000",
        "02-29 04:00+0000",
        "03-31 04:00+0000",
        "04-30 04:00+0000",
    ]
    assert shown(last | {"days": [31]}, "2026-01-15T00:00", 3) == [
        "01-31 04:00+0000",
        "03-31 04:00+0000",
        "05-31 04:00+0000",
    ]
    assert shown(last | {"days": [31, 30, -1]}, "2026-02-01T00:00", 4) == [
        *("02-28 04:00+0000", "03-30 04:00+0000", "03-31 04:00+0000", "04-30 04:00+0000"),
    ]


def test_a_date_that_its_zone_left_out_runs_a_day_later() -> None:
    """B2: a gap of 24 hours."""
    apia = {"type": "monthly", "days": [30], "time": "08:00", "time_zone": "Pacific/Apia"}
    assert shown(apia, "2011-12-01T00:00", 2) == ["12-31 08:00+1400", "01-30 08:00+1400"]
    weekly = {"type": "weekly", "days": ["fri", "sat"], "time": "08:00", "time_zone": "Pacific/Apia"}
    assert shown(weekly, "2011-12-29T19:00", 2) == ["12-31 08:00+1400", "01-06 08:00+1400"]


@pytest.mark.parametrize(
    ("definition", "sentence"),
    [
        ({"type": "hourly", "minute": 30}, "hourly at minute 30 (UTC)"),
        ({"type": "hourly", "minute": 0, "time_zone": "Asia/Kolkata"}, "hourly at minute 0 (Asia/Kolkata)"),
        (
            {"type": "weekly", "days": ["sat", "sun"], "time": "22:00", "time_zone": "Europe/Berlin"},
            "weekly on Saturday and Sunday at 22:00 (Europe/Berlin)",
        ),
        (
            {"type": "weekly", "days": ["mon", "tue", "wed", "thu", "fri"], "time": "22:00", "time_zone": "UTC"},
            "weekly on Monday to Friday at 22:00 (UTC)",
        ),
        (
            {"type": "monthly", "days": [1, -1], "time": "02:00", "time_zone": "Europe/Berlin"},
            "monthly on day 1 and the last day at 02:00 (Europe/Berlin)",
        ),
        (
            {"type": "monthly", "days": [-1], "time": "02:00", "time_zone": "UTC"},
            "monthly on the last day at 02:00 (UTC)",
        ),
        (
            {"type": "monthly", "days": [1, 2, 3, 31], "time": "02:00", "time_zone": "UTC"},
            "monthly on day 1 to 3 and 31, in months that have it, at 02:00 (UTC)",
        ),
    ],
)
def test_a_definition_comes_back_and_has_a_sentence(definition: dict[str, object], sentence: str) -> None:
    """B6; the JSON is the API's."""
    plan = calendar.parse(definition, anchor=ANCHOR)
    assert plan.definition() == definition
    assert plan.describe() == sentence


def test_sets_are_kept_in_order_and_once() -> None:
    weekly = calendar.parse({"type": "weekly", "days": ["Sun", "mon", "sun"], "time": "02:00"}, anchor=ANCHOR)
    assert weekly.definition()["days"] == ["mon", "sun"]
    monthly = calendar.parse({"type": "monthly", "days": [-1, 31, 2, 2], "time": "02:00"}, anchor=ANCHOR)
    assert monthly.definition()["days"] == [2, 31, -1]


@pytest.mark.parametrize(
    ("definition", "field"),
    [
        ({"type": "hourly"}, "minute"),
        ({"type": "hourly", "minute": 60}, "minute"),
        ({"type": "hourly", "minute": "5"}, "minute"),
        ({"type": "hourly", "minute": 5, "time": "02:00"}, "time"),
        ({"type": "weekly", "time": "02:00"}, "days"),
        ({"type": "weekly", "days": [], "time": "02:00"}, "days"),
        ({"type": "weekly", "days": "mon", "time": "02:00"}, "days"),
        ({"type": "weekly", "days": ["montag"], "time": "02:00"}, "days"),
        ({"type": "weekly", "days": [1], "time": "02:00"}, "days"),
        ({"type": "weekly", "days": [["mon"]], "time": "02:00"}, "days"),
        ({"type": "weekly", "days": ["mon"]}, "time"),
        ({"type": "monthly", "days": [0], "time": "02:00"}, "days"),
        ({"type": "monthly", "days": [32], "time": "02:00"}, "days"),
        ({"type": "monthly", "days": [-2], "time": "02:00"}, "days"),
        ({"type": "monthly", "days": [True], "time": "02:00"}, "days"),
        ({"type": "monthly", "days": ["1"], "time": "02:00"}, "days"),
        ({"type": "monthly", "days": [1.0], "time": "02:00"}, "days"),
        ({"type": "monthly", "days": [1], "time": "02:00", "time_zone": "Mars"}, "time_zone"),
        ({"type": "cron"}, "expression"),
        ({"type": "cron", "expression": 5}, "expression"),
        ({"type": "cron", "expression": "0 0 * * *", "time_zone": "Mars"}, "time_zone"),
        ({"type": "cron", "expression": "0 0 * * *", "timezone": "UTC"}, "timezone"),
    ],
)
def test_what_is_wrong_is_named(definition: object, field: str) -> None:
    with pytest.raises(calendar.ScheduleInvalidError) as caught:
        calendar.parse(definition, anchor=ANCHOR)
    assert caught.value.field == field

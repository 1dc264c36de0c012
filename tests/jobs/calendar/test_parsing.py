"""Reading of schedules: what is wrong is named by its field, and what is right comes back the same."""

import datetime as dt
from collections.abc import Mapping

import pytest

from jobs import calendar

ANCHOR = dt.datetime(2026, 1, 1, 0, 0, 30, tzinfo=dt.UTC)


@pytest.mark.parametrize(
    ("definition", "field"),
    [
        ({}, "type"),
        ({"type": "yearly"}, "type"),
        ({"type": ["daily"]}, "type"),
        ({"type": "manual", "time": "02:00"}, "time"),
        ({"type": "interval"}, "every_seconds"),
        ({"type": "interval", "every_seconds": 59}, "every_seconds"),
        ({"type": "interval", "every_seconds": 10**12}, "every_seconds"),
        ({"type": "interval", "every_seconds": "60"}, "every_seconds"),
        ({"type": "interval", "every_seconds": True}, "every_seconds"),
        ({"type": "interval", "every_seconds": 60, "time_zone": "UTC"}, "time_zone"),
        ({"type": "interval", "every_seconds": 60, "anchor": "2026-01-01T00:00:00"}, "anchor"),
        ({"type": "interval", "every_seconds": 60, "anchor": "yesterday"}, "anchor"),
        ({"type": "daily"}, "time"),
        ({"type": "daily", "time": "24:00"}, "time"),
        ({"type": "daily", "time": "2:00"}, "time"),
        ({"type": "daily", "time": "02:00 "}, "time"),
        ({"type": "daily", "time": 200}, "time"),
        ({"type": "daily", "time": "02:00", "time_zone": "Europe/Atlantis"}, "time_zone"),
        ({"type": "daily", "time": "02:00", "time_zone": "../../etc/passwd"}, "time_zone"),
        ({"type": "daily", "time": "02:00", "time_zone": 1}, "time_zone"),
        ({"type": "daily", "time": "02:00", "timezone": "UTC"}, "timezone"),
        ([], "schedule"),
        (None, "schedule"),
    ],
)
def test_what_is_wrong_is_named(definition: object, field: str) -> None:
    with pytest.raises(calendar.ScheduleInvalidError) as caught:
        calendar.parse(definition, anchor=ANCHOR)
    assert caught.value.field == field
    assert list(caught.value.details) == [field]
    assert caught.value.code == "VALIDATION_FAILED"


@pytest.mark.parametrize(
    ("definition", "sentence"),
    [
        ({"type": "manual"}, "only by hand"),
        ({"type": "interval", "every_seconds": 3600}, "every hour"),
        ({"type": "daily", "time": "02:30", "time_zone": "Europe/Berlin"}, "daily at 02:30 (Europe/Berlin)"),
    ],
)
def test_a_definition_comes_back_and_has_a_sentence(definition: dict[str, object], sentence: str) -> None:
    """B6."""
    plan = calendar.parse(definition, anchor=ANCHOR)
    assert plan.definition() == definition
    assert plan.describe() == sentence


def test_manual_is_never_due() -> None:
    plan = calendar.parse({"type": "manual"}, anchor=ANCHOR)
    assert plan.next_after(ANCHOR) is None
    assert plan.latest_until(ANCHOR) is None
    assert calendar.preview(plan, ANCHOR, 5) == []


def test_the_end_of_time_is_an_end_not_an_error() -> None:
    late = dt.datetime(9998, 12, 31, tzinfo=dt.UTC)
    for definition in ({"type": "interval", "every_seconds": 60}, {"type": "daily", "time": "02:00"}):
        assert calendar.parse(definition, anchor=ANCHOR).next_after(late) is None


def test_a_fingerprint_changes_with_what_instants_follow_from() -> None:
    def of(definition: Mapping[str, object], anchor: dt.datetime = ANCHOR) -> str:
        return calendar.fingerprint(calendar.parse(definition, anchor=anchor), anchor=anchor)

    later = ANCHOR + dt.timedelta(hours=1)
    daily = {"type": "daily", "time": "02:30", "time_zone": "Europe/Berlin"}
    assert of(daily) == of(dict(reversed(daily.items())))
    assert of(daily) == of(daily, later)
    assert of(daily) != of(daily | {"time": "02:31"})
    assert of(daily) != of(daily | {"time_zone": "Europe/Paris"})
    assert of({"type": "interval", "every_seconds": 60}) != of({"type": "interval", "every_seconds": 60}, later)

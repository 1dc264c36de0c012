"""`manage preview_schedule`: the calendar on the command line, with no database (design, B2, B6)."""

import json
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

BERLIN = {"type": "daily", "time": "02:30", "time_zone": "Europe/Berlin"}


def preview(schedule: object, start: str = "2026-03-28T12:00:00+01:00", **options: Any) -> Any:
    text = schedule if isinstance(schedule, str) else json.dumps(schedule)
    out = StringIO()
    call_command("preview_schedule", schedule=text, start=start, json=True, stdout=out, **options)
    return json.loads(out.getvalue())


def test_the_instants_with_what_is_special_about_them() -> None:
    """B2: 02:30 does not exist on the day of the gap."""
    found = preview(BERLIN, count=2)
    assert found["description"] == "daily at 02:30 (Europe/Berlin)"
    assert found["instants"] == [
        {"utc": "2026-03-29T01:30:00Z", "local": "2026-03-29T03:30:00+02:00", "notes": ["gap"]},
        {"utc": "2026-03-30T00:30:00Z", "local": "2026-03-30T02:30:00+02:00", "notes": []},
    ]


def test_an_interval_is_anchored_where_the_preview_begins() -> None:
    found = preview({"type": "interval", "every_seconds": 21600}, "2026-01-01T00:10:00Z", count=2, windows="[]")
    assert [one["utc"] for one in found["instants"]] == ["2026-01-01T06:10:00Z", "2026-01-01T12:10:00Z"]


def test_by_hand_alone_there_is_no_instant() -> None:
    assert preview({"type": "manual"})["instants"] == []


@pytest.mark.parametrize(
    ("schedule", "start", "options", "named"),
    [
        ("{", "2026-01-01T00:00:00Z", {}, "schedule: "),
        ("[]", "2026-01-01T00:00:00Z", {}, "schedule: "),
        ({"type": "yearly"}, "2026-01-01T00:00:00Z", {}, "type: "),
        ({"type": "hourly"}, "2026-01-01T00:00:00Z", {}, "minute: "),
        ({"type": "weekly", "days": [], "time": "02:00"}, "2026-01-01T00:00:00Z", {}, "days: "),
        ({"type": "cron", "expression": "0 0 30 2 *"}, "2026-01-01T00:00:00Z", {}, "expression: "),
        ({**BERLIN, "time": "26:00"}, "2026-01-01T00:00:00Z", {}, "time: "),
        ({**BERLIN, "time_zone": "Europe/Brlin"}, "2026-01-01T00:00:00Z", {}, "time_zone: "),
        ({**BERLIN, "tiem": "02:00"}, "2026-01-01T00:00:00Z", {}, "tiem: "),
        (BERLIN, "2026-01-01T00:00:00", {}, "from: "),
        (BERLIN, "2026-01-01T00:00:00Z", {"count": 0}, "count: "),
        (BERLIN, "2026-01-01T00:00:00Z", {"windows": "[1]"}, "windows: "),
    ],
)
def test_bad_input_names_its_field_and_exits_with_2(
    schedule: object, start: str, options: dict[str, Any], named: str
) -> None:
    with pytest.raises(CommandError) as caught:
        preview(schedule, start, **options)
    assert str(caught.value).startswith(named)
    assert caught.value.returncode == 2

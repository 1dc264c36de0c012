"""`manage preview_schedule`: the calendar on the command line, with no database (design, B2, B6)."""

import json
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from syncova_project.manage_program import error_shape_of

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


def test_windows_mark_what_they_postpone() -> None:
    """B6, B7: beside the marks of the clock."""
    night = {"type": "blackout", "name": "night", "start": "01:00", "length_seconds": 3 * 3600}
    found = preview(BERLIN, count=2, windows=json.dumps([night | {"days": ["sun"]}]))
    first, second = found["instants"]
    assert first == {
        "utc": "2026-03-29T01:30:00Z",
        "local": "2026-03-29T03:30:00+02:00",
        "notes": ["gap", "postponed"],
        "window": {"code": "blackout", "name": "night"},
        "starts_at": "2026-03-29T04:00:00Z",
    }
    assert (second["notes"], "window" in second) == ([], False)


def test_a_window_that_never_opens_is_told() -> None:
    """B8: not in silence."""
    past = {"type": "allowed", "starts_at": "2020-01-01T00:00:00Z", "ends_at": "2020-01-02T00:00:00Z"}
    (only,) = preview(BERLIN, count=1, windows=json.dumps([past]))["instants"]
    assert (only["notes"], only["starts_at"]) == (["gap", "no_free_instant"], None)


def test_in_words_the_window_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    """B6: which one postpones it, and to when."""
    night = {"type": "blackout", "name": "night", "start": "00:00", "length_seconds": 4 * 3600}
    told = {"schedule": json.dumps(BERLIN), "start": "2026-06-01T12:00:00Z", "windows": json.dumps([night])}
    call_command("preview_schedule", count=1, **told)
    assert capsys.readouterr().out.splitlines()[1:] == [
        "2026-06-02T00:30:00Z  2026-06-02T02:30:00+02:00  postponed  by night to 2026-06-02T04:00:00Z"
    ]


def test_what_comes_before_a_held_run_starts_merges_into_it(capsys: pytest.CaptureFixture[str]) -> None:
    """B6, D1: the end of the window itself too, as a pass claims before it admits."""
    night = {"type": "blackout", "name": "nightly", "start": "01:00", "length_seconds": 2 * 3600}
    told = {"schedule": '{"type": "hourly", "minute": 0}', "windows": json.dumps([night])}
    found = preview(told["schedule"], "2026-06-01T00:30:00Z", count=4, windows=told["windows"])["instants"]
    assert [(one["notes"], one.get("merges_into")) for one in found] == [
        (["postponed"], None),
        (["coalesced"], "2026-06-01T01:00:00Z"),
        (["coalesced"], "2026-06-01T01:00:00Z"),
        ([], None),
    ]
    assert [one.get("starts_at") for one in found] == ["2026-06-01T03:00:00Z"] * 3 + [None]
    assert ["window" in one for one in found] == [True, True, False, False]
    call_command("preview_schedule", start="2026-06-01T00:30:00Z", count=3, **told)
    assert capsys.readouterr().out.splitlines()[2:] == [
        "2026-06-01T02:00:00Z  2026-06-01T02:00:00+00:00  coalesced  into 2026-06-01T01:00:00Z  by nightly",
        "2026-06-01T03:00:00Z  2026-06-01T03:00:00+00:00  coalesced  into 2026-06-01T01:00:00Z",
    ]


def test_without_json_it_is_a_line_an_instant(capsys: pytest.CaptureFixture[str]) -> None:
    call_command("preview_schedule", schedule=json.dumps(BERLIN), start="2026-10-24T12:00:00Z", count=2)
    assert capsys.readouterr().out.splitlines() == [
        "daily at 02:30 (Europe/Berlin)",
        "2026-10-25T00:30:00Z  2026-10-25T02:30:00+02:00  first_of_two",
        "2026-10-26T01:30:00Z  2026-10-26T02:30:00+01:00",
    ]


@pytest.mark.parametrize(
    "schedule",
    [
        {"type": "hourly", "minute": 30},
        {"type": "weekly", "days": ["sat", "sun"], "time": "22:00", "time_zone": "Asia/Tokyo"},
        {"type": "monthly", "days": [1, -1], "time": "22:00"},
        {"type": "cron", "expression": "*/15 9-17 * * mon-fri", "time_zone": "Europe/Berlin"},
    ],
)
def test_every_kind_has_its_preview(schedule: dict[str, Any]) -> None:
    """B1, B6."""
    found = preview(schedule, count=5)
    assert len({one["utc"] for one in found["instants"]}) == 5
    assert found["description"]


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
        ({**BERLIN, "time_zone": ""}, "2026-01-01T00:00:00Z", {}, "time_zone: "),
        ({**BERLIN, "time_zone": None}, "2026-01-01T00:00:00Z", {}, "time_zone: "),
        ({"type": "cron", "expression": "0 3 29 2 *"}, "9990-01-01T00:00:00Z", {}, "from: "),
        (BERLIN, "9998-12-30T00:00:00Z", {}, "from: "),
        (BERLIN, "9999-12-31T23:59:59-23:59", {}, "from: "),
        (BERLIN, "0001-01-01T00:00:00Z", {}, "from: "),
        (BERLIN, "0001-01-01T00:00:00+01:00", {}, "from: "),
        (BERLIN, "2026-01-01T00:00:00Z", {"count": 0}, "count: "),
        (BERLIN, "2026-01-01T00:00:00Z", {"count": "abc"}, "count: "),
        (BERLIN, "2026-01-01T00:00:00Z", {"count": "1e3"}, "count: "),
        (BERLIN, "2026-01-01T00:00:00Z", {"windows": "[1]"}, "windows.0.window: "),
        (BERLIN, "2026-01-01T00:00:00Z", {"windows": "{}"}, "windows: "),
        (
            BERLIN,
            "2026-01-01T00:00:00Z",
            {"windows": '[{"type": "blackout", "length_seconds": 60}]'},
            "windows.0.start: ",
        ),
        (
            BERLIN,
            "2026-01-01T00:00:00Z",
            {"windows": '[{"type": "blackout", "start": "01:00", "length_seconds": 60, "time_zone": ""}]'},
            "windows.0.time_zone: ",
        ),
    ],
)
def test_bad_input_names_its_field_and_exits_with_2(
    schedule: object, start: str, options: dict[str, Any], named: str
) -> None:
    text = schedule if isinstance(schedule, str) else json.dumps(schedule)
    with pytest.raises(CommandError) as caught:
        call_command("preview_schedule", schedule=text, start=start, json=True, **options)
    assert str(caught.value).startswith(named)
    assert caught.value.returncode == 2
    error: Any = error_shape_of(caught.value)["error"]
    assert (error["code"], error["message"]) == ("VALIDATION_FAILED", str(caught.value))
    # As the API has them: a list of sentences for each field.
    assert error["details"] == {named.partition(":")[0]: [str(caught.value).partition(": ")[2]]}


def test_the_first_and_the_last_year_that_are_looked_ahead_from_leave_nothing_out() -> None:
    """B6: from their first instant on, and the rarest rule comes."""
    first = preview({"type": "cron", "expression": "* * * * *"}, "0003-01-01T00:00:00Z", count="1")
    assert first["instants"][0]["utc"] == "0003-01-01T00:01:00Z"
    rare = preview({"type": "cron", "expression": "0 12 29 2 */7"}, "9930-12-31T23:59:59Z", count=1)
    assert rare["instants"][0]["utc"].endswith("-02-29T12:00:00Z")


@pytest.mark.parametrize(
    ("schedule", "last"),
    [({"type": "interval", "every_seconds": 31622400}, "9990"), ({"type": "cron", "expression": "0 0 1 1 *"}, "9990")],
)
def test_the_end_of_the_calendar_is_told(
    schedule: dict[str, Any], last: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """B6: fewer instants than asked for are never a silent end."""
    call_command("preview_schedule", schedule=json.dumps(schedule), start="9930-01-01T00:00:00Z", count=100, json=True)
    told = capsys.readouterr()
    assert json.loads(told.out)["instants"][-1]["utc"].startswith(last)
    assert told.err == "That is all: the calendar ends with the year 9990.\n"
    call_command("preview_schedule", schedule='{"type": "manual"}', start="9930-01-01T00:00:00Z")
    assert capsys.readouterr().err == ""

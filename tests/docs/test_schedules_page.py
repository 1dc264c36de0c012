"""docs/schedules.md: every line of its table is planned, and its option comes to the same schedule (5.1)."""

import datetime as dt
import json
import re
import shlex
from pathlib import Path

import pytest

from jobs import calendar
from jobs.ctl.schedule_options import schedule_of

PAGE = (Path(__file__).parents[2] / "docs" / "schedules.md").read_text(encoding="utf-8")
ANCHOR = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
ROWS = re.findall(r"^\| `(\{.*?\})` \| (?:`(--\w+ .*?)`)? ?\|", PAGE, re.MULTILINE)


@pytest.mark.parametrize(("text", "option"), ROWS)
def test_a_line_of_the_table_is_planned(text: str, option: str) -> None:
    plan = calendar.parse(json.loads(text), anchor=ANCHOR)
    name, value = shlex.split(option) if option else ("", "")
    if "…" not in value:
        given = schedule_of({name.removeprefix("--"): value} if name else {}, None)
        named = {"time_zone": plan.zone_name} if plan.kind == "daily" else {}
        assert calendar.parse(given | named, anchor=ANCHOR) == plan


def test_the_table_has_every_kind() -> None:
    """B1."""
    assert {json.loads(text)["type"] for text, _ in ROWS} == set(calendar.KINDS)


def test_expressions_of_the_page_are_what_it_says() -> None:
    """B5."""
    refused = ["0 0 30 2 *", "5/15 * * * *", "@reboot"]
    for expression in ["0 3 1-7 * */7", "*/30 2 * * *", "0,30 2 * * *", "5-59/15 * * * *", *refused]:
        schedule = {"type": "cron", "expression": expression}
        assert expression in PAGE or expression.split()[0] in PAGE
        if expression not in refused:
            assert calendar.parse(schedule, anchor=ANCHOR).next_after(ANCHOR)
            continue
        with pytest.raises(calendar.ScheduleInvalidError):
            calendar.parse(schedule, anchor=ANCHOR)

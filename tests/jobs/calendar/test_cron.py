"""Cron: the dialect, what wildcards mean, rare and impossible expressions, words (B5, B6)."""

import datetime as dt
import itertools
import re

import pytest
from croniter import croniter

from jobs import calendar
from jobs.calendar.cron_fields import read_fields

ANCHOR = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)


def cron(expression: str, zone: str = "UTC") -> calendar.Plan:
    return calendar.parse({"type": "cron", "expression": expression, "time_zone": zone}, anchor=ANCHOR)


def local(expression: str, zone: str, start: str, count: int) -> list[str]:
    moment = dt.datetime.fromisoformat(start).replace(tzinfo=dt.UTC)
    return [f"{one.local:%d %H:%M%z}" for one in calendar.preview(cron(expression, zone), moment, count)]


@pytest.mark.parametrize(
    ("expression", "start", "expected"),
    [
        # Fixed times: a gap moves them by its length, a fold runs them once.
        ("30 2 * * *", "2026-03-28T12:00", ["29 03:30+0200", "30 02:30+0200"]),
        ("30 2 * * *", "2026-10-24T12:00", ["25 02:30+0200", "26 02:30+0100"]),
        ("0 1-3 * * *", "2026-03-28T12:00", ["29 01:00+0100", "29 03:00+0200", "30 01:00+0200"]),
        ("30 1-4 * * *", "2026-10-25T00:00", ["25 02:30+0200", "25 03:30+0100", "25 04:30+0100"]),
        ("0,30 2 * * *", "2026-03-28T12:00", ["29 03:00+0200", "29 03:30+0200", "30 02:00+0200"]),
        # A wildcard in minute or hour: real time, both passes of a fold, nothing in a gap.
        ("*/30 2 * * *", "2026-03-28T12:00", ["30 02:00+0200", "30 02:30+0200"]),
        ("*/30 2 * * *", "2026-10-24T12:00", ["25 02:00+0200", "25 02:30+0200", "25 02:00+0100", "25 02:30+0100"]),
        ("15 */2 * * *", "2026-10-24T23:00", ["25 02:15+0200", "25 02:15+0100", "25 04:15+0100"]),
        ("30 * * * *", "2026-03-29T00:00", ["29 01:30+0100", "29 03:30+0200"]),
        # `1-59/1`, a list that holds `*` later: not a wildcard, which must begin the field.
        ("30,*/30 2 * * *", "2026-10-24T23:00", ["25 02:00+0200", "25 02:30+0200", "26 02:00+0100"]),
    ],
)
def test_gap_and_fold_by_the_star_rule(expression: str, start: str, expected: list[str]) -> None:
    """B5, B2, B3."""
    assert local(expression, "Europe/Berlin", start, len(expected)) == expected


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        # Neither is a wildcard: either of them. January 2026 begins on a Thursday.
        ("0 0 13 * fri", [2, 9, 13, 16]),
        # One of them begins with a star: both.
        ("0 0 13 * */5", [13 + 0 * 31]),
        ("0 0 */2 * mon", [5, 19]),
        ("0 0 * * mon", [5, 12, 19, 26]),
        ("0 0 1 * *", [1]),
    ],
)
def test_day_of_the_month_and_day_of_the_week(expression: str, expected: list[int]) -> None:
    """B5: Debian cron's rule."""
    starts = cron(expression).starts(ANCHOR - dt.timedelta(minutes=1))
    days = [(one.year, one.month, one.day) for one, _ in itertools.islice(starts, 8)]
    if expression == "0 0 13 * */5":
        # Friday or Sunday, and the 13th.
        assert days[:3] == [(2026, 2, 13), (2026, 3, 13), (2026, 9, 13)]
        return
    assert [day for year, month, day in days if (year, month) == (2026, 1)][: len(expected)] == expected


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("0", {0}),
        ("7", {0}),
        ("sun", {0}),
        ("SAT-sun", {6, 0}),
        ("fri-mon", {5, 6, 0, 1}),
        ("5-7", {5, 6, 0}),
        ("0-7", set(range(7))),
        ("6-2", {6, 0, 1, 2}),
        ("fri-mon/2", {5, 0}),
        ("Mon,wed-FRI", {1, 3, 4, 5}),
        ("*/2", {0, 2, 4, 6}),
    ],
)
def test_days_of_the_week(text: str, days: set[int]) -> None:
    """B5: Sunday is 0 or 7, ranges go on over the week's end, names in any case."""
    assert read_fields(f"0 0 * * {text}")[4].values == days


@pytest.mark.parametrize("text", ["*", "0", "*/15", "3-40/7", "1,2,50-59", "59", "*/59", "0-59/30"])
def test_minutes_agree_with_another_reader(text: str) -> None:
    """Where dialects agree, so do readers."""
    other = croniter.expand(f"{text} * * * *")[0][0]
    assert read_fields(f"{text} * * * *")[0].values == (set(range(60)) if other == ["*"] else set(other))


@pytest.mark.parametrize(
    ("name", "same"),
    [
        ("@yearly", "0 0 1 1 *"),
        ("@annually", "0 0 1 jan *"),
        ("@monthly", "0 0 1 * *"),
        ("@weekly", "0 0 * * sun"),
        ("@Daily", "0 0 * * *"),
        ("@midnight", "0 0 * * *"),
        ("@hourly", "0 * * * *"),
    ],
)
def test_names_of_whole_expressions(name: str, same: str) -> None:
    """B5."""
    assert read_fields(name) == read_fields(same)


@pytest.mark.parametrize(
    ("expression", "quoted"),
    [("0 0 L * *", "'L'"), ("0 0 * JAM *", "'JAM'"), ("0 0 * * MON#2", "'MON#2'"), ("0 0 * Dec-Jan *", "'Dec-Jan'")],
)
def test_what_is_refused_is_quoted_as_it_was_written(expression: str, quoted: str) -> None:
    with pytest.raises(calendar.ScheduleInvalidError, match=re.escape(quoted)):
        cron(expression)


@pytest.mark.parametrize(
    "expression",
    [
        *(
            "",
            "* * * *",
            "0 0 0 * * *",
            "@reboot",
            "@",
            "60 * * * *",
            "* 24 * * *",
            "* * 0 * *",
            "* * 32 * *",
            "* * * 13 *",
        ),
        *(
            "* * * * 8",
            "-1 * * * *",
            "1- * * * *",
            "-5 * * * *",
            "1--2 * * * *",
            "a * * * *",
            "1,,2 * * * *",
            ", * * * *",
        ),
        *("*/0 * * * *", "*/61 * * * *", "1-5/0 * * * *", "*/ * * * *", "/5 * * * *", "5/15 * * * *", "30-10 * * * *"),
        *("* 22-2 * * *", "* * * dec-jan *", "0 0 L * *", "0 0 15W * *", "0 0 ? * 1", "0 0 * * 5#2", "0 0 * * 5L"),
        *(
            "H * * * *",
            "0 0 * * monday",
            "0 0 * januar *",
            "٣ * * * *",
            "0\u202e0 * * * *",
            "@wee\u212aly",
            "1.5 * * * *",
            "+1 * * * *",
        ),
        *(
            "0" * 600,
            "000000001 * * * *",
            "** * * * *",
            "*5 * * * *",
            "1-*/2 * * * *",
            "TZ=UTC 0 0 * * *",
            "0 0 * * * ls",
        ),
        *("0 0 30 2 *", "0 0 31 4,6,9,11 *", "* * 30 feb *", "0 0 30,31 2 */2"),
    ],
)
def test_what_no_reading_or_no_date_has_is_refused(expression: str) -> None:
    """B5: at once, and named."""
    with pytest.raises(calendar.ScheduleInvalidError) as caught:
        cron(expression)
    assert caught.value.field == "expression"
    assert len(caught.value.message) < 2000


def test_what_only_a_gap_would_show_is_refused() -> None:
    """B5: real time between two and three on the very Sundays that leave it out."""
    with pytest.raises(calendar.ScheduleInvalidError, match="never comes in Europe/Berlin"):
        cron("*/10 2 25-31 3 */7", "Europe/Berlin")
    assert cron("*/10 2 25-31 3 */7", "Asia/Tokyo").next_after(ANCHOR) is not None
    assert cron("10 2 25-31 3 */7", "Europe/Berlin").next_after(ANCHOR) is not None


@pytest.mark.parametrize(
    ("expression", "start", "years"),
    [
        ("0 12 29 2 *", 2026, [2028, 2032, 2036]),
        ("0 12 29 2 *", 2097, [2104, 2108]),
        ("0 12 29 2 */7", 2026, [2032, 2060, 2088, 2128]),
        ("* 12 29 2 */7", 2088, [2088]),
    ],
)
def test_once_in_four_eight_and_forty_years(expression: str, start: int, years: list[int]) -> None:
    """B5: leap days, also over the years that leave one out."""
    plan = cron(expression, "Europe/Berlin")
    found = [one for one, _ in itertools.islice(plan.starts(dt.datetime(start, 1, 1, tzinfo=dt.UTC)), len(years))]
    assert [one.year for one in found] == years
    for one in found:
        latest = plan.latest_until(one + dt.timedelta(seconds=30))
        assert latest is not None
        assert latest.instant == one


def test_the_end_of_the_calendar_is_an_end() -> None:
    for year in (9985, 9989, 9998):
        instants = [one for one, _ in cron("0 0 29 2 *").starts(dt.datetime(year, 1, 1, tzinfo=dt.UTC))]
        assert instants == [dt.datetime(9988, 2, 29, tzinfo=dt.UTC)] * (year < 9988)
    assert cron("0 0 * * *").latest_until(dt.datetime(1, 1, 1, tzinfo=dt.UTC)) is None


@pytest.mark.parametrize(
    ("expression", "sentence"),
    [
        ("0 2 * * *", "daily at 02:00 (UTC)"),
        ("0,30 2,14 * * *", "daily at 02:00, 02:30, 14:00 and 14:30 (UTC)"),
        ("*/15 9-17 * * mon-fri", "every 15 minutes from 09:00 to 17:59 on Monday to Friday (UTC)"),
        ("* * * * *", "every minute (UTC)"),
        ("@hourly", "every hour (UTC)"),
        ("17 * * * *", "hourly at minute 17 (UTC)"),
        (
            "5,20 */2 * * *",
            "at the minutes 5 and 20 of the hour in the hours 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20 and 22 (UTC)",
        ),
        ("0 3 * * sat-mon", "at 03:00 on Saturday to Monday (UTC)"),
        ("0 3 1,15 jan,jun-aug *", "at 03:00 on day 1 and 15 in January and June to August (UTC)"),
        ("0 3 13 * fri", "at 03:00 on day 13 and on each Friday (UTC)"),
        ("0 3 1-7 * */7", "at 03:00 on day 1 to 7 if that is Sunday (UTC)"),
        ("*/30 2 * * *", "whenever the clock shows 02:00 and 02:30 (UTC)"),
        ("*/30 2 * * tue", "whenever the clock shows 02:00 and 02:30 on Tuesday (UTC)"),
    ],
)
def test_the_sentence(expression: str, sentence: str) -> None:
    """B6."""
    assert cron(expression).describe() == sentence


def test_the_expression_comes_back_as_it_was_written() -> None:
    plan = cron("  */15\t9-17 * *  Mon-Fri ", "Asia/Tokyo")
    assert plan.definition() == {"type": "cron", "expression": "*/15 9-17 * * Mon-Fri", "time_zone": "Asia/Tokyo"}
    assert calendar.parse(plan.definition(), anchor=ANCHOR) == plan


@pytest.mark.parametrize(
    ("expression", "words"),
    [("000 0 * * *", "000 is no minute: write one or two digits"), ("*/005 0 * * *", "write one or two digits")],
)
def test_too_many_digits_are_told_as_that(expression: str, words: str) -> None:
    """B5: 000 lies from 0 to 59."""
    with pytest.raises(calendar.ScheduleInvalidError, match=words):
        cron(expression)

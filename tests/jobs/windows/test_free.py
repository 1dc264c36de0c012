"""Free instants (B7, B8): overlapping, touching, nested, over midnight, over the change of the clocks, none at all."""

import datetime as dt
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobs import windows
from jobs.calendar.zones import load_zone
from jobs.states import RunKind, WindowKind
from tests.jobs.windows import slow_windows

LEVELS = list(windows.Level)
# A zone and a stretch of time: ordinary days, gap, fold, half an hour, a day left out, a midnight that does not exist.
STRETCHES = [
    ("UTC", "2026-06-01"),
    ("Europe/Berlin", "2026-03-05"),
    ("Europe/Berlin", "2026-10-01"),
    ("Australia/Lord_Howe", "2026-09-12"),
    ("Pacific/Apia", "2011-12-05"),
    ("America/Havana", "2026-02-15"),
]


def utc(text: str) -> dt.datetime:
    return dt.datetime.fromisoformat(text).replace(tzinfo=dt.UTC)


def recurring(type: str, days: list[str] | None, start: str, hours: float, **fields: Any) -> windows.Rule:
    times = {"days": days, "start": start, "length_seconds": int(hours * 3600)}
    zone = {"time_zone": fields.pop("time_zone", "UTC")}
    return windows.parse({"type": type} | times | zone | fields)


def once(type: str, starts_at: str, ends_at: str, **fields: Any) -> windows.Rule:
    return windows.parse({"type": type, "starts_at": f"{starts_at}Z", "ends_at": f"{ends_at}Z"} | fields)


def free(rules: list[windows.Rule], asked: str) -> str:
    answer = windows.next_free(rules, utc(asked))
    return f"{answer.instant:%Y-%m-%dT%H:%M}" if answer.instant else "none"


OFFICE = recurring("blackout", ["mon", "tue", "wed", "thu", "fri"], "08:00", 10, name="office")
NIGHT = recurring("allowed", None, "22:00", 8, name="night")
WEEKEND = recurring("allowed", ["sat"], "00:00", 48, name="weekend")


@pytest.mark.parametrize(
    ("rules", "asked", "expected"),
    [
        ([], "2026-11-30T09:00", "2026-11-30T09:00"),
        # A Monday within office hours; half-open at both ends.
        ([OFFICE], "2026-11-30T07:59", "2026-11-30T07:59"),
        ([OFFICE], "2026-11-30T08:00", "2026-11-30T18:00"),
        ([OFFICE], "2026-11-30T17:59", "2026-11-30T18:00"),
        ([OFFICE], "2026-11-30T18:00", "2026-11-30T18:00"),
        ([OFFICE], "2026-12-05T09:00", "2026-12-05T09:00"),
        # Over midnight: the night began the evening before.
        ([NIGHT], "2026-12-01T03:00", "2026-12-01T03:00"),
        ([NIGHT], "2026-12-01T06:00", "2026-12-01T22:00"),
        # Two allowed windows of a level: one of them is enough.
        ([NIGHT, WEEKEND], "2026-12-05T12:00", "2026-12-05T12:00"),
        ([NIGHT, WEEKEND], "2026-12-04T12:00", "2026-12-04T22:00"),
        # Overlapping, touching and nested blackouts are one.
        ([OFFICE, once("blackout", "2026-11-30T17:00", "2026-11-30T20:00")], "2026-11-30T09:00", "2026-11-30T20:00"),
        ([OFFICE, once("blackout", "2026-11-30T18:00", "2026-11-30T20:00")], "2026-11-30T09:00", "2026-11-30T20:00"),
        ([OFFICE, once("blackout", "2026-11-30T10:00", "2026-11-30T11:00")], "2026-11-30T10:30", "2026-11-30T18:00"),
        # A blackout within the only allowed window.
        ([NIGHT, once("blackout", "2026-11-30T21:00", "2026-12-01T06:00")], "2026-11-30T20:00", "2026-12-01T22:00"),
        # Longer than a day: from Friday's start to Monday evening, met with a look back of three days.
        ([recurring("blackout", ["fri"], "20:00", 70)], "2026-12-07T17:00", "2026-12-07T18:00"),
        ([recurring("blackout", ["mon"], "00:00", 168)], "2026-12-06T23:59", "none"),
        # Never free: a blackout around the clock, an allowed window that is over, one that comes too late.
        ([recurring("blackout", None, "00:00", 24)], "2026-11-30T09:00", "none"),
        ([once("allowed", "2026-11-01T00:00", "2026-11-02T00:00")], "2026-11-30T09:00", "none"),
        ([once("allowed", "2026-12-31T09:00", "2027-01-02T00:00")], "2026-11-30T09:00", "2026-12-31T09:00"),
        ([once("allowed", "2026-12-31T09:01", "2027-01-02T00:00")], "2026-11-30T09:00", "none"),
    ],
)
def test_the_next_free_instant(rules: list[windows.Rule], asked: str, expected: str) -> None:
    """B7, B8."""
    assert free(rules, asked) == expected


@pytest.mark.parametrize(
    ("start", "hours", "asked", "expected"),
    [
        # The night of 29 March 2026 in Berlin lacks an hour: eight hours from 22:00 end at 07:00 summer time.
        ("22:00", 8, "2026-03-28T22:00", "2026-03-29T05:00"),
        # A start that does not exist comes later by the gap: 02:30 is 03:30, which is 01:30 UTC.
        ("02:30", 1, "2026-03-29T01:29", "2026-03-29T01:29"),
        ("02:30", 1, "2026-03-29T01:30", "2026-03-29T02:30"),
        # The night of 25 October has an hour more: eight hours end at 05:00 winter time.
        ("22:00", 8, "2026-10-24T21:00", "2026-10-25T04:00"),
        # A start that comes twice is the first.
        ("02:30", 1, "2026-10-25T00:30", "2026-10-25T01:30"),
        ("02:30", 1, "2026-10-25T01:30", "2026-10-25T01:30"),
    ],
)
def test_a_length_is_elapsed_time_on_days_when_the_clocks_change(
    start: str, hours: int, asked: str, expected: str
) -> None:
    """B8: a start and a length, never an end."""
    assert free([recurring("blackout", None, start, hours, time_zone="Europe/Berlin")], asked) == expected


def test_each_level_with_allowed_windows_must_be_open() -> None:
    """B7: the installation's night and the job's evening overlap from 22:00 on."""
    evening = recurring("allowed", None, "18:00", 6, level="job", name="evening")
    assert free([NIGHT, evening], "2026-11-30T19:00") == "2026-11-30T22:00"
    assert free([evening], "2026-11-30T19:00") == "2026-11-30T19:00"
    morning = recurring("allowed", None, "09:00", 1, level="job")
    assert free([NIGHT, morning], "2026-11-30T19:00") == "none"


def test_the_reason_is_what_shut_the_instant_asked_for() -> None:
    """C3: not what shut a later one on the way."""
    answer = windows.next_free([OFFICE, NIGHT], utc("2026-11-30T09:00"))
    assert answer.block == windows.Block(windows.BlockCode.BLACKOUT, "office")
    assert answer.instant == utc("2026-11-30T22:00")
    assert windows.block_at([NIGHT], utc("2026-11-30T09:00")) == windows.Block(windows.BlockCode.NOT_ALLOWED, "night")
    assert windows.block_at([NIGHT], utc("2026-11-30T23:00")) is None


def test_a_rule_applies_to_its_kinds_and_its_owner_alone() -> None:
    """B8: an allowed window of job A does not lock job B, nor one for prunes a backup."""
    everywhere = windows.parse({"type": "allowed", "start": "22:00", "length_seconds": 60, "kinds": ["prune"]})
    shape = everywhere.shape
    of_job = windows.Rule("a", WindowKind.ALLOWED, frozenset({RunKind.BACKUP}), shape, windows.Level.JOB, "a")
    of_repository = windows.Rule(
        "r", WindowKind.BLACKOUT, frozenset({RunKind.BACKUP}), shape, windows.Level.REPOSITORY, "r"
    )
    rules = [everywhere, of_job, of_repository]
    assert windows.applicable(rules, RunKind.BACKUP, repository="r", job="a") == (of_job, of_repository)
    assert windows.applicable(rules, RunKind.BACKUP, repository="s", job="b") == ()
    assert windows.applicable(rules, RunKind.PRUNE, repository="s") == (everywhere,)
    # Whatever the rows say.
    hostile = windows.Rule("x", WindowKind.BLACKOUT, frozenset(RunKind), shape)
    assert windows.applicable([hostile], RunKind.RESTORE) == ()


@st.composite
def shapes(draw: st.DrawFn) -> tuple[frozenset[int], dt.time, int]:
    days = draw(st.frozensets(st.integers(1, 7), min_size=1))
    time = dt.time(draw(st.integers(0, 23)), draw(st.sampled_from([0, 15, 30, 59])))
    length = draw(st.one_of(st.integers(1, 180), st.sampled_from([480, 1439, 1440, 1441, 4200, 7 * 1440])))
    return days, time, length


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(STRETCHES),
    st.lists(st.tuples(st.booleans(), st.sampled_from(LEVELS), shapes()), max_size=5),
    st.integers(0, 13 * 1440),
    st.sampled_from([0, 1, 59]),
)
def test_as_a_slow_count_of_minutes_says(
    stretch: tuple[str, str], drawn: list[tuple[bool, windows.Level, Any]], minute: int, second: int
) -> None:
    """B7, B8, 5.7: any windows at any instant, against minutes painted one by one."""
    zone, first = load_zone(stretch[0]), utc(stretch[1])
    painted, rules = [], []
    for blackout, level, (days, time, length) in drawn:
        kind = WindowKind.BLACKOUT if blackout else WindowKind.ALLOWED
        shape = windows.Recurring(days, time, dt.timedelta(minutes=length), stretch[0])
        rules.append(windows.Rule("w", kind, frozenset({RunKind.BACKUP}), shape, level))
        minutes = slow_windows.openings(zone, first, days, time, length)
        painted.append(slow_windows.Painted(blackout, LEVELS.index(level), minutes))
    asked = slow_windows.MARGIN_DAYS * 1440 + minute
    instant = first + asked * slow_windows.MINUTE + dt.timedelta(seconds=second)
    expected = slow_windows.first_free(painted, asked, 31 * 1440)
    answer = windows.next_free(rules, instant)
    if expected is None:
        assert answer.instant is None
    else:
        assert answer.instant == max(instant, first + expected * slow_windows.MINUTE)
    assert (answer.block is None) == (expected == asked)

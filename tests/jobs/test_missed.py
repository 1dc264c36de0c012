"""What becomes of missed instants: by policy, after any outage, and whatever the clock does (A13, A14, 5.9)."""

import datetime as dt
from typing import Any

import pytest

from jobs import missed
from jobs.claims import Claimed, claim_due
from jobs.decisions import KEPT_ROWS
from jobs.models import Run, Schedule, ScheduleDecision
from jobs.sentences import decision_sentence
from jobs.states import DecisionOutcome, MissedPolicy
from tests.jobs.builders import NOW, make_job, make_run, make_schedule

SECOND, MINUTE, HOUR = dt.timedelta(seconds=1), dt.timedelta(minutes=1), dt.timedelta(hours=1)
DAY, YEAR = dt.timedelta(days=1), dt.timedelta(days=365)
OUTAGES = [5 * SECOND, 5 * MINUTE, 3 * DAY, 3 * YEAR]
DEFINITIONS: dict[str, dict[str, Any]] = {
    "daily": {"type": "daily", "time": "02:00", "time_zone": "UTC"},
    "hourly": {"type": "interval", "every_seconds": 3600},
    "minutely": {"type": "interval", "every_seconds": 60},
}
SKIPPED, EXPIRED = (DecisionOutcome.SKIPPED, "missed_never"), (DecisionOutcome.EXPIRED, "missed_too_long")


@pytest.mark.parametrize(
    ("policy", "within", "late", "expected"),
    [
        ("once", None, 3 * YEAR, None),
        ("never", None, MINUTE, None),
        ("never", None, MINUTE + SECOND, SKIPPED),
        ("once_within", 3600, HOUR, None),
        ("once_within", 3600, HOUR + SECOND, EXPIRED),
        # Up to a minute is on time, however short the policy is.
        ("once_within", 1, MINUTE, None),
        ("once_within", 1, MINUTE + SECOND, EXPIRED),
        ("once", None, -HOUR, None),
    ],
)
def test_each_policy(policy: str, within: int | None, late: dt.timedelta, expected: missed.Refusal | None) -> None:
    """A13; execution.md, section 4."""
    assert missed.refusal(MissedPolicy(policy), within, late) == expected


@pytest.mark.django_db
@pytest.mark.parametrize("outage", OUTAGES, ids=str)
@pytest.mark.parametrize("kind", DEFINITIONS)
@pytest.mark.parametrize("policy", ["once", "once_within", "never"])
def test_after_any_outage_every_instant_is_a_run_or_in_one_decision(
    policy: str, kind: str, outage: dt.timedelta
) -> None:
    """5.9: down for 5 s, 5 min, 3 days, 3 years: nothing lost, nothing twice, bounded rows, each with its sentence."""
    within: dict[str, Any] = {"missed_within_seconds": 7200} if policy == "once_within" else {}
    schedule = make_schedule(definition=DEFINITIONS[kind], anchor=NOW - DAY, missed=policy, **within)
    back = NOW + outage
    claim_due(now=back)
    runs, decisions = list(Run.objects.all()), list(ScheduleDecision.objects.all())
    every = dt.timedelta(seconds=DEFINITIONS[kind].get("every_seconds", 86400))
    assert len(runs) + sum(one.count for one in decisions) == outage // every + 1
    newest = NOW + outage // every * every
    late = back - newest
    runs_late = policy == "once" or late <= MINUTE or (policy == "once_within" and late <= 2 * HOUR)
    assert [run.scheduled_for for run in runs] == ([newest] if runs_late else [])
    assert len(decisions) <= 1
    assert all(decision_sentence(one).endswith(".") for one in decisions)
    schedule.refresh_from_db()
    assert schedule.next_at == newest + every
    assert claim_due(now=back + SECOND) == Claimed()


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("policy", "within", "expected", "words"),
    [
        ("once", None, ("skipped", "missed", True), "only the newest of the due instants became a run"),
        ("never", None, ("skipped", "missed_never", False), "the schedule never runs late"),
        ("once_within", 60, ("expired", "missed_too_long", False), "longer ago than the schedule runs late"),
        ("once_within", 7200, ("skipped", "missed", True), "only the newest of the due instants became a run"),
    ],
)
def test_what_was_missed_before_an_instant_on_time_says_what_the_policy_did(
    policy: str, within: int | None, expected: tuple[str, str, bool], words: str
) -> None:
    """A13, H7: the newest runs, on time; the hour before it is told by itself."""
    make_schedule(definition=DEFINITIONS["hourly"], anchor=NOW - DAY, missed=policy, missed_within_seconds=within)
    assert claim_due(now=NOW + HOUR) == Claimed(queued=1)
    decision = ScheduleDecision.objects.get()
    assert (decision.first_at, decision.last_at, decision.count) == (NOW, NOW, 1)
    assert (decision.outcome, decision.reason_code, decision.run_id is not None) == expected
    assert words in decision_sentence(decision)


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("policy", "within", "expected"),
    [
        ("once", None, [("coalesced", 0, 5, 6)]),
        ("never", None, [("skipped", 0, 3, 4), ("coalesced", 4, 5, 2)]),
        ("once_within", 150, [("expired", 0, 2, 3), ("coalesced", 3, 5, 3)]),
        ("once_within", 7200, [("coalesced", 0, 5, 6)]),
    ],
)
def test_what_is_too_late_is_not_told_as_merged(
    policy: str, within: int | None, expected: list[tuple[str, int, int, int]]
) -> None:
    """A13, H7: back after five minutes, while a run of the job is on; the next minute goes on with the merged part."""
    job = make_job()
    make_run(job, "running")
    make_schedule(job, DEFINITIONS["minutely"], anchor=NOW - DAY, missed=policy, missed_within_seconds=within)
    assert claim_due(now=NOW + 5 * MINUTE) == Claimed(coalesced=1)
    assert _told() == expected
    assert claim_due(now=NOW + 6 * MINUTE) == Claimed(coalesced=1)
    outcome, first, last, count = expected[-1]
    assert _told() == [*expected[:-1], (outcome, first, last + 1, count + 1)]


def _told() -> list[tuple[str, int, int, int]]:
    """Return outcome, first and last minute and count of each decision."""
    rows = ScheduleDecision.objects.order_by("id")
    return [(one.outcome, (one.first_at - NOW) // MINUTE, (one.last_at - NOW) // MINUTE, one.count) for one in rows]


@pytest.mark.django_db
def test_a_clock_that_jumps_back_and_forth_loses_nothing_and_repeats_nothing() -> None:
    """A14: every hour from 02:00 to 12:00 is one run or in a decision, whatever the clock said in between."""
    schedule = make_schedule(definition=DEFINITIONS["hourly"], anchor=NOW - DAY)
    for hours in (0, 3, 1, 2, 3, 4, -5, 6, 5, 9, 0, 10):
        claim_due(now=NOW + hours * HOUR)
        Run.objects.filter(state="queued").update(state="cancelled", finished_at=NOW, cancel_origin="user")
    instants = sorted(Run.objects.values_list("scheduled_for", flat=True))
    assert len(set(instants)) == len(instants)
    told = [one.first_at + number * HOUR for one in ScheduleDecision.objects.all() for number in range(one.count)]
    assert sorted([*instants, *told]) == [NOW + hours * HOUR for hours in range(11)]
    schedule.refresh_from_db()
    assert schedule.next_at == NOW + 11 * HOUR


@pytest.mark.django_db
def test_a_long_run_is_one_row_whatever_the_schedule() -> None:
    """H7: bounded numbers. The next run begins a row of its own."""
    job = make_job()
    schedule = make_schedule(job, DEFINITIONS["minutely"], anchor=NOW - DAY)
    first = make_run(job, "running")
    for minutes in range(60):
        assert claim_due(now=NOW + minutes * MINUTE) == Claimed(coalesced=1)
    decision = ScheduleDecision.objects.get()
    assert (decision.first_at, decision.last_at, decision.count) == (NOW, NOW + 59 * MINUTE, 60)
    Run.objects.filter(id=first.id).update(state="cancelled", finished_at=NOW, cancel_origin="user")
    second = make_run(job, "running")
    claim_due(now=NOW + 60 * MINUTE)
    assert list(ScheduleDecision.objects.order_by("id").values_list("run_id", "count")) == [
        (first.id, 60),
        (second.id, 1),
    ]
    assert Schedule.objects.get(id=schedule.id).next_at == NOW + 61 * MINUTE


@pytest.mark.django_db
def test_decisions_are_kept_for_400_days_and_1000_rows() -> None:
    """execution.md, section 4: of this schedule, not of others."""
    schedule, other = make_schedule(missed="never"), make_schedule(next_at=NOW + DAY)
    ScheduleDecision.objects.bulk_create(_row(schedule, NOW - DAY) for _ in range(KEPT_ROWS + 5))
    ScheduleDecision.objects.bulk_create([_row(other, NOW - 500 * DAY), _row(schedule, NOW - 401 * DAY)])
    claim_due(now=NOW + HOUR)
    assert ScheduleDecision.objects.filter(schedule=schedule).count() == KEPT_ROWS - 1
    assert ScheduleDecision.objects.filter(schedule=schedule).order_by("-id")[0].reason_code == "missed_never"
    assert ScheduleDecision.objects.filter(schedule=other).count() == 1


def _row(schedule: Schedule, at: dt.datetime) -> ScheduleDecision:
    told: dict[str, Any] = {"outcome": "skipped", "reason_code": "missed"}
    return ScheduleDecision(schedule=schedule, first_at=at, last_at=at, count=1, created_at=at, **told)

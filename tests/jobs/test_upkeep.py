"""Upkeep by plan: each instant once, missed ones and merged ones decided, a bad plan stops no other (6.7, A13, H7)."""

import datetime as dt
from typing import Any

import pytest

from jobs.errors import UpkeepPlanNotFoundError
from jobs.models import Run, SchedulerState, UpkeepDecision, UpkeepPlan
from jobs.services.upkeep import upkeep_end, upkeep_set
from jobs.states import RunKind
from jobs.tick import run_pass
from jobs.upkeep import Claimed, claim_upkeep
from jobs.zone_rules import adopt_zone_rules
from repositories.models import Repository
from syncova_project.access.models import AuditEntry
from syncova_project.errors import ValidationFailedError
from tests.jobs.builders import DAILY, NOW, make_run
from tests.repositories.builders import make_repository

pytestmark = pytest.mark.django_db

HOUR, DAY = dt.timedelta(hours=1), dt.timedelta(days=1)
BEFORE = NOW - dt.timedelta(hours=1)


def planned(kind: RunKind = RunKind.PRUNE, repository: Repository | None = None, **parameters: Any) -> UpkeepPlan:
    """Plan at one; the first instant is NOW, at two."""
    place = repository or make_repository()
    asked: dict[str, Any] = {"definition": DAILY, "parameters": parameters, "actor": "alice"}
    return upkeep_set(kind, repository_id=place.id, now=BEFORE, **asked)


def next_of(plan: UpkeepPlan) -> dt.datetime | None:
    return UpkeepPlan.objects.get(pk=plan.pk).next_at


def test_a_due_plan_becomes_one_waiting_run() -> None:
    plan = planned(dry_run=False)
    assert claim_upkeep(now=BEFORE) == Claimed()
    assert claim_upkeep(now=NOW + dt.timedelta(seconds=5)) == Claimed(queued=1)
    run = Run.objects.get()
    assert (run.kind, run.trigger, run.upkeep_id, run.job_id) == ("prune", "schedule", plan.id, None)
    assert (run.scheduled_for, run.priority, run.parameters) == (NOW, "low", {"dry_run": False})
    assert next_of(plan) == NOW + DAY
    assert claim_upkeep(now=NOW + dt.timedelta(seconds=15)) == Claimed()
    assert not UpkeepDecision.objects.exists()


def test_after_days_down_it_runs_once_and_says_what_was_skipped() -> None:
    """A13."""
    plan = planned()
    assert claim_upkeep(now=NOW + 3 * DAY) == Claimed(queued=1)
    assert Run.objects.get().scheduled_for == NOW + 3 * DAY
    (decision,) = UpkeepDecision.objects.all()
    assert (decision.count, decision.outcome, decision.reason_code) == (3, "skipped", "missed")
    assert (decision.first_at, decision.last_at) == (NOW, NOW + 2 * DAY)
    assert next_of(plan) == NOW + 4 * DAY


def test_what_an_active_run_stands_for_is_one_decision() -> None:
    """D1: one active run of a kind; instants merge into it, in one row however many they are."""
    plan = planned()
    active = make_run(kind="prune", repository=plan.repository)
    for day in (0, 1):
        assert claim_upkeep(now=NOW + day * DAY) == Claimed(coalesced=1)
    (decision,) = UpkeepDecision.objects.all()
    assert (decision.outcome, decision.run_id, decision.count) == ("coalesced", active.id, 2)
    assert Run.objects.count() == 1


def test_a_plan_that_cannot_be_planned_stops_no_other() -> None:
    spoilt, good = planned(), planned()
    UpkeepPlan.objects.filter(pk=spoilt.pk).update(definition={"type": "lunar"})
    assert claim_upkeep(now=NOW) == Claimed(queued=1, flagged=1)
    flagged = UpkeepPlan.objects.get(pk=spoilt.pk)
    assert ("Cannot be planned" in flagged.flag, flagged.next_at) == (True, NOW)
    assert claim_upkeep(now=NOW) == Claimed()
    assert Run.objects.get().upkeep_id == good.id


OLDER = "Europe/Berlin 0123456789abcdef"
BERLIN = {"type": "daily", "time": "04:00", "time_zone": "Europe/Berlin"}


def stored(**fields: Any) -> UpkeepPlan:
    """Return a plan as an older tzdata left it: at 04:00 in Berlin, which it took for an hour later than it is."""
    plan = planned()
    values = {"definition": BERLIN, "next_at": NOW + 2 * HOUR, "next_wall": "2026-11-30T04:00", "zone_rules": OLDER}
    UpkeepPlan.objects.filter(pk=plan.pk).update(**(values | fields))
    return plan


def test_new_zone_rules_move_a_plan_and_say_so() -> None:
    """5.5, as for schedules; once."""
    moved, kept = stored(), planned()
    SchedulerState.objects.create(tzdata_version="2020.1")
    assert adopt_zone_rules(now=NOW - HOUR / 2) == 1
    assert (next_of(moved), next_of(kept)) == (NOW + HOUR, NOW)
    entry = AuditEntry.objects.get(action="upkeep.recomputed")
    assert entry.details["after"] == "2026-11-30T03:00:00+00:00"
    assert adopt_zone_rules(now=NOW - HOUR / 2) == 0


def test_a_wall_time_that_the_old_rules_claimed_does_not_come_again() -> None:
    """Nothing twice: the old rules had 04:00 at what is 03:00 now."""
    plan = stored(next_at=NOW)
    assert run_pass(now=NOW).queued == 1
    assert Run.objects.get().scheduled_for == NOW
    assert next_of(plan) == NOW + HOUR + DAY


def test_a_plan_whose_zone_is_known_now_is_planned_again() -> None:
    """5.6; what passed meanwhile is told."""
    plan = stored(flag="Cannot be planned: time_zone", next_at=NOW - DAY, zone_rules="Europe/Berlin")
    run_pass(now=NOW)
    assert (UpkeepPlan.objects.get(pk=plan.pk).flag, next_of(plan)) == ("", NOW + HOUR)
    (decision,) = UpkeepDecision.objects.all()
    assert (decision.outcome, decision.reason_code, decision.count) == ("skipped", "unknown_zone", 2)
    assert AuditEntry.objects.filter(action="upkeep.unflagged").exists()


def test_a_pass_claims_it() -> None:
    planned(RunKind.CHECK)
    assert run_pass(now=NOW).queued == 1


def test_a_new_plan_replaces_the_old_one_and_loses_no_due_instant() -> None:
    """execution.md, section 4: what is due is decided before the plan changes."""
    plan = planned()
    asked: dict[str, Any] = {"definition": {**DAILY, "time": "05:00"}, "parameters": {}, "actor": "alice"}
    replaced = upkeep_set(RunKind.PRUNE, repository_id=plan.repository_id, now=NOW + dt.timedelta(minutes=1), **asked)
    assert UpkeepDecision.objects.get(upkeep=plan).reason_code == "replanned"
    assert (next_of(plan), next_of(replaced)) == (None, NOW + dt.timedelta(hours=3))
    first, second = AuditEntry.objects.order_by("id")
    assert (first.action, second.action, first.details["before"]) == ("upkeep.set", "upkeep.set", None)
    assert second.details["before"] == {"schedule": first.details["schedule"], "parameters": {}}
    assert second.details["schedule"]["time"] == "05:00"


def test_an_ended_plan_is_due_no_more() -> None:
    plan = planned()
    upkeep_end(RunKind.PRUNE, repository_id=plan.repository_id, actor="alice", now=BEFORE)
    assert claim_upkeep(now=NOW + DAY) == Claimed()
    with pytest.raises(UpkeepPlanNotFoundError):
        upkeep_end(RunKind.PRUNE, repository_id=plan.repository_id, actor="alice", now=BEFORE)


@pytest.mark.parametrize(
    ("kind", "definition", "parameters"),
    [
        (RunKind.FORGET, DAILY, {}),
        (RunKind.FORGET, DAILY, {"keep_last": 1, "backups": ["3fa2"]}),
        (RunKind.RESTORE, DAILY, {}),
        (RunKind.CHECK, {"type": "manual"}, {}),
        (RunKind.CHECK, {"type": "daily", "time": "25:00"}, {}),
    ],
)
def test_what_cannot_be_planned_is_refused(kind: RunKind, definition: Any, parameters: Any) -> None:
    asked: dict[str, Any] = {"definition": definition, "parameters": parameters, "actor": "alice", "now": NOW}
    with pytest.raises(ValidationFailedError):
        upkeep_set(kind, repository_id=make_repository().id, **asked)
    assert not UpkeepPlan.objects.exists()

"""Changes of a job: each field, one revision, what waits goes with it, and the trail before and after (E6, H1)."""

import datetime as dt
from typing import Any

import pytest

from jobs.claims import claim_due
from jobs.errors import DependencyCycleError, JobActiveError, JobNameTakenError, ScheduleAmbiguousError
from jobs.models import Job, Run, Schedule, ScheduleDecision, ScheduleEvent
from jobs.sentences import decision_sentence
from jobs.services import SourceInput, WindowInput, job_change, job_delete, job_pause, run_request, window_create
from syncova_project.access.models import AuditEntry
from syncova_project.errors import ValidationFailedError
from syncova_project.preconditions import Condition, PreconditionFailedError
from tests.jobs.builders import DAILY, NOW, make_job, make_run, make_runner, make_schedule, new_id
from tests.repositories.builders import make_repository

pytestmark = pytest.mark.django_db

DAY, HOUR, SECOND = dt.timedelta(days=1), dt.timedelta(hours=1), dt.timedelta(seconds=1)
THREE = {"type": "daily", "time": "03:00", "time_zone": "UTC"}


def change(job: Job, now: dt.datetime = NOW, condition: Condition | None = None, **fields: Any) -> Job:
    return job_change(job_id=job.id, fields=fields, condition=condition or Condition(), actor="alice", now=now)


def trail() -> dict[str, Any]:
    return dict(AuditEntry.objects.get(action="job.change").details)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("name", "renamed"),
        ("priority", "high"),
        ("bandwidth_limit_bps", 1_000_000),
        ("strict", True),
        ("max_attempts", 7),
        ("start_deadline_seconds", 3600),
        ("max_runtime_seconds", 7200),
    ],
)
def test_a_field_makes_a_revision_and_an_entry_of_the_trail(field: str, value: Any) -> None:
    """E6, H1: and nothing else moves, the next instant least of all."""
    job = make_job(schedule=DAILY)
    before = getattr(job, field)
    changed = change(job, **{field: value})
    assert (getattr(changed, field), changed.revision_number, changed.updated_at) == (value, 2, NOW)
    assert changed.revisions.get(number=2).snapshot[field] == value
    told = trail()
    assert (told["before"], told["after"], told["revision"]) == ({field: before}, {field: value}, 2)
    schedule = Schedule.objects.get()
    assert (schedule.next_at, schedule.fingerprint) == (NOW, "f")
    assert not ScheduleEvent.objects.exists()


def test_what_is_already_so_is_no_change() -> None:
    job = make_job(priority="high")
    changed = change(job, priority="high", name=job.name, hooks=[], depends_on=[])
    assert (changed.revision_number, changed.revisions.count()) == (1, 1)
    assert not AuditEntry.objects.exists()


def test_limits_are_taken_away_again() -> None:
    job = make_job(bandwidth_limit_bps=5, max_runtime_seconds=60)
    changed = change(job, bandwidth_limit_bps=None, max_runtime_seconds=None)
    assert (changed.bandwidth_limit_bps, changed.max_runtime_seconds) == (None, None)


def test_sources_hooks_and_dependencies_are_replaced() -> None:
    job, other = make_job(), make_job(name="database")
    sources = [SourceInput(b"/srv/b", excludes=("*.tmp",)), SourceInput(b"/srv/a")]
    changed = change(job, sources=sources, hooks=[("before_job", "dump")], depends_on=[other.id])
    snapshot = changed.revisions.get(number=2).snapshot
    assert [(one["shown"], one["excludes"]) for one in snapshot["sources"]] == [("/srv/b", ["*.tmp"]), ("/srv/a", [])]
    assert snapshot["hooks"] == changed.hooks == [{"moment": "before_job", "name": "dump"}]
    assert snapshot["depends_on"] == [str(other.id)]
    assert set(trail()["before"]) == {"sources", "hooks", "depends_on"}


def test_a_trail_of_a_thousand_sources_names_the_revisions_that_hold_them() -> None:
    job = make_job()
    change(job, sources=[SourceInput(f"/srv/of/a/long/name/{number}".encode()) for number in range(500)])
    told = trail()
    assert told["after"]["sources"] == {"in_revision": 2}
    assert len(told["before"]["sources"]) == 1


def test_a_stale_change_is_refused_and_changes_nothing() -> None:
    job = make_job(name="home")
    change(job, strict=True)
    with pytest.raises(PreconditionFailedError, match="The job home has been changed meanwhile: it is at revision 2"):
        change(job, condition=Condition(frozenset({"1"})), strict=False)
    assert Job.objects.get().strict
    assert change(job, condition=Condition(frozenset({"1", "2"})), strict=False).revision_number == 3


def test_a_name_is_taken_whatever_its_case_but_not_by_itself() -> None:
    make_job(name="etc")
    job = make_job(name="home")
    with pytest.raises(JobNameTakenError, match="'etc'"):
        change(job, name="ETC")
    assert change(job, name="HOME").name == "HOME"


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"name": " "}, "name"),
        ({"priority": "urgent"}, "priority"),
        ({"max_attempts": 0}, "max_attempts"),
        ({"hooks": [("sometimes", "x")]}, "hooks.0.moment"),
        ({"sources": []}, "sources"),
        ({"sources": [SourceInput(b"relative")]}, "sources.0.path"),
        ({"repository_id": new_id()}, "repository_id"),
        ({"depends_on": [new_id()]}, "depends_on.0"),
        ({"schedule": {"type": "daily"}}, "schedules.0.time"),
        ({"schedules": [DAILY | {"id": "x"}]}, "schedules.0.id"),
        ({"schedules": [DAILY | {"id": str(new_id())}]}, "schedules.0.id"),
        ({"rpo_seconds": 3600}, "rpo_seconds"),
    ],
)
def test_what_is_wrong_is_named_and_nothing_is_saved(fields: dict[str, Any], field: str) -> None:
    """7.14: no partial save, also of the fields that were right."""
    job = make_job(schedule=DAILY)
    with pytest.raises(ValidationFailedError) as caught:
        change(job, strict=True, **fields)
    assert list(caught.value.details) == [field]
    job.refresh_from_db()
    assert (job.strict, job.revision_number, job.revisions.count()) == (False, 1, 1)
    assert not Run.objects.exists()


def test_a_cycle_is_refused() -> None:
    """C4."""
    first, second = make_job(name="first"), make_job(name="second")
    change(second, depends_on=[first.id])
    with pytest.raises(DependencyCycleError, match="first → second → first"):
        change(first, depends_on=[second.id])


def test_schedules_are_paired_by_meaning_and_by_id() -> None:
    """5.9: what means the same is left alone; an id keeps the history; the rest ends or begins."""
    job = make_job()
    same, by_id, gone = (make_schedule(job, {**THREE, "time": f"0{hour}:00"}, next_at=NOW + DAY) for hour in (4, 5, 6))
    hourly = {"type": "interval", "every_seconds": 3600}
    changed = change(
        job, schedules=[hourly, same.definition, {**by_id.definition, "time": "07:00", "id": str(by_id.id)}]
    )
    assert (changed.revision_number, set(trail()["after"])) == (2, {"schedules"})
    for schedule in (same, by_id, gone):
        schedule.refresh_from_db()
    assert (same.next_at, same.fingerprint, same.events.count()) == (NOW + DAY, "f", 0)
    assert (by_id.next_at, by_id.definition["time"]) == (NOW + 5 * HOUR, "07:00")
    assert by_id.events.get().parameters == {"before": {**THREE, "time": "05:00"}, "after": {**THREE, "time": "07:00"}}
    assert (gone.deleted_at, gone.next_at, gone.events.get().code) == (NOW, None, "deleted")
    new = Schedule.objects.get(kind="interval")
    assert (new.next_at, new.anchor, new.events.get().code) == (NOW + HOUR, NOW, "created")


def test_one_schedule_of_several_is_not_guessed() -> None:
    """execution.md, section 6."""
    job = make_job(schedule=DAILY)
    make_schedule(job, THREE)
    with pytest.raises(ScheduleAmbiguousError):
        change(job, schedule=THREE)


def test_a_first_schedule_and_none_at_all() -> None:
    job = make_job()
    change(job, schedule=THREE)
    assert Schedule.objects.get().next_at == NOW + HOUR
    change(job, schedules=[])
    assert not Schedule.objects.filter(deleted_at__isnull=True).exists()


def test_another_policy_for_missed_runs_moves_no_instant() -> None:
    """A13."""
    job = make_job(schedule=DAILY)
    change(job, schedule=DAILY | {"missed": "once_within", "missed_within_seconds": 60})
    schedule = Schedule.objects.get()
    assert (schedule.missed, schedule.missed_within_seconds, schedule.next_at) == ("once_within", 60, NOW)
    assert (schedule.events.get().code, Job.objects.get().revision_number) == ("changed", 2)


def test_an_interval_of_another_length_begins_its_grid_anew() -> None:
    """execution.md, section 4; the same length keeps its own."""
    job = make_job(schedule={"type": "interval", "every_seconds": 3600})
    anchor = Schedule.objects.get().anchor
    Schedule.objects.update(next_at=NOW + 10 * SECOND)
    change(job, schedule={"type": "interval", "every_seconds": 3600})
    assert (Schedule.objects.get().anchor, Schedule.objects.get().next_at) == (anchor, NOW + 10 * SECOND)
    change(job, schedule={"type": "interval", "every_seconds": 7200})
    assert (Schedule.objects.get().anchor, Schedule.objects.get().next_at) == (NOW, NOW + 2 * HOUR)


def test_a_flagged_schedule_is_mended_by_saying_it_again() -> None:
    """5.6: what passed meanwhile has its row, also where nobody can read the old plan."""
    job = make_job(schedule=DAILY)
    Schedule.objects.update(definition={"type": "daily", "time": "02:00", "time_zone": "Mars/Base"})
    assert claim_due(now=NOW).flagged == 1
    change(job, NOW + DAY + HOUR, schedule=DAILY)
    schedule, decision = Schedule.objects.get(), ScheduleDecision.objects.get()
    assert (schedule.state, schedule.state_code, schedule.next_at) == ("active", "", NOW + 2 * DAY)
    assert (decision.first_at, decision.reason_code, decision.count_is_minimum) == (NOW, "unplannable", True)
    # Which instants it had is not to be known: the range covers all of the time.
    assert decision.last_at == NOW + DAY + HOUR
    assert decision_sentence(decision) == "at least 1 planned run not run: the schedule could not be planned."


def test_a_flagged_schedule_that_ends_with_its_job_has_its_row() -> None:
    """H7."""
    job = make_job(schedule=DAILY)
    Schedule.objects.update(state="flagged", state_code="no_free_instant")
    job_delete(job_id=job.id, actor="alice", now=NOW + DAY)
    decision = ScheduleDecision.objects.get()
    assert (decision.reason_code, decision.count, decision.last_at) == ("no_free_instant", 2, NOW + DAY)


def test_an_objective_is_judged_when_it_is_touched_and_only_then() -> None:
    """B10: a window may have broken it since; a rename is no occasion to refuse that."""
    job = make_job(schedule=DAILY, rpo_seconds=90_000)
    blackout = {"type": "blackout", "days": ["mon"], "start": "00:00", "length_seconds": 86400}
    saved = window_create(WindowInput("mondays", blackout), actor="alice", now=NOW)
    assert saved.broken == [job.name]
    assert change(job, name="renamed").name == "renamed"
    for fields in ({"rpo_seconds": 80_000}, {"schedule": THREE}, {"repository_id": make_repository().id}):
        with pytest.raises(ValidationFailedError, match="recovery point objective"):
            change(job, **fields)
    change(job, rpo_seconds=None, schedule=THREE)


def test_a_waiting_run_goes_with_its_job() -> None:
    """What it is to back up is pinned at its admission; where to and how urgent have to fit that."""
    job = make_job()
    run = make_run(job, held_code="frozen", held_since=NOW)
    other = make_repository(worker_group="archive")
    changed = change(job, repository_id=other.id, priority="high")
    run.refresh_from_db()
    assert (run.repository_id, run.runner.name, run.priority, run.held_code) == (other.id, "archive", "high", "")
    source = changed.job_sources.get().source
    assert (changed.runner.name, source.runner) == ("archive", make_runner("archive"))


def test_a_postponed_run_takes_the_windows_of_where_it_goes() -> None:
    """B7."""
    job, other = make_job(), make_repository()
    edges = {"starts_at": "2026-11-30T00:00:00Z", "ends_at": "2026-11-30T06:00:00Z"}
    window_create(WindowInput("old", {"type": "blackout", **edges}, job.repository_id), actor="alice", now=NOW)
    make_schedule(job)
    claim_due(now=NOW)
    assert Run.objects.get().not_before == NOW + 4 * HOUR
    change(job, repository_id=other.id)
    assert (Run.objects.get().not_before, Run.objects.get().held_code) == (NOW, "")


@pytest.mark.parametrize("fields", [{"state": "running"}, {"admitted": True}], ids=["running", "admitted"])
def test_a_job_does_not_move_while_a_run_is_on(fields: dict[str, Any]) -> None:
    """Its retry would look for the old sources in the new place."""
    job = make_job(name="home")
    run = make_run(job, **fields)
    with pytest.raises(JobActiveError, match="cannot move") as caught:
        change(job, repository_id=make_repository().id)
    assert caught.value.details["run_id"] == str(run.id)
    assert change(job, name="house", repository_id=job.repository_id).name == "house"


def test_a_running_run_keeps_the_revision_it_ran_with() -> None:
    """H1."""
    job = make_job()
    run = make_run(job, "running")
    change(job, sources=[SourceInput(b"/srv/new")])
    run.refresh_from_db()
    assert run.revision is not None
    assert run.revision.number == 1


def test_a_paused_job_is_changed_and_stays_paused() -> None:
    """E3: what was due meanwhile is the pause's."""
    job = make_job(schedule=DAILY)
    job_pause(job_id=job.id, actor="alice", now=NOW - HOUR)
    changed = change(job, NOW + HOUR, schedule={**DAILY, "time": "04:00"})
    assert changed.paused_at == NOW - HOUR
    decision = ScheduleDecision.objects.get()
    assert (decision.reason_code, decision.count, Schedule.objects.get().next_at) == ("job_paused", 1, NOW + 2 * HOUR)


def test_a_run_by_hand_and_what_is_due_are_one_run() -> None:
    """The claim before a change finds the job active: the instant says so."""
    job = make_job(schedule=DAILY)
    run = run_request(job_id=job.id, actor="bob", now=NOW - SECOND)
    change(job, schedule=THREE)
    decision = ScheduleDecision.objects.get()
    assert (decision.outcome, decision.run_id, Run.objects.count()) == ("coalesced", run.id, 1)

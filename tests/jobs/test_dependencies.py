"""What a run waits for in other jobs: the rule, then on rows through admission (C4)."""

import datetime as dt
import uuid
from typing import Any

import pytest

from jobs import transitions
from jobs.admission import admit_waiting
from jobs.dependencies import Predecessor, path_to, unmet
from jobs.executors import Failure
from jobs.gates import Held
from jobs.models import Job, JobDependency, Run, Schedule
from jobs.retries import RetryPolicy
from jobs.sentences import held_sentence
from jobs.services import job_pause, run_request
from jobs.states import FailureClass, HeldCode, RunKind, RunState
from jobs.successors import EndedRun, successor
from jobs.verdict import Verdict
from tests.jobs.builders import NOW, make_job, make_run, make_schedule, make_worker
from tests.jobs.moves import again, codes, fence_of

SECOND = dt.timedelta(seconds=1)
LATER = NOW + dt.timedelta(minutes=5)
# Of a worker that no pass of a test finds silent.
ALWAYS = dt.datetime(2100, 1, 1, tzinfo=dt.UTC)
SUCCEEDED = Predecessor("database", paused=False, last_state="succeeded")


@pytest.mark.parametrize(
    ("predecessor", "code"),
    [
        (SUCCEEDED, None),
        (Predecessor("database", paused=False, last_state="partial_failure"), HeldCode.DEPENDENCY_FAILED),
        (Predecessor("database", paused=False, last_state="failed"), HeldCode.DEPENDENCY_FAILED),
        (Predecessor("database", paused=False, last_state="cancelled"), HeldCode.DEPENDENCY_FAILED),
        (Predecessor("database", paused=False, last_state=""), HeldCode.DEPENDENCY_NEVER_RAN),
        (Predecessor("database", paused=True, last_state="succeeded"), HeldCode.DEPENDENCY_PAUSED),
        (Predecessor("database", paused=True, last_state=""), HeldCode.DEPENDENCY_PAUSED),
        # Planned at or before this run's instant: it is still to come, whatever the one before did.
        (Predecessor("database", paused=False, last_state="succeeded", active_for=NOW), HeldCode.DEPENDENCY),
        (Predecessor("database", paused=True, last_state="succeeded", active_for=NOW), HeldCode.DEPENDENCY),
        (Predecessor("database", paused=False, last_state="succeeded", active_for=NOW + SECOND), None),
        (Predecessor("database", paused=False, last_state="succeeded", due_at=NOW), HeldCode.DEPENDENCY),
        (Predecessor("database", paused=False, last_state="succeeded", due_at=NOW + SECOND), None),
        (Predecessor("database", paused=True, last_state="succeeded", due_at=NOW), HeldCode.DEPENDENCY_PAUSED),
    ],
)
def test_each_state_of_a_predecessor(predecessor: Predecessor, code: HeldCode | None) -> None:
    """C4, execution.md section 2."""
    assert unmet([predecessor], NOW) == (Held(code, "database") if code else None)


def test_the_first_unmet_of_several_is_told() -> None:
    failed = Predecessor("files", paused=False, last_state="failed")
    assert unmet([SUCCEEDED, failed], NOW) == Held(HeldCode.DEPENDENCY_FAILED, "files")
    assert unmet([], NOW) is None


def test_a_way_through_the_graph_is_found_and_ends_in_rings() -> None:
    one, two, three, four = (uuid.UUID(int=n) for n in range(4))
    edges = {one: [two, three], two: [one], three: [four]}
    assert path_to(four, one, edges) == [one, three, four]
    assert path_to(one, one, edges) == [one]
    assert path_to(four, two, {one: [two], two: [one]}) == []


def pair(last_state: str = "succeeded") -> tuple[Job, Job]:
    """Return a predecessor that ended so, and a job that waits for it."""
    ended: dict[str, Any] = {"last_state": last_state, "last_finished_at": NOW, "last_run_id": uuid.uuid4()}
    ended = ended if last_state else {}
    predecessor, job = make_job(name="database", **ended), make_job()
    JobDependency.objects.create(job=job, predecessor=predecessor, created_at=NOW)
    return predecessor, job


def reason(run: Run) -> tuple[str, str]:
    return again(run).held_code, run.held_subject


@pytest.mark.django_db
def test_a_run_waits_until_its_predecessor_has_succeeded() -> None:
    """C4: a partial failure is not enough, and nothing but a success lets it go."""
    make_worker(slots=8, last_seen=ALWAYS)
    predecessor, job = pair()
    first, run = make_run(predecessor), make_run(job)
    admit_waiting(now=NOW)
    assert reason(run) == ("dependency", "database")
    assert held_sentence(run) == "Waits for the job database: its run has not ended."
    assert transitions.start(first.id, fence_of(again(first)), "alpha:1", now=NOW)
    partial = Verdict(RunState.PARTIAL_FAILURE, "objects_skipped")
    assert transitions.finish(first.id, fence_of(first), partial, now=NOW)
    admit_waiting(now=LATER)
    assert reason(run) == ("dependency_failed", "database")
    assert held_sentence(run) == "Waits for the job database, whose last run ended as partial failure."
    second = make_run(predecessor, "running", scheduled_for=LATER, not_before=LATER)
    assert transitions.finish(second.id, fence_of(second), Verdict(RunState.SUCCEEDED, "completed"), now=LATER)
    admit_waiting(now=LATER)
    assert again(run).admitted_at == LATER


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("last_state", "code", "sentence"),
    [
        ("", "dependency_never_ran", "Waits for the job database, which has never run."),
        ("failed", "dependency_failed", "Waits for the job database, whose last run ended as failed."),
        ("succeeded", "", ""),
    ],
)
def test_how_the_predecessor_ended(last_state: str, code: str, sentence: str) -> None:
    make_worker(last_seen=ALWAYS)
    run = make_run(pair(last_state)[1])
    admit_waiting(now=NOW)
    assert (again(run).held_code, held_sentence(run)) == (code, sentence)


@pytest.mark.django_db
def test_a_paused_predecessor_holds_with_a_reason_of_its_own() -> None:
    make_worker(last_seen=ALWAYS)
    predecessor, job = pair()
    job_pause(job_id=predecessor.id, actor="alice", now=NOW)
    run = make_run(job)
    admit_waiting(now=NOW)
    assert (reason(run)[0], held_sentence(run)) == (
        "dependency_paused",
        "Waits for the job database, which is paused.",
    )


@pytest.mark.django_db
def test_a_predecessors_run_of_the_same_night_goes_first_though_it_is_not_claimed_yet() -> None:
    """Another process may be claiming it at this moment; its last success is of the night before."""
    make_worker(last_seen=ALWAYS)
    predecessor, job = pair()
    schedule = make_schedule(predecessor, next_at=NOW)
    run = make_run(job)
    admit_waiting(now=NOW)
    assert reason(run) == ("dependency", "database")
    Schedule.objects.filter(id=schedule.id).update(next_at=NOW + SECOND)
    admit_waiting(now=NOW)
    assert again(run).admitted_at == NOW


@pytest.mark.django_db
def test_a_later_run_of_the_predecessor_holds_nothing() -> None:
    make_worker(last_seen=ALWAYS)
    predecessor, job = pair()
    make_run(predecessor, scheduled_for=LATER, not_before=LATER)
    run = make_run(job)
    admit_waiting(now=NOW)
    assert again(run).admitted_at == NOW


@pytest.mark.django_db
def test_a_dependency_gates_and_never_triggers() -> None:
    predecessor, _ = pair("")
    run = make_run(predecessor, "running")
    assert transitions.finish(run.id, fence_of(run), Verdict(RunState.SUCCEEDED, "completed"), now=NOW)
    assert not Run.objects.filter(state="queued").exists()


@pytest.mark.django_db
def test_whoever_asks_by_hand_may_ignore_them_and_so_does_what_follows() -> None:
    """execution.md, section 2; the trail and the run tell it."""
    make_worker(last_seen=ALWAYS)
    job = pair("failed")[1]
    run = run_request(job_id=job.id, actor="alice", now=NOW, ignore_dependencies=True)
    assert run.events.get().parameters == {"trigger": "manual", "ignore_dependencies": True}
    admit_waiting(now=NOW)
    assert again(run).admitted_at == NOW
    assert codes(run) == ["queued", "admitted"]


def test_a_retry_inherits_that_dependencies_are_ignored() -> None:
    ended = EndedRun(
        id=uuid.UUID(int=1),
        root_run_id=None,
        attempt=1,
        requeues=0,
        kind=RunKind.BACKUP,
        repository_id=uuid.UUID(int=2),
        runner_id=uuid.UUID(int=3),
        job_id=uuid.UUID(int=4),
        schedule_id=None,
        scheduled_for=NOW,
        priority="normal",
        requested_by="alice",
        parameters={},
        ignore_dependencies=True,
    )
    failed = Verdict(RunState.FAILED, "x", failure=Failure("NO_ROUTE", "x", FailureClass.NETWORK))
    following = successor(ended, failed, RetryPolicy(), now=NOW, jitter=0.0)
    assert following is not None
    assert following.ignore_dependencies

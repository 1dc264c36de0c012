"""Which run follows one that ended (A12, A16)."""

import datetime as dt
import uuid
from dataclasses import replace

import pytest

from jobs.executors import Failure
from jobs.retries import RetryPolicy
from jobs.states import CancelOrigin, FailureClass, RunKind, RunState, Trigger
from jobs.successors import EndedRun, NewRun, successor
from jobs.verdict import Verdict

NOW = dt.datetime(2026, 11, 30, 3, tzinfo=dt.UTC)
PLANNED = dt.datetime(2026, 11, 30, 2, tzinfo=dt.UTC)
ENDED = EndedRun(
    id=uuid.UUID(int=1),
    root_run_id=None,
    attempt=1,
    requeues=0,
    kind=RunKind.BACKUP,
    repository_id=uuid.UUID(int=2),
    runner_id=uuid.UUID(int=3),
    job_id=uuid.UUID(int=4),
    schedule_id=uuid.UUID(int=5),
    scheduled_for=PLANNED,
    priority="high",
    requested_by="schedule",
    parameters={},
)
FAILED = Verdict(RunState.FAILED, "x", failure=Failure("X", "x", FailureClass.NETWORK))
SHUT_DOWN = Verdict(RunState.CANCELLED, "x", cancel_origin=CancelOrigin.SHUTDOWN)


def after(run: EndedRun, verdict: Verdict) -> NewRun | None:
    return successor(run, verdict, RetryPolicy(), now=NOW, jitter=0.0)


def test_a_failure_is_retried_after_its_back_off_as_a_new_run() -> None:
    """A12."""
    new = after(ENDED, FAILED)
    assert new is not None
    assert (new.trigger, new.attempt, new.requeues) == (Trigger.RETRY, 2, 0)
    assert (new.scheduled_for, new.not_before) == (PLANNED, NOW + dt.timedelta(seconds=30))
    assert (new.origin_run_id, new.root_run_id) == (ENDED.id, ENDED.id)
    assert (new.job_id, new.priority, new.repository_id) == (ENDED.job_id, "high", ENDED.repository_id)


@pytest.mark.parametrize("verdict", [FAILED, SHUT_DOWN])
@pytest.mark.parametrize("accepted", [False, True])
def test_what_was_confirmed_stays_so(verdict: Verdict, accepted: bool) -> None:
    """2.6: retries and requeues are of the run that somebody confirmed."""
    new = after(replace(ENDED, accept_new_root=accepted), verdict)
    assert new is not None
    assert new.accept_new_root is accepted


def test_a_chain_keeps_its_root() -> None:
    second = replace(ENDED, id=uuid.UUID(int=9), root_run_id=ENDED.id, attempt=2)
    new = after(second, FAILED)
    assert new is not None
    assert (new.origin_run_id, new.root_run_id, new.attempt) == (second.id, ENDED.id, 3)


def test_the_last_attempt_ends_the_chain() -> None:
    assert after(replace(ENDED, attempt=3), FAILED) is None


@pytest.mark.parametrize(
    "verdict",
    [
        Verdict(RunState.SUCCEEDED, "completed"),
        Verdict(RunState.PARTIAL_FAILURE, "objects_skipped"),
        Verdict(RunState.FAILED, "x", failure=Failure("X", "x", FailureClass.INTEGRITY)),
        Verdict(RunState.CANCELLED, "x", cancel_origin=CancelOrigin.USER),
        Verdict(RunState.CANCELLED, "x", cancel_origin=CancelOrigin.JOB_DELETED),
        Verdict(RunState.CANCELLED, "x", cancel_origin=CancelOrigin.JOB_PAUSED),
    ],
)
def test_what_is_not_repeated(verdict: Verdict) -> None:
    """A12: a partial failure is not retried; a person's cancel is final."""
    assert after(ENDED, verdict) is None


def test_a_shutdown_queues_the_same_attempt_again() -> None:
    """A16: the worker's shutdown is no fault of the run."""
    new = after(replace(ENDED, attempt=2), SHUT_DOWN)
    assert new is not None
    assert (new.trigger, new.attempt, new.requeues, new.not_before) == (Trigger.REQUEUE, 2, 1, NOW)


def test_three_requeues_in_a_row_are_the_most() -> None:
    assert after(replace(ENDED, requeues=2), SHUT_DOWN) is not None
    assert after(replace(ENDED, requeues=3), SHUT_DOWN) is None


def test_a_retry_between_makes_the_row_of_requeues_new() -> None:
    new = after(replace(ENDED, requeues=3), FAILED)
    assert new is not None
    assert new.requeues == 0

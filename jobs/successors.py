"""Which run follows one that ended: a retry, a requeue after a shutdown, or none (A12, A16; execution.md, section 3).

Pure: the jitter and the time are passed in. Must not write: jobs.transitions queues it in the closing transaction.
"""

import datetime as dt
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from jobs.models.run_constraints import MAX_REQUEUES
from jobs.retries import RetryPolicy, delay_after, next_attempt
from jobs.states import CancelOrigin, RunKind, RunState, Trigger
from jobs.verdict import Verdict


@dataclass(frozen=True, slots=True)
class NewRun:
    """A run to be queued; `scheduled_for` is the planned instant, `not_before` the first moment it may start."""

    kind: RunKind
    repository_id: uuid.UUID
    runner_id: uuid.UUID
    trigger: Trigger
    requested_by: str
    scheduled_for: dt.datetime
    not_before: dt.datetime
    priority: str
    job_id: uuid.UUID | None = None
    schedule_id: uuid.UUID | None = None
    upkeep_id: uuid.UUID | None = None
    root_run_id: uuid.UUID | None = None
    origin_run_id: uuid.UUID | None = None
    attempt: int = 1
    requeues: int = 0
    parameters: Mapping[str, Any] = field(default_factory=dict)
    accept_new_root: bool = False
    ignore_windows: bool = False
    ignore_dependencies: bool = False
    # Why it waits from its first moment on: a window that is shut; told before a pass has looked at it.
    held_code: str = ""
    held_subject: str = ""

    def told(self) -> dict[str, Any]:
        """Return what its first event says."""
        asked = {name: getattr(self, name) for name in ("accept_new_root", "ignore_windows", "ignore_dependencies")}
        return {"trigger": self.trigger} | {name: True for name, wanted in asked.items() if wanted}


@dataclass(frozen=True, slots=True)
class EndedRun:
    """What the rule needs to know of a run that ends; `root_run_id` is None for the first of its chain."""

    id: uuid.UUID
    root_run_id: uuid.UUID | None
    attempt: int
    requeues: int
    kind: RunKind
    repository_id: uuid.UUID
    runner_id: uuid.UUID
    job_id: uuid.UUID | None
    schedule_id: uuid.UUID | None
    scheduled_for: dt.datetime
    priority: str
    requested_by: str
    parameters: Mapping[str, Any]
    accept_new_root: bool = False
    ignore_windows: bool = False
    ignore_dependencies: bool = False


def successor(
    run: EndedRun, verdict: Verdict, policy: RetryPolicy, *, now: dt.datetime, jitter: float
) -> NewRun | None:
    """Return the run to queue after `run` ended with `verdict`, or None.

    A requeue keeps the attempt: the worker's shutdown is no fault of the run. Three in a row end the chain.
    """
    if verdict.state is RunState.CANCELLED and verdict.cancel_origin is CancelOrigin.SHUTDOWN:
        if run.requeues >= MAX_REQUEUES:
            return None
        return _following(run, Trigger.REQUEUE, now, attempt=run.attempt, requeues=run.requeues + 1)
    if verdict.state is not RunState.FAILED or verdict.failure is None:
        return None
    attempt = next_attempt(run.attempt, verdict.failure.failure_class, policy)
    if attempt is None:
        return None
    wait = dt.timedelta(seconds=delay_after(run.attempt, policy, jitter))
    return _following(run, Trigger.RETRY, now + wait, attempt=attempt, requeues=0)


def _following(run: EndedRun, trigger: Trigger, not_before: dt.datetime, *, attempt: int, requeues: int) -> NewRun:
    return NewRun(
        kind=run.kind,
        repository_id=run.repository_id,
        runner_id=run.runner_id,
        trigger=trigger,
        requested_by=run.requested_by,
        scheduled_for=run.scheduled_for,
        not_before=max(not_before, run.scheduled_for),
        priority=run.priority,
        job_id=run.job_id,
        schedule_id=run.schedule_id,
        root_run_id=run.root_run_id or run.id,
        origin_run_id=run.id,
        attempt=attempt,
        requeues=requeues,
        parameters=run.parameters,
        accept_new_root=run.accept_new_root,
        ignore_windows=run.ignore_windows,
        ignore_dependencies=run.ignore_dependencies,
    )

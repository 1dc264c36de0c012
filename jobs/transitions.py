"""The one writer of `Run.state`: each move is a guarded UPDATE and its event row in one transaction.

Owns every move of jobs.states.MOVES. False or None means that someone else won: the caller does nothing more.
Locks in the order job, repository, run, as all of this app does. Policy (verdict, retries, gates) is decided
elsewhere and handed in.
"""

import datetime as dt
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, Final

from django.db import transaction
from django.db.models import BigIntegerField, Case, QuerySet, Value, When
from django.db.models.functions import Cast, Greatest

from jobs import breakers, endings, task_runs
from jobs.bulk_rows import insert_all
from jobs.doorbell import request_pass
from jobs.executors import Failure, Progress
from jobs.frozen import unless_frozen
from jobs.gates import Held
from jobs.models import Job, Run, RunEvent
from jobs.states import CancelOrigin, HeldCode, RunState
from jobs.successors import NewRun
from jobs.verdict import Verdict
from repositories.identifiers import new_id
from repositories.models import Repository

NOT_TAKEN: Final = Held(HeldCode.NOT_TAKEN)
_NOT_HELD: Final[Mapping[str, Any]] = {"held_code": "", "held_subject": "", "held_since": None}
_NEW_RUN: Final = tuple(each.name for each in fields(NewRun))


def enqueue(new: NewRun, *, now: dt.datetime) -> Run | None:
    """Insert a waiting run with its event; None when a constraint on active runs or planned instants refuses it."""
    run_id = enqueue_all([new], now=now)[0]
    return None if run_id is None else Run.objects.get(id=run_id)


def enqueue_all(new_runs: Sequence[NewRun], *, now: dt.datetime) -> list[uuid.UUID | None]:
    """Insert waiting runs in two statements, whatever their number, and return their ids; None: it was refused.

    Asks for no pass: a claim queues hundreds and is followed by admission anyway.
    """
    if not new_runs:
        return []
    ids = [new_id(now) for _ in new_runs]
    columns: dict[str, Sequence[Any]] = {name: [getattr(new, name) for new in new_runs] for name in _NEW_RUN}
    columns |= {"id": ids, "held_since": [now if new.held_code else None for new in new_runs]}
    waiting = {"state": RunState.QUEUED, "created_at": now}
    with transaction.atomic():
        inserted = insert_all(Run, columns, waiting, skip_refused=True)
        queued = [(run_id, new) for run_id, new in zip(ids, new_runs, strict=True) if run_id in inserted]
        if queued:
            told: dict[str, Sequence[Any]] = {
                "run_id": [run_id for run_id, _ in queued],
                "actor": [new.requested_by for _, new in queued],
                "parameters": [new.told() for _, new in queued],
            }
            insert_all(RunEvent, told, {"at": now, "code": "queued", "to_state": RunState.QUEUED})
    return [run_id if run_id in inserted else None for run_id in ids]


@dataclass(frozen=True, slots=True)
class Admission:
    """Which waiting run is admitted under which new fence; a backup has the revision that is pinned to it."""

    run_id: uuid.UUID
    fence: int
    revision_id: int | None = None


def admit(run_id: uuid.UUID, fence: int, revision_id: int | None, *, now: dt.datetime) -> bool:
    """Do what `admit_all` does for one run; False if it moved, or its medium froze."""
    return bool(admit_all([Admission(run_id, fence, revision_id)], now=now))


def admit_all(admissions: Sequence[Admission], *, now: dt.datetime) -> set[uuid.UUID]:
    """Waiting → admitted under new fences, revisions pinned; returns the runs that neither moved nor were frozen."""
    waiting = Run.objects.filter(
        unless_frozen(),
        id__in=[one.run_id for one in admissions],
        state=RunState.QUEUED,
        admitted_at__isnull=True,
        cancel_requested_at__isnull=True,
    )
    fences = Case(*(When(id=one.run_id, then=one.fence) for one in admissions))
    pinned = Case(*(When(id=one.run_id, then=Value(one.revision_id)) for one in admissions))
    revisions = Cast(pinned, BigIntegerField())
    with transaction.atomic():
        if not waiting.update(admitted_at=now, fence=fences, revision_id=revisions, rings=0, **_NOT_HELD):
            return set()
        taken = set(Run.objects.filter(fence__in=[one.fence for one in admissions]).values_list("id", flat=True))
        told = [one for one in admissions if one.run_id in taken]
        which: dict[str, Sequence[Any]] = {"run_id": [one.run_id for one in told], "fence": [one.fence for one in told]}
        insert_all(RunEvent, which, {"at": now, "code": "admitted", "to_state": RunState.QUEUED})
    return taken


def withdraw(run_id: uuid.UUID, fence: int, held: Held = NOT_TAKEN, *, now: dt.datetime) -> bool:
    """Admitted → waiting: it cannot or did not start, so its slot and its place in the limits are free again."""
    admitted = Run.objects.filter(id=run_id, fence=fence, state=RunState.QUEUED, admitted_at__isnull=False)
    with transaction.atomic():
        told = {"held_code": held.code, "held_subject": held.subject, "held_since": now}
        if not admitted.update(admitted_at=None, **told):
            return False
        task_runs.forget_pending(run_id)
        _event(run_id, "withdrawn", now, fence=fence, to=RunState.QUEUED, parameters={"held": held.code})
    return True


def start(run_id: uuid.UUID, fence: int, worker: str, *, mark: str = "", now: dt.datetime) -> bool:
    """Admitted → running; False if the fence is old, a cancel was asked for, or the repository is frozen.

    `mark` proves later that the worker's process is gone.
    The repository's row is locked first, as freezing does: after a freeze has answered, nothing starts.
    """
    admitted = Run.objects.filter(
        unless_frozen(),
        id=run_id,
        fence=fence,
        state=RunState.QUEUED,
        admitted_at__isnull=False,
        cancel_requested_at__isnull=True,
    )
    with transaction.atomic():
        repository = Run.objects.filter(id=run_id).values("repository_id")
        Repository.objects.select_for_update(no_key=True).filter(id__in=repository).first()
        began = {"started_at": now, "heartbeat_at": now, "worker": worker, "worker_mark": mark}
        if not admitted.update(state=RunState.RUNNING, **began, **_NOT_HELD):
            return False
        _event(run_id, "started", now, fence=fence, origin=RunState.QUEUED, to=RunState.RUNNING, actor=worker)
    return True


def heartbeat(run_id: uuid.UUID, fence: int, progress: Progress | None, *, now: dt.datetime) -> bool:
    """Give a running run's sign of life, with its progress; False: the lease is lost, write nothing more.

    `progress_at` is when it last moved: the same told again is a sign of life and no progress.
    """
    values: dict[str, Any] = {"heartbeat_at": now}
    if progress is not None:
        told = asdict(progress)
        moved = Case(When(progress=told, then="progress_at"), default=Value(now))
        values |= {"progress": told, "progress_at": moved}
    return bool(_running(run_id, fence).update(**values))


def confirm(run_id: uuid.UUID, fence: int, *, now: dt.datetime) -> bool:
    """Say directly before a manifest is put that the fence still holds; False: commit nothing."""
    return bool(_running(run_id, fence).update(heartbeat_at=now))


def stalled(run_id: uuid.UUID, fence: int, seconds: int, *, now: dt.datetime) -> bool:
    """Write that a running run has made no progress for `seconds`; it goes on."""
    with transaction.atomic():
        if not _running(run_id, fence).update(heartbeat_at=now):
            return False
        _event(run_id, "stalled", now, fence=fence, to=RunState.RUNNING, parameters={"seconds": seconds})
    return True


def froze(run_id: uuid.UUID, repository_id: uuid.UUID, reason: str, *, now: dt.datetime) -> None:
    """Write that what a running run found has frozen a repository (G5), its own or one that it reads."""
    with transaction.atomic():
        run = Run.objects.filter(id=run_id, state=RunState.RUNNING).first()
        if run is not None:
            told = {"repository": str(repository_id), "reason": reason}
            _event(run_id, "repository_frozen", now, fence=run.fence, to=RunState.RUNNING, parameters=told)


def finish(run_id: uuid.UUID, fence: int, verdict: Verdict, *, now: dt.datetime) -> bool:
    """Running → its end, with the retry or requeue that follows, in one transaction; False: the lease is lost."""
    with transaction.atomic():
        job = lock_job(run_id)
        run = _running(run_id, fence).select_for_update(no_key=True).first()
        return run is not None and _close(run, job, verdict, now=now, actor="")


def expire(run_id: uuid.UUID, failure: Failure, *, not_before: dt.datetime, now: dt.datetime) -> bool:
    """Waiting or admitted → failed, since its start deadline has passed; False if it started, ended or was moved."""
    with transaction.atomic():
        job = lock_job(run_id)
        queued = Run.objects.filter(id=run_id, state=RunState.QUEUED, not_before=not_before)
        run = queued.select_for_update(no_key=True).first()
        verdict = Verdict(RunState.FAILED, "start_deadline", failure=failure)
        return run is not None and _close(run, job, verdict, now=now, actor="scheduler")


def outcome_lost(run_id: uuid.UUID, failure: Failure, *, now: dt.datetime) -> bool:
    """Active → failed: it had not ended in the dump that the database was restored from, and has gone on elsewhere."""
    with transaction.atomic():
        job = lock_job(run_id)
        run = Run.objects.select_for_update(no_key=True).filter(id=run_id, finished_at__isnull=True).first()
        verdict = Verdict(RunState.FAILED, "outcome_lost", failure=failure)
        return run is not None and _close(run, job, verdict, now=now, actor="reindex")


def orphan(run_id: uuid.UUID, fence: int, silent_since: dt.datetime, *, now: dt.datetime) -> bool:
    """Running → failed (transient), or cancelled if that was asked for, when no sign of life came since then (A15)."""
    with transaction.atomic():
        job = lock_job(run_id)
        silent = _running(run_id, fence).filter(heartbeat_at__lt=silent_since)
        run = silent.select_for_update(no_key=True).first()
        if run is None:
            return False
        return _close(run, job, endings.lost(run, "gave no sign of life since"), now=now, actor="reaper")


def worker_died(run_id: uuid.UUID, fence: int, mark: str, *, now: dt.datetime) -> bool:
    """Running → failed (transient), or cancelled if that was asked for: the marked process is known to be gone (A15).

    The caller has the proof; a run that another process has taken since then stays as it is.
    """
    with transaction.atomic():
        job = lock_job(run_id)
        run = _running(run_id, fence).filter(worker_mark=mark).select_for_update(no_key=True).first()
        if run is None:
            return False
        return _close(run, job, endings.lost(run, "is gone, last heard of at"), now=now, actor="reaper")


def request_cancel(run_id: uuid.UUID, origin: CancelOrigin, actor: str, *, now: dt.datetime) -> RunState | None:
    """Cancel a queued run at once, ask a running one to stop; return its state after that, None if it had ended.

    Repeating is harmless; a person's cancel outweighs one by shutdown, so that the run is not queued again.
    """
    with transaction.atomic():
        job = lock_job(run_id)
        run = Run.objects.select_for_update(no_key=True).filter(id=run_id).first()
        if run is None or run.finished_at is not None:
            return None
        if run.state == RunState.QUEUED:
            verdict = Verdict(RunState.CANCELLED, f"cancelled_{origin}", cancel_origin=origin)
            _close(run, job, verdict, now=now, actor=actor)
            return RunState.CANCELLED
        if not run.cancel_origin or run.cancel_origin == CancelOrigin.SHUTDOWN:
            running = Run.objects.filter(id=run_id, state=RunState.RUNNING, fence=run.fence)
            running.update(cancel_requested_at=now, cancel_origin=origin, cancelled_by=actor)
            _event(run_id, "cancel_requested", now, fence=run.fence, to=RunState.RUNNING, actor=actor)
        return RunState.RUNNING


def _running(run_id: uuid.UUID, fence: int) -> QuerySet[Run]:
    return Run.objects.filter(id=run_id, fence=fence, state=RunState.RUNNING)


def lock_job(run_id: uuid.UUID) -> Job | None:
    """Lock the job of a run before the run itself: claims, pauses and admissions lock in this order."""
    job_id = Run.objects.filter(id=run_id).values("job_id")
    return Job.objects.select_for_update(no_key=True).filter(id__in=job_id).first()


def _close(run: Run, job: Job | None, verdict: Verdict, *, now: dt.datetime, actor: str) -> bool:
    """Write the end of a locked run, of its open task runs and on its job, and queue what follows."""
    following = endings.follower(run, job, verdict, now=now)
    verdict = endings.with_follower(verdict, following)
    still = Run.objects.filter(id=run.id, fence=run.fence, state=run.state, admitted_at=run.admitted_at)
    # A host whose time was behind must not make the result unwritable: an end is never before its start.
    ended = Greatest(now, "started_at") if run.started_at else now
    told = endings.columns(run, verdict, actor, now=now)
    if not still.update(state=verdict.state, finished_at=ended, **_NOT_HELD, **told):
        return False
    task_runs.close_open(run.id, verdict, now=now)
    _event(
        run.id,
        verdict.state,
        now,
        fence=run.fence,
        origin=RunState(run.state),
        to=verdict.state,
        actor=actor,
        parameters=verdict.told(),
    )
    change = breakers.note_end(run, verdict, now=now)
    if change is not None:
        _event(run.id, change.code, now, fence=run.fence, parameters=dict(change.told))
    if job is not None:
        endings.note_last(job, run, verdict, now=now)
    if following is not None:
        enqueue(following, now=now)
    request_pass()
    return True


def _event(run_id: uuid.UUID, code: str, now: dt.datetime, **told: Any) -> None:
    RunEvent.objects.create(
        run_id=run_id,
        at=now,
        code=code,
        from_state=told.get("origin", ""),
        to_state=told.get("to", ""),
        fence=told.get("fence"),
        actor=told.get("actor", ""),
        parameters=told.get("parameters", {}),
    )

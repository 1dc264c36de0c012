"""Admission: waiting runs become admitted ones, in order, each only through all gates and onto a free slot (C1-C3).

Owns the one admitter: who does not get the transaction's lock skips. Rows are locked in the order job, schedule,
repository, source, run; held reasons are written only where they change; workers are rung for after commit.
"""

import datetime as dt
import logging
import uuid
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from django.db import connection, transaction

from jobs import task_runs, transitions
from jobs.candidates import Candidate, waiting_candidates
from jobs.doorbell import Ring, ring_after_commit
from jobs.gates import Held, held_by
from jobs.models import Job, JobRevision, Run, Schedule, Source
from jobs.occupancy import Occupancy, count_occupancy
from jobs.poison import POISON
from jobs.revisions import read_revision
from jobs.states import HeldCode, RunState
from jobs.unanswered import note_rung
from jobs.window_rows import plan_by_windows
from repositories.models import Repository

logger = logging.getLogger(__name__)

# Any number that nobody else takes in this database; it only has to stay the same.
ADMITTER_LOCK: Final = 7_365_001
# A run that waited so long for a source keeps it from those behind, or a busy one would never be free for it.
RESERVE_AFTER: Final = dt.timedelta(hours=2)


@dataclass(frozen=True, slots=True)
class Admitted:
    """What an admission did; `skipped` when another one was at it."""

    admitted: int = 0
    held: int = 0
    skipped: bool = False


def admit_waiting(*, now: dt.datetime) -> Admitted:
    """Admit what may start at `now` (database time), all in one transaction."""
    with transaction.atomic():
        if not _become_admitter():
            return Admitted(skipped=True)
        # Whoever changes windows rewrites what waits for them, and would lock the same runs in another order.
        plan_by_windows()
        candidates = waiting_candidates(now)
        if not candidates:
            return Admitted()
        passed, held = choose(candidates, count_occupancy(now=now), now)
        rings, broken = _admit_all(passed, now)
        held += [(candidate, Held(HeldCode.UNSTARTABLE)) for candidate in broken]
        # Last, since it locks runs: whoever locks a job after a run deadlocks with those who do it in order.
        _write_held(held, now)
        ring_after_commit(rings, note_rung)
        return Admitted(len(rings), len(held))


def _become_admitter() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_xact_lock(%s)", [ADMITTER_LOCK])
        row = cursor.fetchone()
    return bool(row[0])


def choose(
    candidates: Sequence[Candidate], occupancy: Occupancy, now: dt.datetime
) -> tuple[list[Candidate], list[tuple[Candidate, Held]]]:
    """Pass through the queue once, in order; a held run never stops those behind it.

    Reads no row; `occupancy` fills up with what passes.
    """
    passed: list[Candidate] = []
    held: list[tuple[Candidate, Held]] = []
    for candidate in candidates:
        reason = held_by(candidate.column, candidate.situation(occupancy))
        if reason is None:
            candidate.occupy(occupancy)
            passed.append(candidate)
            continue
        held.append((candidate, reason))
        if reason.code is HeldCode.SOURCE_LIMIT and now - candidate.waiting_since >= RESERVE_AFTER:
            occupancy.reserved_sources.update(source.id for source in candidate.sources)
    return passed, held


def _write_held(held: Sequence[tuple[Candidate, Held]], now: dt.datetime) -> None:
    """Write the reasons that changed, one statement for each: an unchanged queue costs no UPDATE."""
    changed: dict[Held, list[uuid.UUID]] = defaultdict(list)
    for candidate, reason in held:
        if (candidate.held_code, candidate.held_subject) != (reason.code, reason.subject):
            changed[reason].append(candidate.run_id)
    for reason, run_ids in changed.items():
        waiting = Run.objects.filter(id__in=run_ids, state=RunState.QUEUED, admitted_at__isnull=True)
        waiting.update(held_code=reason.code, held_subject=reason.subject, held_since=now)


def _admit_all(passed: Sequence[Candidate], now: dt.datetime) -> tuple[list[Ring], list[Candidate]]:
    """Admit the chosen runs; return whom to ring for, and those whose rows cannot be used: they stop no other."""
    rings: list[Ring] = []
    broken: list[Candidate] = []
    revisions = _lock_for(passed)
    for candidate, fence in zip(passed, _new_fences(len(passed)), strict=True):
        try:
            with transaction.atomic():
                if _admit(candidate, fence, revisions, now):
                    rings.append(Ring(candidate.run_id, fence, candidate.group))
        except POISON:
            logger.exception("Run %s cannot be admitted", candidate.run_id)
            broken.append(candidate)
    return rings, broken


def _admit(candidate: Candidate, fence: int, revisions: Mapping[uuid.UUID, JobRevision], now: dt.datetime) -> bool:
    if candidate.job_id is None:
        return transitions.admit(candidate.run_id, fence, None, now=now)
    revision = revisions[candidate.job_id]
    if revision.number != candidate.revision_number:
        # Changed since it was judged: other sources, perhaps another repository. The next pass judges it as it is now.
        return False
    if not transitions.admit(candidate.run_id, fence, revision.id, now=now):
        return False
    task_runs.create(candidate.run_id, (source.source_id for source in read_revision(revision).sources), now=now)
    return True


def _lock_for(passed: Sequence[Candidate]) -> Mapping[uuid.UUID, JobRevision]:
    """Lock the rows behind the chosen runs in the one order, and return the revision that each job has now."""
    job_ids = {candidate.job_id for candidate in passed if candidate.job_id}
    jobs = _lock(Job, job_ids)
    _lock(Schedule, {candidate.schedule_id for candidate in passed if candidate.schedule_id})
    _lock(Repository, {candidate.repository_id for candidate in passed})
    _lock(Source, {source.id for candidate in passed for source in candidate.sources})
    _lock(Run, {candidate.run_id for candidate in passed})
    numbers = {job.id: job.revision_number for job in jobs}
    revisions = JobRevision.objects.filter(job_id__in=job_ids, number__in=set(numbers.values()))
    return {row.job_id: row for row in revisions if row.number == numbers[row.job_id]}


def _lock(model: Any, ids: set[uuid.UUID]) -> list[Any]:
    return list(model.objects.select_for_update(no_key=True).filter(id__in=ids).order_by("id")) if ids else []


def _new_fences(count: int) -> list[int]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT nextval('run_fences') FROM generate_series(1, %s)", [count])
        return [row[0] for row in cursor.fetchall()]

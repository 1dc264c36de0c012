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
from jobs.candidates import Candidate, Likeness, candidates_of, waiting_rows
from jobs.doorbell import Ring, ring_after_commit
from jobs.gates import Held, held_by
from jobs.models import Job, JobRevision, JobSource, Run, Schedule, Source
from jobs.occupancy import Occupancy, count_occupancy
from jobs.poison import POISON
from jobs.revisions import read_revision
from jobs.states import HeldCode, RunState
from jobs.transitions import Admission
from jobs.unanswered import note_rung
from jobs.window_rows import plan_by_windows
from repositories.models import Repository

logger = logging.getLogger(__name__)

# Any number that nobody else takes in this database; it only has to stay the same.
ADMITTER_LOCK: Final = 7_365_001
# A text of ids for each reason: thousands of parameters would take longer than the pass.
_HOLD: Final = """\
UPDATE "runs" SET held_code = told.code, held_subject = told.subject, held_since = %s
FROM unnest(%s::text[], %s::text[], %s::text[]) AS told (code, subject, ids), unnest(told.ids::uuid[]) AS waiting (id)
WHERE runs.id = waiting.id AND runs.state IN ('queued') AND runs.admitted_at IS NULL
"""


@dataclass(frozen=True, slots=True)
class Admitted:
    """What an admission did; `skipped` when another one was at it."""

    admitted: int = 0
    held: int = 0
    skipped: bool = False


@dataclass(frozen=True, slots=True)
class _Chosen:
    """A run that may be admitted, with its fence, and what its revision says that it reads."""

    candidate: Candidate
    admission: Admission
    sources: Sequence[uuid.UUID] = ()


def admit_waiting(*, now: dt.datetime) -> Admitted:
    """Admit what may start at `now` (database time), all in one transaction; none where nothing waits."""
    if not Run.objects.filter(state=RunState.QUEUED, admitted_at__isnull=True, not_before__lte=now).exists():
        return Admitted()
    with transaction.atomic():
        if not _become_admitter():
            return Admitted(skipped=True)
        # Whoever changes windows rewrites what waits for them, and would lock the same runs in another order.
        plan_by_windows()
        rows = waiting_rows(now)
        if not rows:
            return Admitted()
        occupancy = count_occupancy(now=now)
        passed, held = choose(candidates_of(rows, occupancy), occupancy)
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
    candidates: Sequence[Candidate], occupancy: Occupancy
) -> tuple[list[Candidate], list[tuple[Candidate, Held]]]:
    """Pass through the queue once, in order; a held run never stops those behind it.

    Reads no row; `occupancy` fills up with what passes.
    """
    passed: list[Candidate] = []
    held: list[tuple[Candidate, Held]] = []
    # What holds each likeness, until something passes and takes places.
    known: dict[Likeness, Held] = {}
    for candidate in candidates:
        likeness = candidate.likeness
        reason = known.get(likeness) or held_by(likeness.column, likeness.situation(occupancy))
        if reason is None:
            likeness.occupy(occupancy)
            passed.append(candidate)
            known.clear()
            continue
        held.append((candidate, reason))
        # Sources are also kept by those who wait, so what holds their readers is asked anew.
        if not likeness.sources:
            known[likeness] = reason
        elif reason.code is HeldCode.SOURCE_LIMIT and candidate.is_patient:
            occupancy.reserved_sources.update(source.id for source in likeness.sources)
    return passed, held


def _write_held(held: Sequence[tuple[Candidate, Held]], now: dt.datetime) -> None:
    """Write the reasons that changed, in one statement: an unchanged queue costs no UPDATE."""
    changed: dict[Held, list[str]] = defaultdict(list)
    for candidate, reason in held:
        if candidate.held_code != reason.code or candidate.held_subject != reason.subject:
            changed[reason].append(candidate.run_id)
    if not changed:
        return
    told = [(str(reason.code), reason.subject, f"{{{','.join(ids)}}}") for reason, ids in changed.items()]
    with connection.cursor() as cursor:
        cursor.execute(_HOLD, [now, *(list(column) for column in zip(*told, strict=True))])


def _admit_all(passed: Sequence[Candidate], now: dt.datetime) -> tuple[list[Ring], list[Candidate]]:
    """Admit the chosen runs; return whom to ring for, and those whose rows cannot be used: they stop no other."""
    if not passed:
        return [], []
    chosen, broken = _prepare(passed, _lock_for(passed))
    try:
        admitted = _admit(chosen, now)
    except POISON:
        # One row spoils the statements for all: each gets a savepoint of its own, and only that one is held.
        admitted, spoiled = _admit_alone(chosen, now)
        broken += spoiled
    rings = [
        Ring(one.admission.run_id, one.admission.fence, one.candidate.likeness.group)
        for one in chosen
        if one.admission.run_id in admitted
    ]
    return rings, broken


def _prepare(
    passed: Sequence[Candidate], revisions: Mapping[str, JobRevision]
) -> tuple[list[_Chosen], list[Candidate]]:
    """Return what is needed to admit each, and those whose revisions cannot be read.

    One whose job has changed since it was judged is in neither: other sources, perhaps another repository. The next
    pass judges it as it is now.
    """
    chosen: list[_Chosen] = []
    broken: list[Candidate] = []
    for candidate, fence in zip(passed, _new_fences(len(passed)), strict=True):
        run_id = uuid.UUID(candidate.run_id)
        if candidate.job_id is None:
            chosen.append(_Chosen(candidate, Admission(run_id, fence)))
            continue
        try:
            revision = revisions[candidate.job_id]
            if revision.number == candidate.revision_number:
                sources = [source.source_id for source in read_revision(revision).sources]
                chosen.append(_Chosen(candidate, Admission(run_id, fence, revision.id), sources))
        except POISON:
            logger.exception("Run %s cannot be admitted", run_id)
            broken.append(candidate)
    return chosen, broken


def _admit(chosen: Sequence[_Chosen], now: dt.datetime) -> set[uuid.UUID]:
    with transaction.atomic():
        admitted = transitions.admit_all([one.admission for one in chosen], now=now)
        sources = {one.admission.run_id: one.sources for one in chosen if one.candidate.job_id is not None}
        task_runs.create_all({run_id: read for run_id, read in sources.items() if run_id in admitted}, now=now)
    return admitted


def _admit_alone(chosen: Sequence[_Chosen], now: dt.datetime) -> tuple[set[uuid.UUID], list[Candidate]]:
    admitted: set[uuid.UUID] = set()
    spoiled: list[Candidate] = []
    for one in chosen:
        try:
            admitted |= _admit([one], now)
        except POISON:
            logger.exception("Run %s cannot be admitted", one.admission.run_id)
            spoiled.append(one.candidate)
    return admitted, spoiled


def _lock_for(passed: Sequence[Candidate]) -> Mapping[str, JobRevision]:
    """Lock the rows behind the chosen runs in the one order, and return the revision that each job has now."""
    job_ids = {candidate.job_id for candidate in passed if candidate.job_id}
    run_ids = [candidate.run_id for candidate in passed]
    numbers = dict(_lock(Job, id__in=job_ids).values_list("id", "revision_number"))
    schedules = Run.objects.filter(id__in=run_ids, schedule__isnull=False).values("schedule_id")
    for behind in (
        _lock(Schedule, id__in=schedules),
        _lock(Repository, id__in={candidate.likeness.repository.id for candidate in passed}),
        _lock(Source, id__in=JobSource.objects.filter(job_id__in=job_ids).values("source_id")),
        _lock(Run, id__in=run_ids),
    ):
        list(behind.values_list("id"))
    revisions = JobRevision.objects.filter(job_id__in=job_ids, number__in=set(numbers.values()))
    return {str(row.job_id): row for row in revisions if row.number == numbers[row.job_id]}


def _lock(model: Any, **which: Any) -> Any:
    return model.objects.select_for_update(no_key=True).filter(**which).order_by("id")


def _new_fences(count: int) -> list[int]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT nextval('run_fences') FROM generate_series(1, %s)", [count])
        return [row[0] for row in cursor.fetchall()]

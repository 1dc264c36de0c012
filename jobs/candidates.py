"""Waiting runs as the gates see them, read in a few queries and in the queue's order.

Owns the reading. Thousands wait and few start, so ids stay the text that the database writes, and what the gates ask
is put together once for all runs that are alike. Whether a run may start is decided by jobs.gates.
"""

import datetime as dt
import uuid
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from django.db import connection

from jobs.dependencies import predecessors_waited_for, unmet
from jobs.gates import Column, Gate, Held, Situation, Use, column_of, counts
from jobs.models import Runner
from jobs.occupancy import Occupancy
from jobs.queue import ORDER_SQL, SINCE_SQL
from jobs.states import RunKind, Trigger
from jobs.windows import Level
from repositories.models import Repository, RepositoryState

# A run that waited so long for a source keeps it from those behind, or a busy one would never be free for it.
RESERVE_AFTER: Final = dt.timedelta(hours=2)

_WAITING: Final = "\n".join(
    (
        "SELECT runs.id::text, runs.kind, runs.trigger, runs.repository_id::text, runs.runner_id::text,",
        "runs.job_id::text, runs.root_run_id::text, runs.ignore_windows, runs.ignore_dependencies,",
        "runs.scheduled_for::text, runs.held_code, runs.held_subject,",
        f"%(now)s - {SINCE_SQL} >= %(patience)s, jobs.paused_at IS NOT NULL, jobs.revision_number",
        "FROM runs LEFT JOIN jobs ON jobs.id = runs.job_id",
        "WHERE runs.state = 'queued' AND runs.admitted_at IS NULL AND runs.cancel_requested_at IS NULL",
        "AND runs.not_before <= %(now)s",
        f"ORDER BY {ORDER_SQL}",
    )
)
# One array instead of thousands of parameters.
_SOURCES: Final = """
SELECT place.job_id, sources.id, sources.shown, sources.max_concurrent_runs
FROM job_sources AS place JOIN sources ON sources.id = place.source_id
WHERE place.job_id = ANY(%s::uuid[]) ORDER BY place.job_id, place.position
"""
# A source that no active run reads and one waiting job alone would read is free for it, whatever its limit.
_CONTENDED: Final = """
WITH waiting AS MATERIALIZED (
    SELECT job_id FROM runs WHERE state = 'queued' AND admitted_at IS NULL AND job_id IS NOT NULL
), contended AS (
    SELECT source_id FROM waiting JOIN job_sources USING (job_id)
    GROUP BY source_id HAVING min(job_sources.id) < max(job_sources.id)
    UNION SELECT unnest(%s::uuid[])
)
SELECT place.job_id::text, sources.id, sources.shown, sources.max_concurrent_runs
FROM contended JOIN sources ON sources.id = contended.source_id
JOIN job_sources AS place ON place.source_id = contended.source_id
JOIN waiting USING (job_id)
ORDER BY place.job_id, place.position
"""


@dataclass(frozen=True, slots=True)
class SourceLimit:
    """A source that a candidate would occupy."""

    id: uuid.UUID
    shown: str
    limit: int


@dataclass(frozen=True, slots=True)
class Place:
    """A repository as far as gates ask; `limit` is one behind the serial gate."""

    id: uuid.UUID
    name: str
    limit: int
    ready: bool = True
    serial_gate: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Likeness:
    """All that the gates ask of a waiting run: at one moment, runs of one likeness are held by the same thing."""

    kind: RunKind
    trigger: Trigger
    repository: Place
    runner_id: uuid.UUID
    group: str
    # Of a run that follows another one; nothing but a serial gate asks for it.
    root_run_id: uuid.UUID | None = None
    # Of a job that has windows of its own.
    job_id: str | None = None
    job_paused: bool = False
    ignore_windows: bool = False
    # Those that somebody else may occupy.
    sources: tuple[SourceLimit, ...] = ()
    # What holds it in the jobs that its job waits for.
    dependency: Held | None = None

    @property
    def column(self) -> Column:
        """Its column of the table of gates."""
        return column_of(self.kind, self.trigger)

    def situation(self, occupancy: Occupancy) -> Situation:
        """Return what is the case for it now."""
        place = self.repository
        shut_until = "" if self.ignore_windows else occupancy.window_until(self.kind, place.id, self.job_id)
        return Situation(
            repository=Use(place.name, occupancy.repositories.get(place.id, 0), place.limit),
            installation=occupancy.installation_use(),
            slots=occupancy.runner_slots(self.runner_id, self.group),
            sources=tuple(occupancy.source_use(source.id, source.shown, source.limit) for source in self.sources),
            job_paused=self.job_paused,
            frozen=place.id in occupancy.frozen,
            repository_ready=place.ready,
            window_until=shut_until,
            breaker_until=occupancy.breaker_until(place.id),
            dependency=self.dependency,
            serial_busy=place.serial_gate and occupancy.serial_busy(place.id, self.root_run_id),
        )

    def occupy(self, occupancy: Occupancy) -> None:
        """Take its places."""
        occupancy.take(self.kind, self.trigger, self.repository.id, self.runner_id)
        occupancy.try_out(self.kind, self.trigger, self.repository.id, occupancy.now)
        if counts(Gate.SOURCE, self.kind, self.trigger):
            occupancy.sources.update(source.id for source in self.sources)


@dataclass(frozen=True, slots=True)
class Candidate:
    """One waiting run; ids are text. `revision_number` is that of its job when it was judged."""

    run_id: str
    likeness: Likeness
    # Whether it has waited so long that it keeps its sources from those behind.
    is_patient: bool = False
    job_id: str | None = None
    revision_number: int | None = None
    held_code: str = ""
    held_subject: str = ""


@dataclass(frozen=True, slots=True)
class WaitingRow:
    """A waiting run as it was read."""

    run_id: str
    kind: str
    trigger: str
    repository_id: str
    runner_id: str
    job_id: str | None
    root_run_id: str | None
    ignore_windows: bool
    ignore_dependencies: bool
    scheduled_for: str
    held_code: str
    held_subject: str
    is_patient: bool
    job_paused: bool
    revision_number: int | None


def waiting_rows(now: dt.datetime) -> list[WaitingRow]:
    """Return the waiting runs whose time has come, first in the queue first."""
    told: dict[str, Any] = {"now": now, "patience": RESERVE_AFTER}
    with connection.cursor() as cursor:
        cursor.execute(_WAITING, told)
        return [WaitingRow(*row) for row in cursor.fetchall()]


def candidates_of(rows: Sequence[WaitingRow], occupancy: Occupancy) -> list[Candidate]:
    """Return the waiting runs as candidates, in the same order; `occupancy` was counted after they were read."""
    facts = _Facts(rows, occupancy)
    return [
        Candidate(
            row.run_id,
            facts.likeness(row),
            row.is_patient,
            row.job_id,
            row.revision_number,
            row.held_code,
            row.held_subject,
        )
        for row in rows
    ]


def source_limits(job_ids: set[uuid.UUID]) -> Mapping[uuid.UUID, Sequence[SourceLimit]]:
    """Return the sources of jobs with their limits, in each job's order."""
    found: dict[uuid.UUID, list[SourceLimit]] = defaultdict(list)
    with connection.cursor() as cursor:
        cursor.execute(_SOURCES, [list(job_ids)])
        for job_id, source_id, shown, limit in cursor.fetchall():
            found[job_id].append(SourceLimit(source_id, shown, limit))
    return found


class _Facts:
    """What stands behind the rows of one pass, read together, and the likenesses made of it so far."""

    def __init__(self, rows: Sequence[WaitingRow], occupancy: Occupancy) -> None:
        self._places = _places({row.repository_id for row in rows})
        self._serial = {key for key, place in self._places.items() if place.serial_gate}
        self._groups = {str(key): (key, name) for key, name in Runner.objects.values_list("id", "name")}
        # After the rows, which say what revision each job had: one that changes in between is not admitted.
        self._sources = _contended(occupancy.sources)
        self._predecessors = {str(job_id): jobs for job_id, jobs in predecessors_waited_for().items()}
        self._windowed = {rule.owner for rule in occupancy.rules if rule.level is Level.JOB}
        self._known: dict[tuple[object, ...], Likeness] = {}

    def likeness(self, row: WaitingRow) -> Likeness:
        """Return what the gates ask of the run, the same object for runs that are alike."""
        job_id = row.job_id
        is_alone = row.job_paused or job_id in self._sources or job_id in self._predecessors or job_id in self._windowed
        key = (
            row.kind,
            row.trigger,
            row.repository_id,
            row.runner_id,
            row.ignore_windows,
            row.root_run_id if row.repository_id in self._serial else None,
            row.run_id if is_alone else None,
        )
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._made(row)
        return found

    def _made(self, row: WaitingRow) -> Likeness:
        runner_id, group = self._groups[row.runner_id]
        job_id = row.job_id or ""
        return Likeness(
            kind=RunKind(row.kind),
            trigger=Trigger(row.trigger),
            repository=self._places[row.repository_id],
            runner_id=runner_id,
            group=group,
            root_run_id=uuid.UUID(row.root_run_id) if row.root_run_id else None,
            job_id=job_id if job_id in self._windowed else None,
            job_paused=row.job_paused,
            ignore_windows=row.ignore_windows,
            sources=tuple(self._sources.get(job_id, ())),
            dependency=self._dependency(row, job_id),
        )

    def _dependency(self, row: WaitingRow, job_id: str) -> Held | None:
        """Return what holds the run in the jobs that its own waits for; who asked by hand may ignore them."""
        if row.ignore_dependencies or job_id not in self._predecessors:
            return None
        return unmet(self._predecessors[job_id], dt.datetime.fromisoformat(row.scheduled_for))


def _places(ids: set[str]) -> Mapping[str, Place]:
    columns = ("id", "name", "state", "max_concurrent_runs", "serial_gate")
    return {
        str(key): Place(key, name, 1 if serial else limit, state == RepositoryState.ACTIVE, serial)
        for key, name, state, limit, serial in Repository.objects.filter(id__in=ids).values_list(*columns)
    }


def _contended(taken: Iterable[uuid.UUID]) -> Mapping[str, Sequence[SourceLimit]]:
    """Return, of each waiting job, those sources that an active run or another waiting job reads too."""
    found: dict[str, list[SourceLimit]] = defaultdict(list)
    with connection.cursor() as cursor:
        cursor.execute(_CONTENDED, [list(taken)])
        for job_id, source_id, shown, limit in cursor.fetchall():
            found[job_id].append(SourceLimit(source_id, shown, limit))
    return found

"""Waiting runs as the gates see them, read in a few queries and put in the queue's order.

Owns the reading. A candidate says what it would occupy; whether it may is decided by jobs.gates.
"""

import datetime as dt
import uuid
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from django.db import connection

from jobs.dependencies import predecessors_of, unmet
from jobs.gates import Column, Gate, Held, Situation, Use, column_of, counts
from jobs.models import Run
from jobs.occupancy import Occupancy
from jobs.queue import order_key
from jobs.states import RunKind, RunState, Trigger
from repositories.models import RepositoryState

_COLUMNS: Final = (
    "id",
    "kind",
    "trigger",
    "priority",
    "created_at",
    "scheduled_for",
    "not_before",
    "job_id",
    "job__paused_at",
    "job__revision_number",
    "schedule_id",
    "repository_id",
    "repository__name",
    "repository__state",
    "repository__max_concurrent_runs",
    "repository__serial_gate",
    "runner_id",
    "runner__name",
    "root_run_id",
    "held_code",
    "held_subject",
    "ignore_windows",
    "ignore_dependencies",
)
# Looked up, not made: thousands of rows wait.
_KINDS: Final = {str(kind): kind for kind in RunKind}
_TRIGGERS: Final = {str(trigger): trigger for trigger in Trigger}
# One array instead of thousands of parameters.
_SOURCES: Final = """
SELECT place.job_id, sources.id, sources.shown, sources.max_concurrent_runs
FROM job_sources AS place JOIN sources ON sources.id = place.source_id
WHERE place.job_id = ANY(%s::uuid[]) ORDER BY place.job_id, place.position
"""


@dataclass(frozen=True, slots=True)
class SourceLimit:
    """A source that a candidate would occupy."""

    id: uuid.UUID
    shown: str
    limit: int


@dataclass(frozen=True, slots=True)
class Candidate:
    """One waiting run."""

    run_id: uuid.UUID
    kind: RunKind
    trigger: Trigger
    priority: str
    waiting_since: dt.datetime
    job_id: uuid.UUID | None
    job_paused: bool
    schedule_id: uuid.UUID | None
    repository_id: uuid.UUID
    repository_name: str
    repository_ready: bool
    repository_limit: int
    serial_gate: bool
    runner_id: uuid.UUID
    group: str
    root_run_id: uuid.UUID | None
    held_code: str
    held_subject: str
    sources: tuple[SourceLimit, ...]
    ignore_windows: bool = False
    # What the job was when it was judged.
    revision_number: int | None = None
    # What holds it in the jobs that its job waits for.
    dependency: Held | None = None

    @property
    def column(self) -> Column:
        """Its column of the table of gates."""
        return column_of(self.kind, self.trigger)

    def situation(self, occupancy: Occupancy) -> Situation:
        """Return what is the case for it now."""
        repository_id = self.repository_id
        return Situation(
            repository=Use(self.repository_name, occupancy.repositories.get(repository_id, 0), self.repository_limit),
            installation=occupancy.installation_use(),
            slots=occupancy.runner_slots(self.runner_id, self.group),
            sources=tuple(
                Use(
                    source.shown,
                    occupancy.sources.get(source.id, 0),
                    source.limit,
                    source.id in occupancy.reserved_sources,
                )
                for source in self.sources
            ),
            job_paused=self.job_paused,
            frozen=repository_id in occupancy.frozen,
            repository_ready=self.repository_ready,
            window_until="" if self.ignore_windows else occupancy.window_until(self.kind, repository_id, self.job_id),
            breaker_until=occupancy.breaker_until(repository_id),
            dependency=self.dependency,
            serial_busy=self.serial_gate and occupancy.serial_busy(repository_id, self.root_run_id),
        )

    def occupy(self, occupancy: Occupancy) -> None:
        """Take its places."""
        occupancy.take(self.kind, self.trigger, self.repository_id, self.runner_id)
        occupancy.try_out(self.kind, self.trigger, self.repository_id, occupancy.now)
        if counts(Gate.SOURCE, self.kind, self.trigger):
            occupancy.sources.update(source.id for source in self.sources)


def waiting_candidates(now: dt.datetime) -> list[Candidate]:
    """Return the waiting runs whose time has come, first in the queue first."""
    waiting = Run.objects.filter(
        state=RunState.QUEUED, admitted_at__isnull=True, cancel_requested_at__isnull=True, not_before__lte=now
    )
    rows = list(waiting.order_by().values(*_COLUMNS))
    job_ids = {row["job_id"] for row in rows if row["job_id"]}
    sources, dependencies = source_limits(job_ids), _dependencies(rows, job_ids)
    candidates = [_candidate(row, sources.get(row["job_id"], ()), dependencies.get(row["id"])) for row in rows]
    return sorted(candidates, key=lambda one: order_key(one.priority, one.waiting_since, one.run_id, now))


def source_limits(job_ids: set[uuid.UUID]) -> Mapping[uuid.UUID, Sequence[SourceLimit]]:
    """Return the sources of jobs with their limits, in each job's order."""
    found: dict[uuid.UUID, list[SourceLimit]] = defaultdict(list)
    with connection.cursor() as cursor:
        cursor.execute(_SOURCES, [list(job_ids)])
        for job_id, source_id, shown, limit in cursor.fetchall():
            found[job_id].append(SourceLimit(source_id, shown, limit))
    return found


def _dependencies(rows: Sequence[Mapping[str, Any]], job_ids: set[uuid.UUID]) -> Mapping[uuid.UUID, Held | None]:
    """Return what holds each waiting run in the jobs that its own waits for; who asked by hand may ignore them."""
    predecessors = predecessors_of(job_ids)
    return {
        row["id"]: unmet(predecessors[row["job_id"]], row["scheduled_for"])
        for row in rows
        if row["job_id"] in predecessors and not row["ignore_dependencies"]
    }


def _candidate(row: Mapping[str, Any], sources: Sequence[SourceLimit], dependency: Held | None) -> Candidate:
    return Candidate(
        run_id=row["id"],
        kind=_KINDS[row["kind"]],
        trigger=_TRIGGERS[row["trigger"]],
        priority=row["priority"],
        waiting_since=max(row["created_at"], row["not_before"]),
        job_id=row["job_id"],
        job_paused=row["job__paused_at"] is not None,
        schedule_id=row["schedule_id"],
        repository_id=row["repository_id"],
        repository_name=row["repository__name"],
        repository_ready=row["repository__state"] == RepositoryState.ACTIVE,
        repository_limit=1 if row["repository__serial_gate"] else row["repository__max_concurrent_runs"],
        serial_gate=row["repository__serial_gate"],
        runner_id=row["runner_id"],
        group=row["runner__name"],
        root_run_id=row["root_run_id"],
        held_code=row["held_code"],
        held_subject=row["held_subject"],
        sources=tuple(sources),
        ignore_windows=row["ignore_windows"],
        revision_number=row["job__revision_number"],
        dependency=dependency,
    )

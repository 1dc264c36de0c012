"""How much is taken while an admission pass goes on: the figures of the gates, counted once and kept up in memory.

Owns the counting queries and the bookkeeping of one pass. Only the admitter makes runs active, so between its
queries and its commit these figures can only fall: a limit is never exceeded (C2).
"""

import datetime as dt
import logging
import uuid
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from django.conf import settings
from django.db import Error
from django.db.models import Q, QuerySet

from jobs import windows
from jobs.frozen import frozen_repositories
from jobs.gates import Gate, Slots, Use, counts, is_held_by
from jobs.models import RepositoryBreaker, Run, TaskRun, WorkerProcess
from jobs.states import RunKind, RunState, Trigger
from jobs.window_rows import current_rules, subject_of

# A worker's main process writes every 10 s; three missed ones and its slots are not counted on.
SEEN_WITHIN: Final = dt.timedelta(seconds=30)

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class Occupancy:
    """Counts of admitted and running runs by what they occupy; changed by `take` as the pass admits."""

    repositories: Counter[uuid.UUID] = field(default_factory=Counter)
    sources: Counter[uuid.UUID] = field(default_factory=Counter)
    installation: int = 0
    runners: Counter[uuid.UUID] = field(default_factory=Counter)
    runners_by_others: Counter[uuid.UUID] = field(default_factory=Counter)
    slots: dict[uuid.UUID, int] = field(default_factory=dict)
    frozen: frozenset[uuid.UUID] = frozenset()
    # Roots of started chains whose retry or requeue waits, by repository: the serial gate is busy for all others.
    pending_chains: dict[uuid.UUID, set[uuid.UUID]] = field(default_factory=dict)
    reserved_sources: set[uuid.UUID] = field(default_factory=set)
    # Until when the breakers of failing repositories are open, and which of them a run is trying after that.
    breakers: dict[uuid.UUID, dt.datetime] = field(default_factory=dict)
    tried: set[uuid.UUID] = field(default_factory=set)
    # All windows, and the moment at which a run would start.
    rules: Sequence[windows.Rule] = ()
    now: dt.datetime | None = None
    shut: dict[Sequence[windows.Rule], str] = field(default_factory=dict)

    def take(
        self, kind: RunKind, trigger: Trigger, repository_id: uuid.UUID, runner_id: uuid.UUID, *, slot: bool = True
    ) -> None:
        """Count one more admitted run; without `slot` it occupies none of those that are counted on."""
        if counts(Gate.REPOSITORY, kind, trigger):
            self.repositories[repository_id] += 1
        if counts(Gate.INSTALLATION, kind, trigger):
            self.installation += 1
        if not slot:
            return
        self.runners[runner_id] += 1
        if kind is not RunKind.RESTORE:
            self.runners_by_others[runner_id] += 1

    def try_out(
        self, kind: RunKind, trigger: Trigger, repository_id: uuid.UUID, admitted_at: dt.datetime | None
    ) -> None:
        """Note that a run tries a repository that kept failing; one admitted before the pause was over does not."""
        until = self.breakers.get(repository_id)
        if until is None or admitted_at is None or admitted_at < until:
            return
        if is_held_by(Gate.BREAKER, kind, trigger):
            self.tried.add(repository_id)

    def breaker_until(self, repository_id: uuid.UUID) -> str:
        """Return until when the repository's breaker is open, "" when a run may start: the first in order tries it."""
        until = self.breakers.get(repository_id)
        if until is None or self.now is None:
            return ""
        return until.isoformat() if self.now < until or repository_id in self.tried else ""

    def installation_use(self) -> Use:
        """Return how much of the installation's limit is taken."""
        return Use("", self.installation, settings.SYNCOVA_GLOBAL_LIMIT)

    def runner_slots(self, runner_id: uuid.UUID, group: str) -> Slots:
        """Return the slots of one runner."""
        total = self.slots.get(runner_id, 0)
        return Slots(group, total, self.runners.get(runner_id, 0), self.runners_by_others.get(runner_id, 0))

    def source_use(self, source_id: uuid.UUID, shown: str, limit: int) -> Use:
        """Return how much of a source's limit is taken, and whether a run that has waited long keeps it."""
        return Use(shown, self.sources.get(source_id, 0), limit, source_id in self.reserved_sources)

    def window_until(self, kind: RunKind, repository_id: uuid.UUID, job_id: str | None) -> str:
        """Return what shuts a start of this kind now and until when, "" when no window does."""
        if not self.rules or self.now is None:
            return ""
        rules = windows.applicable(self.rules, kind, repository=str(repository_id), job=job_id or "")
        # Hundreds of runs wait for the same windows: each set is looked through once a pass.
        if rules not in self.shut:
            self.shut[rules] = subject_of(windows.next_free(rules, self.now))
        return self.shut[rules]

    def serial_busy(self, repository_id: uuid.UUID, root_run_id: uuid.UUID | None) -> bool:
        """Tell whether a serial repository has an unfinished run, or a started chain that goes before (G3).

        Of several started chains the oldest goes first (their ids sort by time), so that they never block each other.
        """
        if self.repositories[repository_id]:
            return True
        chains = self.pending_chains.get(repository_id)
        return chains is not None and min(chains) != root_run_id


def count_occupancy(*, now: dt.datetime) -> Occupancy:
    """Read the figures of all gates."""
    live = list(_live(now).values_list("runner_id", "host", "slots"))
    occupancy = Occupancy(slots=_slots_of(live), frozen=frozen_repositories(), rules=current_rules(), now=now)
    active = Run.objects.filter(Q(state=RunState.RUNNING) | Q(state=RunState.QUEUED, admitted_at__isnull=False))
    rows = list(
        active.order_by().values_list("id", "kind", "trigger", "repository_id", "runner_id", "worker", "admitted_at")
    )
    # After the runs: one that ends in between is then seen with what its end says of the repository, and its retry.
    occupancy.breakers, occupancy.pending_chains = _open_breakers(), _pending_chains()
    hosts = {(runner_id, host) for runner_id, host, _ in live}
    for _, kind, trigger, repository_id, runner_id, worker, admitted_at in rows:
        # The slots of a host that is silent are not counted on, so what still runs there takes none of the others'.
        slot = not worker or (runner_id, worker.rpartition(":")[0]) in hosts
        occupancy.take(RunKind(kind), Trigger(trigger), repository_id, runner_id, slot=slot)
        occupancy.try_out(RunKind(kind), Trigger(trigger), repository_id, admitted_at)
    taken = TaskRun.objects.filter(run_id__in=[row[0] for row in rows]).values_list("source_id", flat=True)
    occupancy.sources.update(taken)
    return occupancy


def _live(now: dt.datetime) -> QuerySet[WorkerProcess]:
    return WorkerProcess.objects.filter(draining=False, drain_requested=False, last_seen__gt=now - SEEN_WITHIN)


def live_slots(now: dt.datetime) -> dict[uuid.UUID, int]:
    """Return the slots of each runner's live processes."""
    return _slots_of(_live(now).values_list("runner_id", "host", "slots"))


def _slots_of(live: Iterable[tuple[uuid.UUID, str, int]]) -> dict[uuid.UUID, int]:
    found: Counter[uuid.UUID] = Counter()
    for runner_id, _, slots in live:
        found[runner_id] += slots
    return dict(found)


def _open_breakers() -> dict[uuid.UUID, dt.datetime]:
    tripped = RepositoryBreaker.objects.filter(open_until__isnull=False).values_list("repository_id", "open_until")
    return {repository_id: until for repository_id, until in tripped if until is not None}


def _pending_chains() -> dict[uuid.UUID, set[uuid.UUID]]:
    """Built apart from the rest: a fault here leaves the serial gate open, a database error fails the pass (G2)."""
    try:
        return _started_chains()
    except Error:
        raise
    except Exception:
        # The gate's policy, not an edge: backups that go on side by side harm less than none at all.
        logger.exception("The serial gate could not be built and is left open")
        return {}


def _started_chains() -> dict[uuid.UUID, set[uuid.UUID]]:
    pending: dict[uuid.UUID, set[uuid.UUID]] = {}
    waiting = Run.objects.filter(
        state=RunState.QUEUED,
        admitted_at__isnull=True,
        trigger__in=(Trigger.RETRY, Trigger.REQUEUE),
        repository__serial_gate=True,
    )
    for repository_id, root in waiting.order_by().values_list("repository_id", "root_run_id"):
        if root is not None:
            pending.setdefault(repository_id, set()).add(root)
    return pending

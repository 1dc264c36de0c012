"""What a run waits for in other jobs (C4; execution.md, section 2): a dependency gates a start, it never triggers one.

Owns the judgement, the reading of predecessors in one snapshot, and the lock under which the graph of jobs changes.
"""

import datetime as dt
import uuid
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from django.db import connection
from django.db.models import OuterRef, Subquery

from jobs.gates import Held
from jobs.models import JobDependency, Run, Schedule
from jobs.states import ACTIVE_STATES, HeldCode, RunState, ScheduleState

# Any number that nobody else takes in this database; migration 0010 has the same.
GRAPH_LOCK: Final = 7_365_002


@dataclass(frozen=True, slots=True)
class Predecessor:
    """A job that another waits for: its active run's planned instant, its least due one, and how its last run ended.

    `last_state` is "" while it has never ended a run.
    """

    name: str
    paused: bool
    last_state: str
    active_for: dt.datetime | None = None
    due_at: dt.datetime | None = None


def unmet(predecessors: Iterable[Predecessor], planned: dt.datetime) -> Held | None:
    """Return the first dependency that holds a run planned for `planned`, None when all are met.

    Met: nothing of the predecessor that was planned at or before this instant is still to come, it is not paused, and
    its last run succeeded; a partial failure is not enough.
    """
    for one in predecessors:
        code = _holds(one, planned)
        if code is not None:
            return Held(code, one.name)
    return None


def predecessors_waited_for() -> Mapping[uuid.UUID, Sequence[Predecessor]]:
    """Return what each job with a waiting run waits for, by name; one statement, so that an end is seen as a whole.

    A claim moves a schedule and queues its run at once: whoever reads sees the instant due or the run active, so a
    run never slips past its predecessor's of the same night while another process is claiming that.
    """
    if not JobDependency.objects.exists():
        return {}
    waiting = Run.objects.filter(state=RunState.QUEUED, admitted_at__isnull=True, job__isnull=False)
    active = Run.objects.filter(job_id=OuterRef("predecessor_id"), state__in=ACTIVE_STATES).order_by("id")
    due = Schedule.objects.filter(
        job_id=OuterRef("predecessor_id"),
        state=ScheduleState.ACTIVE,
        deleted_at__isnull=True,
        next_at__isnull=False,
    ).order_by("next_at")
    rows = JobDependency.objects.filter(job_id__in=waiting.order_by().values("job_id")).annotate(
        active_for=Subquery(active.values("scheduled_for")[:1]), due_at=Subquery(due.values("next_at")[:1])
    )
    columns = ("job_id", "predecessor__name", "predecessor__paused_at", "predecessor__last_state")
    found: dict[uuid.UUID, list[Predecessor]] = defaultdict(list)
    for job_id, name, paused_at, last_state, active_for, due_at in rows.order_by(
        "job_id", "predecessor__name", "id"
    ).values_list(*columns, "active_for", "due_at"):
        found[job_id].append(Predecessor(name, paused_at is not None, last_state, active_for, due_at))
    return found


def lock_graph() -> None:
    """Keep all others from changing dependencies until this transaction ends; taken before any job is locked."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [GRAPH_LOCK])


def path_to(wanted: uuid.UUID, start: uuid.UUID, edges: Mapping[uuid.UUID, Sequence[uuid.UUID]]) -> list[uuid.UUID]:
    """Return a way from `start` to `wanted` along "waits for", both ends included; empty: there is none. Pure."""
    came_from: dict[uuid.UUID, uuid.UUID | None] = {start: None}
    waiting = [start]
    for here in waiting:
        if here == wanted:
            return _way_back(here, came_from)
        for following in edges.get(here, ()):
            if following not in came_from:
                came_from[following] = here
                waiting.append(following)
    return []


def all_edges() -> Mapping[uuid.UUID, Sequence[uuid.UUID]]:
    """Return which job waits for which; to be trusted only by who holds the graph's lock."""
    edges: dict[uuid.UUID, list[uuid.UUID]] = defaultdict(list)
    for job_id, predecessor_id in JobDependency.objects.order_by("id").values_list("job_id", "predecessor_id"):
        edges[job_id].append(predecessor_id)
    return edges


def _holds(one: Predecessor, planned: dt.datetime) -> HeldCode | None:
    if one.active_for is not None and one.active_for <= planned:
        return HeldCode.DEPENDENCY
    if one.paused:
        return HeldCode.DEPENDENCY_PAUSED
    if one.due_at is not None and one.due_at <= planned:
        return HeldCode.DEPENDENCY
    if not one.last_state:
        return HeldCode.DEPENDENCY_NEVER_RAN
    return None if one.last_state == RunState.SUCCEEDED else HeldCode.DEPENDENCY_FAILED


def _way_back(end: uuid.UUID, came_from: Mapping[uuid.UUID, uuid.UUID | None]) -> list[uuid.UUID]:
    way: list[uuid.UUID] = []
    here: uuid.UUID | None = end
    while here is not None:
        way.append(here)
        here = came_from[here]
    return way[::-1]

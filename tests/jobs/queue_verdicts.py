"""What must hold of a queue, judged from its event rows and their fences (6.10): limits, order, nothing lost.

Owns no rule of the product: limits are recounted here from the table of execution.md, section 2.
"""

import datetime as dt
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from django.conf import settings
from django.db import connection

from jobs.models import Run, RunEvent, WorkerProcess
from jobs.queue import order_key
from repositories.models import Repository

ENDS = frozenset({"succeeded", "partial_failure", "failed", "cancelled"})
WRITES = frozenset({"backup", "prune", "forget", "copy"})

# One statement, so one moment: what is taken of each limit, and how much there is of it.
_TAKEN = """
WITH active AS (
    SELECT runs.* FROM runs WHERE state = 'running' OR (state = 'queued' AND admitted_at IS NOT NULL)
), slots AS (
    SELECT runner_id, sum(slots) AS slots FROM worker_processes GROUP BY runner_id
)
SELECT 'repository ' || r.name, count(*), CASE WHEN r.serial_gate THEN 1 ELSE r.max_concurrent_runs END
    FROM active JOIN repositories r ON r.id = active.repository_id
    WHERE kind IN ('backup', 'prune', 'forget', 'copy') GROUP BY r.id
UNION ALL
SELECT 'source ' || s.shown, count(*), s.max_concurrent_runs
    FROM active JOIN task_runs t ON t.run_id = active.id JOIN sources s ON s.id = t.source_id GROUP BY s.id
UNION ALL
SELECT 'installation', count(*), %s FROM active WHERE kind <> 'restore'
UNION ALL
SELECT 'runner', count(*), max(slots.slots) FROM active JOIN slots USING (runner_id) GROUP BY runner_id
UNION ALL
SELECT 'not restores', count(*), max(slots.slots) - 1
    FROM active JOIN slots USING (runner_id) WHERE kind <> 'restore' GROUP BY runner_id
"""


def limits_now() -> list[str]:
    """Return which limits are exceeded at this moment, [] for none."""
    with connection.cursor() as cursor:
        cursor.execute(_TAKEN, [settings.SYNCOVA_GLOBAL_LIMIT])
        return [f"{what}: {taken} of {limit}" for what, taken, limit in cursor.fetchall() if taken > limit]


@dataclass(frozen=True)
class Stay:
    """One admission of one run, by its fence: from its event to the one that gave the places back."""

    run_id: Any
    fence: int
    at: dt.datetime
    began: int
    ended: int


def stays() -> list[Stay]:
    """Return every admission, by fence; raises AssertionError where events and fences do not fit each other."""
    found: list[Stay] = []
    events: dict[Any, list[RunEvent]] = defaultdict(list)
    for event in RunEvent.objects.order_by("id"):
        events[event.run_id].append(event)
    for run_id, moves in events.items():
        found += _stays_of(run_id, moves)
    assert len({stay.fence for stay in found}) == len(found), "a fence was given twice"
    return sorted(found, key=lambda stay: stay.fence)


def _stays_of(run_id: Any, moves: list[RunEvent]) -> Iterator[Stay]:
    open_one: RunEvent | None = None
    for event in moves:
        if event.code == "admitted":
            assert open_one is None, f"{run_id} was admitted twice at once"
            open_one = event
        elif event.code in {"started", "withdrawn"} | ENDS and open_one is not None:
            assert event.fence == open_one.fence, f"{run_id}: {event.code} under another fence"
            if event.code != "started":
                yield Stay(run_id, open_one.fence or 0, open_one.at, open_one.pk, event.pk)
                open_one = None
    assert open_one is None, f"{run_id} never ended"


def exceeded(runs: Mapping[Any, Run], sources: Mapping[Any, frozenset[Any]]) -> list[str]:
    """Return which limits the events show as exceeded: at each admission, what was admitted before and not yet ended.

    An end that an admitter has seen has a smaller number than its admissions, so that no excess is seen that was none.
    """
    repositories = {row.id: 1 if row.serial_gate else row.max_concurrent_runs for row in Repository.objects.all()}
    slots = Counter[Any]()
    for runner_id, count in WorkerProcess.objects.values_list("runner_id", "slots"):
        slots[runner_id] += count
    taken, wrong = Counter[Any](), []
    for _, step, run in _steps(runs):
        for what, limit in _places(run, sources[run.id], repositories, slots):
            taken[what] += step
            if taken[what] > limit:
                wrong.append(f"{what}: {taken[what]} of {limit}")
    return wrong


def _steps(runs: Mapping[Any, Run]) -> list[tuple[int, int, Run]]:
    all_stays = stays()
    steps = [(stay.began, 1, runs[stay.run_id]) for stay in all_stays]
    return sorted([*steps, *((stay.ended, -1, runs[stay.run_id]) for stay in all_stays)], key=lambda step: step[0])


def _places(
    run: Run, sources: frozenset[Any], repositories: Mapping[Any, int], slots: Mapping[Any, int]
) -> Iterator[tuple[Any, int]]:
    yield ("runner", run.runner_id), slots[run.runner_id]
    if run.kind != "restore":
        yield "installation", settings.SYNCOVA_GLOBAL_LIMIT
        yield ("not restores", run.runner_id), slots[run.runner_id] - 1
    if run.kind in WRITES:
        yield ("repository", run.repository_id), repositories[run.repository_id]
    for source in sources:
        yield ("source", source), 1


def out_of_order(runs: list[Run], sources: Mapping[Any, frozenset[Any]]) -> list[str]:
    """Return which first runs were admitted before others that every gate treated as it did, against the policy."""
    firsts: dict[Any, Stay] = {}
    for stay in stays():
        firsts.setdefault(stay.run_id, stay)
    alike: dict[Any, list[Run]] = defaultdict(list)
    for run in runs:
        alike[(run.kind, run.runner_id, run.kind == "restore" or run.repository_id, sources[run.id])].append(run)
    wrong = []
    for group in alike.values():
        admitted = sorted(group, key=lambda run: firsts[run.id].fence)
        for earlier, later in pairwise(admitted):
            at = firsts[earlier.id].at
            if _key(earlier, at) > _key(later, at):
                wrong.append(f"{earlier.id} before {later.id}")
    return wrong


def _key(run: Run, at: dt.datetime) -> Any:
    return order_key(run.priority, max(run.created_at, run.not_before), run.id, at)


def lost_or_doubled(runs: list[Run]) -> list[str]:
    """Return what no chain of attempts accounts for: a run without an end, one with two, a failed one not followed."""
    wrong = [f"{run.id} has not ended" for run in runs if run.finished_at is None]
    ends = Counter(RunEvent.objects.filter(code__in=ENDS).values_list("run_id", flat=True))
    wrong += [f"{run.id} has {ends[run.id]} ends" for run in runs if ends[run.id] != 1]
    followed = Counter(run.origin_run_id for run in runs if run.origin_run_id)
    for run in runs:
        expected = int(run.state == "failed" and run.attempt < 3 and run.kind != "restore")
        expected += int(run.state == "cancelled" and run.requeues < 3)
        if followed[run.id] != expected:
            wrong.append(f"{run.id} ({run.kind}, {run.state}) is followed by {followed[run.id]}")
    return wrong

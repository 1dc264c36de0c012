"""What must be true after the chaos of tests.long.chaos, read off the rows and the repositories.

Owns the questions; each returns the sentences of what is wrong. Times are not compared, since the clock was set wrong:
order is that of the events' numbers, which a lock puts between the end of one run and the admission of the next.
"""

import subprocess
import sys
import uuid
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from jobs import calendar
from jobs.models import JobSource, Run, RunEvent, ScheduleDecision, TaskRun
from jobs.states import FINISHED_STATES, RunKind, RunState, Trigger
from repositories.engine.manifest.backups import list_backups
from repositories.engine.repository import open_repository
from repositories.engine.storage.locations import open_storage
from repositories.models import Backup, RepositoryFreeze
from tests.long.chaos_scene import Scene, schedules
from tests.workers import scenario
from tests.workers.harness import PROJECT
from tests.workers.scenario import Ground

_FREE = {RunKind.CHECK, RunKind.RESTORE, RunKind.DRILL}
_LEAVES = {"withdrawn", *FINISHED_STATES}
_FINAL = ("state", "finished_at", "started_at", "fence", "attempt", "error_code", "reason_code", "reason_parameters")
GLOBAL_LIMIT, SLOTS = 16, 2


@dataclass
class Witness:
    """Remembers each run as it was when it was first seen to have ended."""

    seen: dict[uuid.UUID, tuple[Any, ...]] = field(default_factory=dict)

    def look(self) -> None:
        """Remember what has ended since the last look."""
        ended = Run.objects.filter(finished_at__isnull=False).exclude(id__in=self.seen)
        self.seen |= {row[0]: row for row in ended.values_list("id", *_FINAL)}

    def changed(self) -> Iterator[str]:
        """Yield the runs whose end is another one now, or was written twice."""
        now = {row[0]: row for row in Run.objects.filter(id__in=self.seen).values_list("id", *_FINAL)}
        for run_id, row in self.seen.items():
            if now.get(run_id) != row:
                yield f"run {run_id} had ended as {row}, and now is {now.get(run_id)}"
        ends = RunEvent.objects.filter(code__in=FINISHED_STATES).values_list("run_id", flat=True)
        for run_id, count in Counter(ends).items():
            if count > 1:
                yield f"run {run_id} has {count} ends"


def instants() -> Iterator[str]:
    """Yield instants that ran twice, and those that became neither a run nor a decision."""
    for schedule in schedules():
        runs = Run.objects.filter(schedule=schedule)
        done = runs.filter(state__in=(RunState.SUCCEEDED, RunState.PARTIAL_FAILURE))
        counts = Counter(done.values_list("scheduled_for", flat=True))
        yield from (f"{schedule.job.name}: {at} ran {count} times" for at, count in counts.items() if count > 1)
        planned = set(runs.filter(trigger=Trigger.SCHEDULE).values_list("scheduled_for", flat=True))
        ranges = list(ScheduleDecision.objects.filter(schedule=schedule).values_list("first_at", "last_at"))
        plan = calendar.parse(schedule.definition, anchor=schedule.anchor)
        last = max([*planned, *(until for _, until in ranges)], default=schedule.created_at)
        instant = plan.next_after(schedule.created_at)
        while instant is not None and instant.instant <= last:
            told = instant.instant in planned or any(a <= instant.instant <= b for a, b in ranges)
            if not told:
                yield f"{schedule.job.name}: {instant.instant} is neither a run nor a decision"
            instant = plan.next_after(instant.instant)


def limits() -> Iterator[str]:
    """Yield the moments, as events, at which more was admitted or running than may be."""
    runs = {run.id: run for run in Run.objects.select_related("repository")}
    sources: defaultdict[uuid.UUID | None, set[uuid.UUID]] = defaultdict(set)
    for job_id, source_id in JobSource.objects.values_list("job_id", "source_id"):
        sources[job_id].add(source_id)
    active: dict[uuid.UUID, int | None] = {}
    for event in RunEvent.objects.order_by("id"):
        if event.code == "admitted":
            active[event.run_id] = event.fence
            yield from _over(event.id, [runs[run_id] for run_id in active], sources)
        elif event.code in _LEAVES:
            active.pop(event.run_id, None)
        elif event.code == "started" and active.get(event.run_id) != event.fence:
            yield f"event {event.id}: run {event.run_id} started under fence {event.fence}, not as admitted"


def _over(event_id: int, active: list[Run], sources: dict[uuid.UUID | None, set[uuid.UUID]]) -> Iterator[str]:
    counting = [run for run in active if run.kind not in _FREE]
    counts: dict[str, Counter[Any]] = {
        "repository": Counter(run.repository.name for run in counting),
        "source": Counter(source for run in counting for source in sources.get(run.job_id, ())),
        "job": Counter(run.job_id for run in active if run.job_id),
    }
    for what, found in counts.items():
        yield from (f"event {event_id}: {count} at once on {what} {name}" for name, count in found.items() if count > 1)
    if len([run for run in active if run.kind != RunKind.RESTORE]) > GLOBAL_LIMIT:
        yield f"event {event_id}: more than {GLOBAL_LIMIT} at once"


def backups(scene: Scene) -> Iterator[str]:
    """Yield successful runs whose backups do not restore to what was backed up, and repositories that are not whole."""
    for place, keeps_all in zip(scene.places, (True, False), strict=True):
        yield from _whole(place)
        opened = open_repository(open_storage(place.location), scenario.PASSWORD)
        there = {each.id: each for each in list_backups(opened)}
        told = TaskRun.objects.filter(
            run__repository=place.repository, run__state=RunState.SUCCEEDED, run__kind=RunKind.BACKUP
        ).select_related("source")
        for task in told:
            if task.backup_id in there:
                yield from _restored(scene, place, task)
            elif keeps_all:
                yield f"run {task.run_id} succeeded, but its backup {task.backup_id} is not there"
        ids = [each.root.origin.run_id + each.source_name for each in there.values() if not each.copied]
        yield from (f"run and source {name} have {count} backups" for name, count in Counter(ids).items() if count > 1)


def _whole(place: Ground) -> Iterator[str]:
    done = _command(place, "repositories.cli", "check", place.location, "--read-data", "--json")
    if done.returncode != 0:
        yield f"{place.location}: the check says {done.stdout[-2000:]!r}"


def _restored(scene: Scene, place: Ground, task: TaskRun) -> Iterator[str]:
    target = scene.directory / "proof" / task.backup_id
    words = ("restore", "-r", place.location, "--backup", task.backup_id, "--target", str(target), "--json")
    done = _command(place, "agents.runtime", *words)
    tree = scene.trees[task.source.shown]
    same = done.returncode == 0 and subprocess.run(["diff", "-r", tree, target], check=False).returncode == 0
    subprocess.run(["rm", "-rf", target], check=True)
    if not same:
        yield f"run {task.run_id} succeeded, but its backup {task.backup_id} does not restore: {done.stdout[-500:]!r}"


def _command(place: Ground, module: str, *words: str) -> "subprocess.CompletedProcess[bytes]":
    password = place.directory / "password"
    if not password.exists():
        password.touch(mode=0o600)
        password.write_bytes(scenario.PASSWORD)
    command = [sys.executable, "-P", "-m", module, *words, "--password-file", str(password)]
    environment = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(PROJECT), "SYNCOVA_DATA_DIR": "/nonexistent"}
    return subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)


def rest() -> Iterator[str]:
    """Yield what is wrong beside: freezes that nobody asked for, rows of backups that are twice."""
    for freeze in RepositoryFreeze.objects.filter(cleared_at=None):
        yield f"repository {freeze.repository_id} is frozen: {freeze.reason}"
    unclosed = TaskRun.objects.filter(run__finished_at__isnull=False, finished_at__isnull=True)
    yield from (f"task run {task.id} is open, its run has ended" for task in unclosed)


def figures() -> str:
    """Return in one line what has happened."""
    kinds = Counter(Run.objects.values_list("kind", "state"))
    told = ", ".join(f"{kind} {state} {count}" for (kind, state), count in sorted(kinds.items()))
    codes = Counter(Run.objects.exclude(error_code="").values_list("error_code", flat=True))
    decisions = Counter(ScheduleDecision.objects.values_list("reason_code", flat=True))
    return f"{told}; {Backup.objects.count()} backups; errors {dict(codes)}; decisions {dict(decisions)}"

"""A queue under fire: schedulers pass and workers start and end runs at once, each with a connection of its own (6.10).

Owns the making of the runs and the turmoil; what has to hold afterwards is judged from the event rows by
tests.jobs.queue_verdicts. Time is a counter, so that hours of waiting pass in seconds.
"""

import datetime as dt
import itertools
import random
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from jobs import transitions
from jobs.conclusion import conclude
from jobs.executors import ExecutionResult, Failure, SourceResult
from jobs.models import Job, JobSource, Run, Runner, Source
from jobs.states import BackupMode, CancelOrigin, FailureClass, Priority, RunKind, TaskState
from jobs.tick import run_pass
from repositories.models import Repository
from syncova_project import clock
from tests.jobs import bells
from tests.jobs.builders import NOW, make_job, make_run, make_runner, make_source, make_worker
from tests.jobs.queue_verdicts import limits_now
from tests.jobs.rivals import at_once
from tests.repositories.builders import make_repository

# Of workers that no pass finds silent.
ALWAYS = dt.datetime(2100, 1, 1, tzinfo=dt.UTC)
KINDS = (RunKind.BACKUP,) * 14 + (RunKind.RESTORE,) * 3 + (RunKind.COPY,) * 3
TRANSIENT = Failure("NO_ROUTE", "x", FailureClass.TRANSIENT)


@dataclass(frozen=True)
class Scale:
    """How much: runs over repositories, on `slots` of two groups, with so many schedulers and workers."""

    runs: int
    repositories: int
    slots: int
    schedulers: int = 4
    workers: int = 4
    held_at_once: int = 10
    seed: int = 1
    # How far time goes on at each look at it. At a large scale a pass takes long and many look meanwhile: with five
    # seconds each, whatever is admitted is withdrawn again before a worker sees it.
    seconds: float = 5


@dataclass
class Fire:
    """The turmoil's shared state; `seen` are snapshots of what was taken, each by one statement."""

    scale: Scale
    chance: random.Random
    over: threading.Event = field(default_factory=threading.Event)
    moments: "itertools.count[int]" = field(default_factory=lambda: itertools.count(1))
    excesses: list[str] = field(default_factory=list)
    looks: int = 0

    def now(self) -> dt.datetime:
        """Return the next moment."""
        return NOW + next(self.moments) * dt.timedelta(seconds=self.scale.seconds)


def make_queue(scale: Scale, chance: random.Random) -> list[Run]:
    """Make the runs: all classes, kinds and ages, on few sources and narrow repositories."""
    runners = [make_runner("near"), make_runner("far")]
    for runner, _ in itertools.product(runners, range(4)):
        make_worker(runner, slots=scale.slots // 8, last_seen=ALWAYS)
    repositories = [
        make_repository(max_concurrent_runs=chance.randint(1, 3), serial_gate=chance.random() < 0.2)
        for _ in range(scale.repositories)
    ]
    sources = {runner: [make_source(runner=runner) for _ in range(scale.repositories)] for runner in runners}
    made = [_run(chance, runners, repositories, sources) for _ in range(scale.runs - 2 * scale.repositories)]
    # Of these, one of a kind may be active in a repository.
    upkeep = itertools.product(repositories, (RunKind.CHECK, RunKind.PRUNE))
    return made + [_waiting(chance, kind=kind, repository=repository) for repository, kind in upkeep]


def _run(
    chance: random.Random,
    runners: list[Runner],
    repositories: list[Repository],
    sources: dict[Runner, list[Source]],
) -> Run:
    runner, repository, kind = chance.choice(runners), chance.choice(repositories), chance.choice(KINDS)
    if kind is not RunKind.BACKUP:
        return _waiting(chance, kind=kind, repository=repository, runner=runner)
    read = chance.sample(sources[runner], chance.randint(1, 2))
    job = make_job(repository=repository, runner=runner, sources=read, max_attempts=3)
    return _waiting(chance, job=job)


def _waiting(chance: random.Random, **fields: Any) -> Run:
    since = NOW - dt.timedelta(minutes=chance.randint(0, 240))
    moments: dict[str, Any] = {"created_at": since, "scheduled_for": since, "not_before": since}
    if "job" not in fields and "runner" not in fields:
        fields["runner"] = make_runner("near")
    return make_run(priority=chance.choice(Priority.values), **moments, **fields)


def rage(scale: Scale) -> Fire:
    """Let schedulers, workers and a watcher go until nothing waits or runs; raises what any of them raised."""
    fire = Fire(scale, random.Random(scale.seed))
    bells.rung.clear()
    doing: list[Callable[[], None]] = [partial(_schedule, fire)] * scale.schedulers
    doing += [partial(_work, fire, random.Random(scale.seed + n)) for n in range(scale.workers)]
    results = at_once([*doing, partial(_watch, fire)])
    for result in results:
        if isinstance(result, Exception):
            raise result
    return fire


def _schedule(fire: Fire) -> None:
    """Pass again and again; the last one sees that all runs have ended."""
    try:
        while not fire.over.is_set():
            run_pass(now=fire.now())
            if not Run.objects.filter(finished_at__isnull=True).exists():
                fire.over.set()
            clock.sleep(0.01)
    finally:
        fire.over.set()


def _work(fire: Fire, chance: random.Random) -> None:
    """Start what is admitted, keep some of it going, and end it in one way or another."""
    going: list[tuple[Any, int]] = []
    while not fire.over.is_set():
        admitted = Run.objects.filter(state="queued", admitted_at__isnull=False).order_by("?")
        for run_id, fence in admitted.values_list("id", "fence")[:3]:
            # Now and then a ring is lost, and the run is withdrawn.
            if chance.random() < 0.9 and transitions.start(run_id, fence or 0, "alpha:1", now=fire.now()):
                going.append((run_id, fence or 0))
        while going and (len(going) > fire.scale.held_at_once or chance.random() < 0.7):
            run_id, fence = going.pop(chance.randrange(len(going)))
            conclude(run_id, fence, _result(run_id, chance), now=fire.now())


def _result(run_id: Any, chance: random.Random) -> ExecutionResult:
    fate = chance.random()
    if fate < 0.1:
        return ExecutionResult(failure=TRANSIENT)
    if fate < 0.15:
        return ExecutionResult(cancelled=CancelOrigin.SHUTDOWN)
    tasks = Run.objects.get(id=run_id).task_runs.values_list("id", flat=True)
    return ExecutionResult(
        sources=tuple(
            SourceResult(task, TaskState.SUCCEEDED, backup_id="b", manifest_id="m", chain="c", mode=BackupMode.FULL)
            for task in tasks
        )
    )


def _watch(fire: Fire) -> None:
    """Look at what is committed, as an operator would: each look is one statement, so one moment."""
    while not fire.over.is_set():
        fire.excesses += limits_now()
        fire.looks += 1
        clock.sleep(0.02)


def jobs_of(runs: list[Run]) -> dict[Any, frozenset[Any]]:
    """Return the sources of each run's job."""
    places: dict[Any, set[Any]] = {}
    for job_id, source_id in JobSource.objects.values_list("job_id", "source_id"):
        places.setdefault(job_id, set()).add(source_id)
    jobs = set(Job.objects.values_list("id", flat=True))
    return {run.id: frozenset(places[run.job_id]) if run.job_id in jobs else frozenset() for run in runs}

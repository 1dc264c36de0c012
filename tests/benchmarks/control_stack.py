"""What `./syncova bench control --stack` measures of all processes together: the idle load, and from due to started.

Real servers, beat, a control worker and a worker with free slots, with the times of an installation (6.12); no web,
which does nothing unless it is asked. Owns the jobs of the measurement, each of a small tree, due every minute at
instants of its own.
"""

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from tests.workers.harness import Stack, eventually, running_stack

_TIMES: Final = {
    "SYNCOVA_TICK_SECONDS": "10",
    "SYNCOVA_HEARTBEAT_SECONDS": "30",
    "SYNCOVA_ORPHAN_SECONDS": "180",
    "SYNCOVA_RETRY_SECONDS": "60",
}
_IDLE_SECONDS, _SLOTS, _APART_SECONDS = 60, 24, 2


def measured(*, jobs: int, minutes: int) -> Iterator[str]:
    """Yield what an idle minute costs, what one pass asks, and how long runs wait for their start."""
    with running_stack() as stack, stack.used_by_django(), tempfile.TemporaryDirectory() as directory:
        stack.start_control(**_TIMES)
        stack.start_beat(**_TIMES)
        stack.start_worker("worker", group="bench", slots=_SLOTS, **_TIMES)
        _wait_for_worker()
        yield _idle(stack)
        yield f"statements of a pass with nothing to do: {_statements()}"
        yield _starts(_plan(Path(directory), jobs), minutes)


def _idle(stack: Stack) -> str:
    time.sleep(15)
    before, begun = _spent(stack), time.monotonic()
    time.sleep(_IDLE_SECONDS)
    minutes = (time.monotonic() - begun) / 60
    told = ", ".join(f"{name} {(after - before[name]) / minutes:.2f} s" for name, after in _spent(stack).items())
    return f"processor time of an idle minute of the whole stack: {told}"


def _spent(stack: Stack) -> dict[str, float]:
    """Return the processor seconds of each part of the stack with all of its children, those that ended included."""
    assert stack.database is not None
    assert stack.broker is not None
    roots = {name: identity.pid for name, identity in stack.running.items()}
    roots |= {"PostgreSQL": stack.database.identity.pid, "Valkey": stack.broker.identity.pid}
    children: dict[int, list[int]] = {}
    seconds: dict[int, float] = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            _note(int(entry), children, seconds)
    return {name: _of_tree(pid, children, seconds) for name, pid in roots.items()}


def _note(pid: int, children: dict[int, list[int]], seconds: dict[int, float]) -> None:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return
    children.setdefault(int(fields[1]), []).append(pid)
    seconds[pid] = sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def _of_tree(pid: int, children: dict[int, list[int]], seconds: dict[int, float]) -> float:
    return seconds.get(pid, 0.0) + sum(_of_tree(each, children, seconds) for each in children.get(pid, ()))


def _statements() -> int:
    """Return how many statements a pass asks that finds nothing to do."""
    from django.db import connection

    from jobs.tick import run_pass

    asked: list[str] = []

    def keep(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        asked.append(sql)
        return execute(sql, params, many, context)

    with connection.execute_wrapper(keep):
        while True:
            asked.clear()
            if run_pass().began:
                return len(asked)
            time.sleep(0.5)


def _plan(directory: Path, jobs: int) -> Sequence[Any]:
    """Make a repository and jobs of small trees; each plans from the moment at which it is made."""
    from repositories.models import Repository
    from tests.workers import scenario

    place = scenario.ground(directory, "bench")
    Repository.objects.filter(id=place.repository.id).update(max_concurrent_runs=jobs)
    trees = scenario.settled(*(scenario.small_tree(directory, f"source-{number}") for number in range(jobs)))
    made = []
    for tree in trees:
        made.append(scenario.job(place, tree, schedules=[{"type": "interval", "every_seconds": 60}]))
        time.sleep(_APART_SECONDS)
    return made


def _starts(jobs: Sequence[Any], minutes: int) -> str:
    from jobs.models import Run

    time.sleep(minutes * 60)
    runs = Run.objects.filter(job__in=jobs, started_at__isnull=False, trigger="schedule", attempt=1)
    waits = sorted((run.started_at - run.scheduled_for).total_seconds() for run in runs if run.started_at)
    failed = runs.filter(state="failed").count()
    if len(waits) < 2:
        return "from due to started: too few runs started"
    p99 = waits[min(len(waits) - 1, int(len(waits) * 0.99))]
    told = f"median {statistics.median(waits):.1f} s, p99 {p99:.1f} s, least {waits[0]:.1f} s"
    return f"from due to started, with free slots: {told} ({len(waits)} runs, {failed} failed; a pass every 10 s)"


def _wait_for_worker() -> None:
    from jobs.models import WorkerProcess

    # On a busy machine its start alone takes a minute.
    eventually(lambda: WorkerProcess.objects.filter(runner__name="bench").exists(), seconds=300, what="a worker")


def tell(*, jobs: int, minutes: int) -> None:
    """Print what is measured as it comes."""
    for line in measured(jobs=jobs, minutes=minutes):
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()

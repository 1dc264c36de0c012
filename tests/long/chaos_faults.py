"""The faults of tests.long.chaos: what is killed, held still, emptied, stopped or set wrong, and for how long.

Owns the plan, which follows from the seed alone, and its carrying out. What there is to hit at a moment (a run's
supervisor, an engine) is found then; a fault that finds nothing does nothing.
"""

import contextlib
import os
import random
import signal
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from django.db import Error, connection

from jobs.models import Run
from jobs.states import RunState
from syncova_project import clock
from syncova_project.embedded import postgres, valkey
from tests.long.chaos_scene import GROUPS, Scene

PROCESSES = ("beat", "control", "web", *GROUPS)
# How often each comes, beside the others.
WEIGHTS: Mapping[str, int] = {
    "kill_process": 5,
    "kill_main_process": 3,
    "hold_process": 5,
    "kill_supervisor": 4,
    "hold_supervisor": 3,
    "kill_engine": 4,
    "hold_engine": 3,
    "flush_broker": 2,
    "hold_broker": 1,
    "restart_broker": 2,
    "stop_broker": 1,
    "restart_database": 2,
    "stop_database": 1,
    "set_clock": 3,
    "ask": 14,
}
WISHES = ("run", "cancel", "check", "prune", "forget", "restore", "copy")


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault: when it comes after the one before (seconds), what, on whom, and for how long or how far."""

    after: float
    what: str
    whom: str
    much: float
    number: int


def plan(seed: int, seconds: float) -> list[Fault]:
    """Return what will be done to a scene; the same for the same seed and length."""
    chance, faults, planned = random.Random(seed), list[Fault](), 0.0
    while planned < seconds:
        what = chance.choices(list(WEIGHTS), list(WEIGHTS.values()))[0]
        whom = chance.choice(WISHES if what == "ask" else PROCESSES)
        fault = Fault(chance.uniform(0.3, 3.0), what, whom, chance.uniform(0.5, 9.0), chance.randrange(1000))
        planned += fault.after + (fault.much if what.startswith(("hold", "stop")) else 0.0)
        faults.append(fault)
    return faults


def play(fault: Fault, scene: Scene) -> None:
    """Carry one fault out, and end what it holds still or stops."""
    clock.sleep(fault.after)
    with contextlib.suppress(ProcessLookupError, Error):
        _ACTS[fault.what](fault, scene)
    scene.keep_up()


def _kill_process(fault: Fault, scene: Scene) -> None:
    scene.stack.kill_session(fault.whom)


def _kill_main_process(fault: Fault, scene: Scene) -> None:
    # Its children are on their own: Linux ends them with it, or they find themselves with another parent.
    os.kill(scene.stack.running[fault.whom].pid, signal.SIGKILL)


def _hold_process(fault: Fault, scene: Scene) -> None:
    _hold(scene.stack.running[fault.whom].pid, fault.much)


def _hold(pid: int, seconds: float) -> None:
    os.kill(pid, signal.SIGSTOP)
    try:
        clock.sleep(seconds)
    finally:
        os.kill(pid, signal.SIGCONT)


def _supervisor(fault: Fault) -> int | None:
    running = list(Run.objects.filter(state=RunState.RUNNING).order_by("id").values_list("worker", flat=True))
    connection.close()
    return int(running[fault.number % len(running)].rpartition(":")[2]) if running else None


def _engine(fault: Fault) -> int | None:
    supervisor = _supervisor(fault)
    with contextlib.suppress(FileNotFoundError):
        if supervisor is not None:
            children = Path(f"/proc/{supervisor}/task/{supervisor}/children").read_text().split()
            return int(children[0]) if children else None
    return None


def _kill_found(find: Callable[[Fault], int | None]) -> "Callable[[Fault, Scene], None]":
    def act(fault: Fault, scene: Scene) -> None:
        del scene
        if (pid := find(fault)) is not None:
            os.kill(pid, signal.SIGKILL)

    return act


def _hold_found(find: Callable[[Fault], int | None]) -> "Callable[[Fault, Scene], None]":
    def act(fault: Fault, scene: Scene) -> None:
        del scene
        if (pid := find(fault)) is not None:
            _hold(pid, fault.much)

    return act


def _flush_broker(fault: Fault, scene: Scene) -> None:
    del fault
    scene.stack.broker_client().flushall()


def _hold_broker(fault: Fault, scene: Scene) -> None:
    assert scene.stack.broker is not None
    _hold(scene.stack.broker.identity.pid, fault.much)


def _restart_broker(fault: Fault, scene: Scene) -> None:
    del fault
    scene.stack.restart_broker()


def _stop_broker(fault: Fault, scene: Scene) -> None:
    assert scene.stack.broker is not None
    valkey.stop(scene.stack.broker.identity, grace=0)
    clock.sleep(fault.much)
    scene.stack.start_broker()


def _restart_database(fault: Fault, scene: Scene) -> None:
    del fault
    scene.stack.stop_database()
    scene.stack.start_database()


def _stop_database(fault: Fault, scene: Scene) -> None:
    assert scene.stack.database is not None
    connection.close()
    postgres.stop(scene.stack.database.identity)
    # Longer than the limit of silence: what ran meanwhile must not be taken for orphaned.
    clock.sleep(fault.much + 5.0)
    scene.stack.start_database()


def _set_clock(fault: Fault, scene: Scene) -> None:
    # Forwards and back, by more than the limit of silence.
    scene.offset(fault.much * (6.0 if fault.number % 2 else -2.0))


def _ask(fault: Fault, scene: Scene) -> None:
    place = scene.places[fault.number % 2]
    other = scene.places[(fault.number + 1) % 2]
    job, repository = scene.jobs[fault.number % len(scene.jobs)], place.repository.id
    if fault.whom == "run":
        scene.post(f"jobs/{job.id}/run")
    elif fault.whom == "cancel":
        active = Run.objects.filter(finished_at__isnull=True).order_by("id").values_list("id", flat=True)
        for run_id in list(active)[:1]:
            scene.post(f"runs/{run_id}/cancel")
    elif fault.whom == "restore":
        target = scene.directory / "restores" / f"{fault.number}"
        scene.post(f"repositories/{repository}/restore", f'{{"backup": "latest", "target": "{target}"}}'.encode())
    elif fault.whom == "forget":
        # Of one repository alone: of the other every backup of a successful run has to be there in the end.
        beta = scene.places[1].repository.id
        scene.post(f"repositories/{beta}/forget", b'{"keep_last": 5, "dry_run": false}')
    elif fault.whom == "prune":
        scene.post(f"repositories/{repository}/prune", b'{"dry_run": false}')
    elif fault.whom == "copy":
        scene.post(f"repositories/{repository}/copy", f'{{"from_repository_id": "{other.repository.id}"}}'.encode())
    else:
        scene.post(f"repositories/{repository}/check")


_ACTS: Mapping[str, Callable[[Fault, Scene], None]] = {
    "kill_process": _kill_process,
    "kill_main_process": _kill_main_process,
    "hold_process": _hold_process,
    "kill_supervisor": _kill_found(_supervisor),
    "hold_supervisor": _hold_found(_supervisor),
    "kill_engine": _kill_found(_engine),
    "hold_engine": _hold_found(_engine),
    "flush_broker": _flush_broker,
    "hold_broker": _hold_broker,
    "restart_broker": _restart_broker,
    "stop_broker": _stop_broker,
    "restart_database": _restart_database,
    "stop_database": _stop_database,
    "set_clock": _set_clock,
    "ask": _ask,
}

"""`./syncova bench control`: claims and admissions at scale, beside django-celery-beat (5.11, 6.12).

    ./syncova bench control [--schedules 100000] [--due 10000] [--schedulers 4] [--beat PYTHON]
                            [--waiting 5000] [--runs 1000000] [--stack MINUTES]

A private PostgreSQL (and a private Valkey for the rival) in a directory of its own, removed at the end. Measured: a
claim tick with none due, the claim of many due at one instant by several processes, what an idle minute costs,
admissions over many waiting runs, lists over a long history and, with --stack, the load of all processes and the time
from due to started. That none is claimed twice and none is lost is checked; figures are printed and asserted nowhere.
`--beat` names the interpreter of an environment that holds django-celery-beat, celery[redis] and psycopg; nothing of it
is in Syncova's. A measurement of 0 rows is left out.
"""

import argparse
import json
import multiprocessing
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from syncova_project.connection_urls import database_settings, socket_database_url
from syncova_project.embedded import postgres, servers, valkey
from tests import private_servers
from tests.benchmarks.machine import this_machine

_FORK = multiprocessing.get_context("fork")
_RIVAL = Path(__file__).with_name("beat_rival.py")
_TICKS, _PASSES_A_MINUTE = 200, 6


@dataclass(frozen=True, slots=True)
class Idle:
    """Processor time of an idle minute: of the process itself, and of its backend in the database."""

    process_seconds: float
    backend_seconds: float


def main(words: Sequence[str]) -> int:
    """Claims of due schedules at scale, beside django-celery-beat."""
    parser = argparse.ArgumentParser(prog="./syncova bench control", description=main.__doc__)
    parser.add_argument("--schedules", type=int, default=100_000)
    parser.add_argument("--due", type=int, default=10_000)
    parser.add_argument("--schedulers", type=int, default=4)
    parser.add_argument("--beat", type=Path, metavar="PYTHON", help="interpreter with django-celery-beat")
    parser.add_argument("--waiting", type=int, default=5000, help="runs that wait for admission")
    parser.add_argument("--runs", type=int, default=1_000_000, help="finished runs in the lists")
    parser.add_argument("--stack", type=int, default=0, metavar="MINUTES", help="measure all processes together")
    given = parser.parse_args(words)
    with private_servers.session_directory() as directory:
        layout, account = private_servers.layout_in(directory)
        database = private_servers.start_database(layout, account)
        try:
            machine = this_machine(directory)
            _say(f"{machine.processor}, {machine.cores} cores, load {machine.load:.1f}, {machine.kernel}")
            set_up(directory, new_database(layout, database.test_url, "syncova_bench"))
            if given.due:
                _measure(given)
            if given.waiting:
                _measure_queue(new_database(layout, database.test_url, "queue_bench"), given)
            if given.beat is not None:
                _measure_rival(layout, account, given)
        finally:
            postgres.stop(database.running.identity)
    if given.stack:
        from tests.benchmarks import control_stack

        control_stack.tell(jobs=20, minutes=given.stack)
    return 0


def _measure(given: argparse.Namespace) -> None:
    from tests.benchmarks import control_rows

    control_rows.idle_passes(1)
    rows = control_rows.fill(schedules=given.schedules, due=given.due)
    _say(f"{given.schedules} schedules of as many jobs, {given.due} of them due at one instant")
    ticks = sorted(control_rows.claim_seconds(rows.before) for _ in range(_TICKS))
    p95 = ticks[int(len(ticks) * 0.95)]
    _say(f"claim tick, none due: median {_ms(statistics.median(ticks))}, p95 {_ms(p95)}, worst {_ms(ticks[-1])}")
    _tell_idle("Syncova", _idle_minute(lambda: control_rows.idle_passes(_PASSES_A_MINUTE)))
    claims = _claim_side_by_side(given.schedulers, rows.instant)
    control_rows.refuse_losses(rows, [one.claimed for one in claims])
    begun = min(one.begun for one in claims)
    first, last = min(one.first for one in claims) - begun, max(one.last for one in claims) - begun
    shares = [one.claimed for one in claims]
    _say(
        f"{given.due} due, {given.schedulers} schedulers, from due to claimed, once a pass has begun (one every 10 s):"
    )
    _say(f"  the first {first:.2f} s, all {last:.2f} s after the instant ({shares})")
    process, backend = sum(one.process for one in claims), sum(one.backend for one in claims)
    _say(f"  processor time: {process:.2f} s of the schedulers together, {backend:.2f} s of their backends")


def _measure_queue(url: str, given: argparse.Namespace) -> None:
    _use(url)
    from tests.benchmarks import control_queue, history_rows

    jobs = history_rows.make_queue(repositories=50, waiting=given.waiting)
    history_rows.make_history(jobs, runs=given.runs)
    _say(f"{given.runs} finished runs, {given.waiting} that wait, 50 repositories")
    for line in (*control_queue.lists(jobs), *control_queue.admissions()):
        _say(line)


def _use(url: str) -> None:
    from django.core.management import call_command
    from django.db import connections

    connections["default"].close()
    connections["default"].settings_dict.update(database_settings(url))
    call_command("migrate", verbosity=0)


def set_up(directory: Path, url: str) -> None:
    """Configure Django for the private database; nothing of the environment's own servers is touched."""
    for name in [name for name in os.environ if name.startswith("SYNCOVA_")]:
        del os.environ[name]
    (directory / "none.env").touch()
    os.environ |= {"SYNCOVA_SETTINGS_FILE": str(directory / "none.env"), "SYNCOVA_DATA_DIR": str(directory)}
    os.environ["DJANGO_SETTINGS_MODULE"] = "syncova_project.settings"
    import django
    from django.conf import settings
    from django.core.management import call_command
    from django.db import connections

    connections.settings["default"].update(database_settings(url))
    settings.SECRET_KEY = "benchmark"
    settings.SYNCOVA_SECRET_KEYS = [os.urandom(32)]
    settings.SYNCOVA_MIGRATION_DATABASE_URL = None
    settings.SYNCOVA_BROKER_URL = ""
    settings.SYNCOVA_DOORBELL, settings.SYNCOVA_WAKE = "tests.jobs.bells.ring", "tests.jobs.bells.wake"
    django.setup()
    call_command("migrate", verbosity=0)


def new_database(layout: Any, url: str, name: str) -> str:
    """Make an empty database, and return its address."""
    passwords = postgres.keep_passwords(layout.secrets)
    role = private_servers.TEST_ROLE
    with postgres.connected(layout, postgres.SUPERUSER, passwords.superuser, postgres.SUPERUSER) as cursor:
        cursor.execute(f"CREATE DATABASE {name} OWNER {role}")
    return socket_database_url(user=role, password=passwords.owner, name=name, directory=layout.sockets)


@dataclass(frozen=True, slots=True)
class _Claims:
    """What one scheduler did: when it began, had its first batch and was through, and its processor time."""

    begun: float
    first: float
    last: float
    claimed: int
    process: float
    backend: float


def _claim_side_by_side(schedulers: int, now: Any) -> list[_Claims]:
    """Let schedulers claim from one start, and return what each did."""
    from django.db import connections

    connections.close_all()
    gate, told = _FORK.Barrier(schedulers), _FORK.Queue()
    processes = [_FORK.Process(target=_claim, args=(gate, told, now)) for _ in range(schedulers)]
    for process in processes:
        process.start()
    results = [told.get(timeout=600) for _ in processes]
    for process in processes:
        process.join()
    return results


def _claim(gate: Any, told: Any, now: Any) -> None:
    from django.db import connection

    from jobs.claims import claim_due

    pid = backend_of(connection)
    gate.wait()
    begun, process, backend = time.monotonic(), time.process_time(), cpu_seconds(pid)
    claimed = claim_due(now=now, most_batches=1).queued
    first = time.monotonic()
    claimed += claim_due(now=now).queued
    spent = time.process_time() - process, cpu_seconds(pid) - backend
    told.put(_Claims(begun, first, time.monotonic(), claimed, *spent))


def _idle_minute(work: Callable[[], None]) -> Idle:
    from django.db import connection

    backend = backend_of(connection)
    process, before = time.process_time(), cpu_seconds(backend)
    work()
    return Idle(time.process_time() - process, cpu_seconds(backend) - before)


def backend_of(connection: Any) -> int:
    """Return the process id of a connection's backend."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        return int(cursor.fetchone()[0])


def cpu_seconds(process_id: int) -> float:
    """Return what a process has used of the processor, in steps of its clock's ticks."""
    fields = Path(f"/proc/{process_id}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _measure_rival(layout: Any, account: Any, given: argparse.Namespace) -> None:
    passwords = postgres.keep_passwords(layout.secrets)
    with postgres.connected(layout, postgres.SUPERUSER, passwords.superuser, postgres.SUPERUSER) as cursor:
        cursor.execute(f"CREATE DATABASE beat_bench OWNER {private_servers.TEST_ROLE}")
    broker = servers.start_valkey(layout, account)
    told = {
        "host": str(layout.sockets),
        "user": private_servers.TEST_ROLE,
        "password": passwords.owner,
        "name": "beat_bench",
        "broker": broker.url,
        "tasks": given.due,
    }
    try:
        # By standard input: a password in the arguments could be read by everybody.
        done = subprocess.run(
            [given.beat, str(_RIVAL)], input=json.dumps(told), capture_output=True, text=True, check=False
        )
    finally:
        valkey.stop(broker.identity)
    if done.returncode:
        _say(f"django-celery-beat could not be measured: {done.stderr.strip().rpartition(chr(10))[2]}")
        return
    found = json.loads(done.stdout.rpartition("\n{")[1] + done.stdout.rpartition("\n{")[2])
    _say(
        f"django-celery-beat {found['version']}, {given.due} tasks due at one instant: "
        f"first sent {found['first']:.2f} s after it, last {found['last']:.2f} s ({found['sent']} sent)"
    )
    _tell_idle("django-celery-beat", Idle(found["idle_process"], found["idle_backend"]))


def _tell_idle(name: str, idle: Idle) -> None:
    process, backend = idle.process_seconds, idle.backend_seconds
    _say(f"{name}, processor time of an idle minute: {process:.2f} s, and {backend:.2f} s of its backend")


def _ms(seconds: float) -> str:
    return f"{seconds * 1000:.1f} ms"


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()

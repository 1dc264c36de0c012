"""`./syncova bench control`: the claim of due schedules at scale, beside django-celery-beat (5.11).

    ./syncova bench control [--schedules 100000] [--due 10000] [--schedulers 4] [--beat PYTHON]

A private PostgreSQL (and a private Valkey for the rival) in a directory of its own, removed at the end. Measured: a
claim tick with none due, the claim of many due at one instant by several processes, and what an idle minute costs. That
none is claimed twice and none is lost is checked; figures are printed and asserted nowhere. `--beat` names the
interpreter of an environment that holds django-celery-beat, celery[redis] and psycopg; nothing of it is in Syncova's.
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
    given = parser.parse_args(words)
    with private_servers.session_directory() as directory:
        layout, account = private_servers.layout_in(directory)
        database = private_servers.start_database(layout, account)
        try:
            machine = this_machine(directory)
            _say(f"{machine.processor}, {machine.cores} cores, load {machine.load:.1f}, {machine.kernel}")
            _measure(directory, layout, database.test_url, given)
            if given.beat is not None:
                _measure_rival(layout, account, given)
        finally:
            postgres.stop(database.running.identity)
    return 0


def _measure(directory: Path, layout: Any, url: str, given: argparse.Namespace) -> None:
    _set_up(directory, _new_database(layout, url, "syncova_bench"))
    from tests.benchmarks import control_rows

    # An installation's first pass adopts the zone rules: with nothing planned yet that is over at once.
    control_rows.idle_passes(1)
    rows = control_rows.fill(schedules=given.schedules, due=given.due)
    _say(f"{given.schedules} schedules of as many jobs, {given.due} of them due at one instant")
    ticks = sorted(control_rows.claim_seconds(rows.before) for _ in range(_TICKS))
    p95 = ticks[int(len(ticks) * 0.95)]
    _say(f"claim tick, none due: median {_ms(statistics.median(ticks))}, p95 {_ms(p95)}, worst {_ms(ticks[-1])}")
    _tell_idle("Syncova", _idle_minute(lambda: control_rows.idle_passes(_PASSES_A_MINUTE)))
    seconds, claimed, process = _claim_side_by_side(given.schedulers, rows.instant)
    control_rows.refuse_losses(rows, claimed)
    _say(f"{given.due} due, {given.schedulers} schedulers: all claimed {seconds:.2f} s after the instant ({claimed})")
    _say(f"processor time of the schedulers together: {process:.2f} s, without the database's")


def _set_up(directory: Path, url: str) -> None:
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
    settings.SYNCOVA_DOORBELL = settings.SYNCOVA_WAKE = "tests.jobs.bells.wake"
    django.setup()
    call_command("migrate", verbosity=0)


def _new_database(layout: Any, url: str, name: str) -> str:
    passwords = postgres.keep_passwords(layout.secrets)
    role = private_servers.TEST_ROLE
    with postgres.connected(layout, postgres.SUPERUSER, passwords.superuser, postgres.SUPERUSER) as cursor:
        cursor.execute(f"CREATE DATABASE {name} OWNER {role}")
    return socket_database_url(user=role, password=passwords.owner, name=name, directory=layout.sockets)


def _claim_side_by_side(schedulers: int, now: Any) -> tuple[float, list[int], float]:
    """Return the seconds from one start to the last claim, what each process claimed, and their processor time."""
    from django.db import connections

    connections.close_all()
    gate, told = _FORK.Barrier(schedulers), _FORK.Queue()
    processes = [_FORK.Process(target=_claim, args=(gate, told, now)) for _ in range(schedulers)]
    for process in processes:
        process.start()
    results = [told.get(timeout=600) for _ in processes]
    for process in processes:
        process.join()
    begun = min(one[0] for one in results)
    return max(one[1] for one in results) - begun, [one[2] for one in results], sum(one[3] for one in results)


def _claim(gate: Any, told: Any, now: Any) -> None:
    from django.db import connection

    from jobs.claims import claim_due

    connection.ensure_connection()
    gate.wait()
    begun, process = time.monotonic(), time.process_time()
    claimed = claim_due(now=now).queued
    told.put((begun, time.monotonic(), claimed, time.process_time() - process))


def _idle_minute(work: Callable[[], None]) -> Idle:
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        backend = cursor.fetchone()[0]
    process, before = time.process_time(), _cpu_seconds(backend)
    work()
    return Idle(time.process_time() - process, _cpu_seconds(backend) - before)


def _cpu_seconds(process_id: int) -> float:
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

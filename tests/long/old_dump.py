"""A database restored from an old dump, with real servers: `python -m tests.long.old_dump` (6.8).

Backs up by plan, dumps the database, goes on backing up, restores the dump, and lets everything start again: nothing
is claimed, ended or deleted until the repository was indexed; then no instant has run twice and no fence comes again.
"""

import os
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "syncova_project.settings")
for _name in [name for name in os.environ if name.startswith("SYNCOVA_")]:
    del os.environ[_name]
os.environ["SYNCOVA_SETTINGS_FILE"] = os.devnull
os.environ["SYNCOVA_DATA_DIR"] = tempfile.mkdtemp(prefix="syncova-dump-data-")
django.setup()

from django.db import connection  # noqa: E402 - settings come first

from jobs.models import Run, RunEvent, Schedule, ScheduleDecision  # noqa: E402
from jobs.states import RunState  # noqa: E402
from repositories.engine.controllers import read_controllers  # noqa: E402
from repositories.engine.manifest.backups import list_backups  # noqa: E402
from repositories.engine.repository import open_repository  # noqa: E402
from repositories.engine.storage.locations import open_storage  # noqa: E402
from repositories.models import Backup, Repository  # noqa: E402
from syncova_project import clock  # noqa: E402
from syncova_project.embedded import postgres  # noqa: E402
from syncova_project.embedded.programs import programs_for  # noqa: E402
from tests.workers import scenario  # noqa: E402
from tests.workers.harness import PROJECT, Stack, eventually, running_stack  # noqa: E402

MINUTE = {"type": "interval", "every_seconds": 60}
PROCESSES = ("control", "beat", "work")


def tell(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main() -> None:
    """Play it once; an assertion ends it."""
    place = Path(tempfile.mkdtemp(prefix="syncova-dump-"))
    with running_stack() as stack, stack.used_by_django():
        ground = scenario.ground(place, "vault")
        job = scenario.job(ground, scenario.small_tree(place), schedules=[MINUTE])
        _start(stack)
        eventually(lambda: _succeeded() >= 1, seconds=150, what="the first planned run")
        dump = _dump(stack, place)
        tell(f"dumped with {_succeeded()} runs; going on for two minutes")
        eventually(lambda: _succeeded() >= 3, seconds=240, what="two planned runs after the dump")
        stack.kill_processes()
        highest = _highest_fence()
        _restore(stack, dump)
        known = set(Run.objects.values_list("id", flat=True))
        tell(
            f"restored: {Backup.objects.count()} of {len(ground.backup_ids())} backups known, fence {highest} was used"
        )
        _start(stack)
        eventually(lambda: Repository.objects.filter(reindex_wanted_at__isnull=False).first(), what="it knows itself")
        clock.sleep(70)
        assert set(Run.objects.values_list("id", flat=True)) == known, "something was claimed"
        tell(_indexed(stack, ground.repository.name))
        eventually(lambda: Run.objects.exclude(id__in=known).filter(state=RunState.SUCCEEDED).first(), seconds=150)
        _prove(ground, highest, job.name)
    tell("nothing is wrong")


def _prove(ground: scenario.Ground, highest: int, job: str) -> None:
    opened = open_repository(open_storage(ground.location), scenario.PASSWORD)
    instants = Counter(each.root.origin.scheduled_for_ns for each in list_backups(opened))
    assert set(instants.values()) == {1}, f"an instant ran twice: {instants}"
    fences = [each.root.origin.run_fence for each in list_backups(opened)]
    assert len(fences) == len(set(fences)), f"a fence came twice: {fences}"
    assert _highest_fence() > highest
    (mark,) = read_controllers(opened)
    assert mark.epoch == 2
    assert Backup.objects.count() >= len(ground.backup_ids()) - 1
    passed = ScheduleDecision.objects.filter(reason_code="ran_before_restore")
    assert passed.count() == 1
    lost = RunEvent.objects.filter(actor="reindex").count()
    tell(f"{job}: {passed[0].count} instants passed over, {lost} runs of the dump ended, {len(fences)} backups")
    assert Schedule.objects.get().next_at is not None


def _highest_fence() -> int:
    return max(fence or 0 for fence in Run.objects.values_list("fence", flat=True))


def _succeeded() -> int:
    return Run.objects.filter(state=RunState.SUCCEEDED).count()


def _start(stack: Stack) -> None:
    stack.start_control()
    stack.start_beat()
    stack.start_worker("work", group="vault")


def _dump(stack: Stack, place: Path) -> Path:
    path = place / "dump"
    path.write_bytes(_program(stack, "pg_dump", "--format=custom", "syncova"))
    return path


def _restore(stack: Stack, dump: Path) -> None:
    connection.close()
    with postgres.connected(stack.place, "postgres", _password(stack), "postgres") as cursor:
        cursor.execute("DROP DATABASE syncova WITH (FORCE)")
        cursor.execute("CREATE DATABASE syncova OWNER syncova_owner")
    _program(stack, "pg_restore", "--dbname=syncova", "--exit-on-error", given=dump.read_bytes())


def _program(stack: Stack, name: str, *words: str, given: bytes = b"") -> bytes:
    programs = programs_for(stack.account, stack.place.programs)
    done = subprocess.run(
        [str(programs.postgres_bin / name), "-h", str(stack.place.sockets), "-U", "postgres", *words],
        env={"PATH": "/usr/bin:/bin", "PGPASSWORD": _password(stack)},
        input=given,
        stdout=subprocess.PIPE,
        check=True,
    )
    return done.stdout


def _indexed(stack: Stack, name: str) -> str:
    command = [sys.executable, "manage.py", "reindex_repository", name]
    done = subprocess.run(command, cwd=PROJECT, env=stack.environment(), capture_output=True, text=True, check=True)
    return done.stdout.strip()


def _password(stack: Stack) -> str:
    return postgres.keep_passwords(stack.place.secrets).superuser


if __name__ == "__main__":
    main()

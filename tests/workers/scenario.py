"""What the tests of this directory back up, and how they make it: repositories, trees, jobs, and questions about runs.

A bandwidth limit on a job is how a test holds a run in its middle: the engine is the real one and reads slowly.
"""

import os
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.db import connection

from jobs.database_time import database_now
from jobs.models import Job, Run, RunEvent, RunLogChunk, TaskRun, WorkerProcess
from jobs.revisions import write_revision
from jobs.services import NewJob, SourceInput, job_create, run_request
from jobs.states import FINISHED_STATES, RunState
from repositories.engine.creation import CreateOptions
from repositories.engine.keys.kdf import KdfParameters
from repositories.engine.manifest.backups import list_backups
from repositories.engine.repository import create_repository, open_repository
from repositories.engine.storage.locations import open_storage
from repositories.models import Backup, Repository, RepositoryFreeze, RepositoryState
from repositories.services import repository_inspected, repository_register
from syncova_project import clock
from syncova_project.embedded import processes
from tests import canaries
from tests.workers.harness import eventually

PASSWORD = canaries.repository_password("worked-on").encode()
SOURCE = canaries.source_name("tree")
CHEAP = KdfParameters(memory_kib=64, iterations=1, lanes=1)
# Slow enough that a run of SLOW_BYTES lasts until the test has done with it.
SLOW_RATE, SLOW_BYTES = 200_000, 12_000_000


@dataclass(frozen=True)
class Ground:
    """One registered repository of one worker group, in a directory of the test."""

    directory: Path
    group: str
    repository: Repository

    @property
    def location(self) -> str:
        """Where the repository lies."""
        return self.repository.location

    def backup_ids(self) -> list[str]:
        """Return the ids of all backups as the repository itself tells them, with no database."""
        opened = open_repository(open_storage(self.location), PASSWORD)
        return [backup.root.backup_id for backup in list_backups(opened)]


def ground(directory: Path, group: str, *, name: str = "repository") -> Ground:
    """Make a repository and register it as opened; test_runs proves that a worker opens one by itself."""
    repository_hex = new_repository(directory / name)
    repository = registered(str(directory / name), group)
    repository_inspected(repository_id=repository.id, repository_hex=repository_hex, now=database_now())
    repository.refresh_from_db()
    return Ground(directory, group, repository)


def new_repository(place: Path, password: bytes = PASSWORD) -> str:
    """Make a repository whose key is cheap to derive; returns its own id."""
    options = CreateOptions(password=password, kdf=CHEAP, insecure_no_password=not password)
    made = create_repository(open_storage(str(place)), options)
    return made.repository.id


def registered(location: str, group: str, password: bytes = PASSWORD) -> Repository:
    """Register a repository; a worker of the group is asked to open it."""
    return repository_register(
        name=f"{group}-{uuid.uuid4().hex[:8]}",
        location=location,
        password=password,
        worker_group=group,
        actor="test",
        now=database_now(),
    )


def answered(repository: Repository) -> Repository:
    """Wait until a worker has opened a registered repository, or said why not."""
    eventually(lambda: _state(repository) != RepositoryState.REGISTERING, what="the repository is opened")
    repository.refresh_from_db()
    return repository


def serving(group: str) -> None:
    """Wait until a worker of the group is counted on."""
    eventually(lambda: WorkerProcess.objects.filter(runner__name=group).exists(), what=f"a worker serves {group}")


def small_tree(directory: Path, name: str = SOURCE) -> Path:
    """Make a few files."""
    tree = directory / name
    (tree / "sub").mkdir(parents=True)
    for number in range(5):
        (tree / "sub" / f"file-{number}").write_bytes(os.urandom(2000))
    return tree


def settled(*trees: Path) -> tuple[Path, ...]:
    """Wait until the trees are no longer young: content changed less than 2 s before a backup is read again."""
    newest = max(path.lstat().st_ctime for tree in trees for path in [tree, *tree.rglob("*")])
    clock.sleep(max(0.0, newest + 2.5 - clock.now().timestamp()))
    return trees


def large_tree(directory: Path, name: str = "large", size: int = SLOW_BYTES) -> Path:
    """Make a tree of `size` bytes; one of SLOW_BYTES takes long at SLOW_RATE."""
    tree = directory / name
    tree.mkdir()
    for number in range(30):
        (tree / f"file-{number:02}").write_bytes(os.urandom(size // 30))
    return tree


def job(
    place: Ground,
    *sources: Path,
    bandwidth: int | None = None,
    max_attempts: int = 3,
    schedules: Sequence[Mapping[str, Any]] = (),
) -> Job:
    """Make a job; without schedules it runs by hand."""
    new = NewJob(
        name=f"job-{uuid.uuid4().hex[:8]}",
        repository_id=place.repository.id,
        sources=[SourceInput(path=os.fsencode(source)) for source in sources],
        bandwidth_limit_bps=bandwidth,
        max_attempts=max_attempts,
        schedules=schedules,
    )
    return job_create(new, actor="test", now=database_now())


def request(asked: Job) -> Run:
    """Ask for a run."""
    return run_request(job_id=asked.id, actor="test", now=database_now())


def finished(run: Run, *, seconds: float = 60) -> Run:
    """Wait for the end of a run and return its row."""
    return eventually(lambda: _if(run.id, *FINISHED_STATES), seconds=seconds, what=f"the end of run {run.id}")


def running(run: Run, *, read_bytes: int = 0, seconds: float = 60) -> Run:
    """Wait until a run is in its middle: running, with progress of more than `read_bytes` written to its row."""

    def question() -> Run | None:
        row = _if(run.id, RunState.RUNNING)
        return row if row and row.progress and row.progress["bytes_read"] > read_bytes else None

    return eventually(question, seconds=seconds, what=f"the middle of run {run.id}")


def successor_of(run: Run) -> Run:
    """Wait for the run that follows `run`."""
    return eventually(lambda: Run.objects.filter(origin_run=run).first(), what=f"what follows run {run.id}")


def codes(run: Run) -> list[str]:
    """Return the codes of a run's events in their order."""
    return list(RunEvent.objects.filter(run_id=run.id).order_by("id").values_list("code", flat=True))


def tasks(run: Run) -> list[TaskRun]:
    """Return a run's task runs in their order."""
    return list(TaskRun.objects.filter(run_id=run.id).order_by("position"))


def engine_of(run: Run) -> processes.Identity:
    """Return the engine process of a running run: the one child of its supervisor."""
    children = Path(f"/proc/{supervisor_of(run)}/task/{supervisor_of(run)}/children").read_text().split()
    assert len(children) == 1
    identity = processes.identify(int(children[0]))
    assert identity is not None
    return identity


def supervisor_of(run: Run) -> int:
    """Return the process that executes a running run."""
    return int(run.worker.rpartition(":")[2])


def rows_of(run: Run) -> list[Any]:
    """Return everything that the database holds about a run."""
    asked: list[Any] = [Run.objects.filter(id=run.id)]
    asked += [model.objects.filter(run_id=run.id).order_by("id") for model in (TaskRun, RunEvent, RunLogChunk, Backup)]
    return [list(rows.values()) for rows in asked]


def without_brake(changed: Job) -> None:
    """Take the bandwidth limit off a job: its next run pins this new revision."""
    changed.refresh_from_db()
    changed.bandwidth_limit_bps = None
    changed.revision_number += 1
    changed.save()
    write_revision(changed, "test", now=database_now())


def open_reasons(place: Ground) -> list[str]:
    """Return why the repository is frozen now."""
    rows = RepositoryFreeze.objects.filter(repository=place.repository, cleared_at=None)
    return list(rows.values_list("reason", flat=True))


def next_fence() -> int:
    """Take the next fence of the sequence."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT nextval('run_fences')")
        return int(cursor.fetchone()[0])


def _if(run_id: uuid.UUID, *states: str) -> Run | None:
    return Run.objects.filter(id=run_id, state__in=states).first()


def _state(repository: Repository) -> str:
    return Repository.objects.values_list("state", flat=True).get(pk=repository.pk)

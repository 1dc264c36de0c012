"""The engine executor called directly, with the real engine and database: what it records and what it refuses."""

import datetime as dt
import os
import signal
import threading
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from jobs.executors import ExecutionRequest, ExecutionResult, ExecutionSource, Progress
from jobs.leases import LeaseLostError
from jobs.states import CancelOrigin, FailureClass, RunKind, TaskState, Trigger
from repositories.engine.manifest.backups import list_backups
from repositories.engine.repository import open_repository
from repositories.engine.storage.locations import open_storage
from repositories.models import Backup, Repository, RepositoryFreeze
from syncova_project.errors import ConfigurationError
from tests.workers import scenario
from tests.workers.scenario import Ground
from workers import backup_events, engine_run
from workers.executor import EngineExecutor

pytestmark = pytest.mark.django_db


@dataclass
class Control:
    """A control that says what the test wants, and writes at once."""

    origin: CancelOrigin | None = None
    held: bool = True
    lines: list[str] = field(default_factory=list)
    asked: int = 0

    def cancelled(self) -> CancelOrigin | None:
        return self.origin

    def heartbeat(self, progress: Progress) -> None:
        return

    def confirm(self) -> None:
        self.asked += 1
        if not self.held:
            raise LeaseLostError("lost")

    def log(self, level: str, message: str) -> None:
        self.lines.append(f"{level}: {message}")

    def record(self, action: Callable[[], object]) -> None:
        try:
            action()
        except ArithmeticError as error:
            self.lines.append(f"not recorded: {error!r}")


@pytest.fixture(autouse=True)
def silent(settings: Any) -> None:
    settings.SYNCOVA_INSPECT = ""


def request_for(place: Ground, *paths: Path, fence: int = 1) -> ExecutionRequest:
    return ExecutionRequest(
        run_id=uuid.uuid4(),
        fence=fence,
        kind=RunKind.BACKUP,
        repository_id=place.repository.id,
        job_id=uuid.uuid4(),
        job_name="job",
        revision=1,
        sources=tuple(
            ExecutionSource(uuid.uuid4(), uuid.uuid4(), str(path), "filesystem", os.fsencode(path), (), "chain")
            for path in paths
        ),
        bandwidth_limit_bps=None,
        strict=False,
        scheduled_for=dt.datetime(2026, 1, 1, 2, microsecond=1, tzinfo=dt.UTC),
        trigger=Trigger.SCHEDULE,
        attempt=1,
        max_runtime_seconds=None,
        parameters={},
    )


def execute(request: ExecutionRequest, control: Control | None = None) -> ExecutionResult:
    return EngineExecutor().execute(request, control or Control())


def test_a_backup_is_confirmed_recorded_and_returned(place: Ground) -> None:
    """A4, A8, A9: the run is known from the id; the row is a reference to the manifest."""
    control, request = Control(), request_for(place, scenario.small_tree(place.directory), fence=9)
    result = execute(request, control)
    (source,) = result.sources
    assert (result.failure, source.state, control.asked) == (None, TaskState.SUCCEEDED, 1)
    row = Backup.objects.get()
    assert (row.backup_id, row.manifest_id, row.run_id) == (source.backup_id, source.manifest_id, request.run_id)
    assert row.backup_id.startswith(f"run-{request.run_id}-")
    (stored,) = list_backups(open_repository(open_storage(place.location), scenario.PASSWORD))
    origin = stored.root.origin
    assert (origin.run_id, origin.run_fence, origin.trigger) == (str(request.run_id), 9, "schedule")
    assert origin.scheduled_for_ns == 1_767_232_800_000_001_000
    place.repository.refresh_from_db()
    assert (place.repository.fence_intended, place.repository.fence_confirmed) == (9, 9)


def test_a_record_that_cannot_be_written_fails_nothing(place: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    """A9."""
    monkeypatch.setattr(backup_events, "backup_record", lambda **_: 1 // 0)
    control = Control()
    result = execute(request_for(place, scenario.small_tree(place.directory)), control)
    assert result.sources[0].state is TaskState.SUCCEEDED
    assert any("ZeroDivisionError" in line for line in control.lines)


@pytest.mark.parametrize(
    ("figures", "says"),
    [({"fence_intended": 9, "fence_confirmed": 8}, "rolled back"), ({"fence_intended": 2}, "older than")],
)
def test_a_fence_that_cannot_be_freezes_the_repository(place: Ground, figures: dict[str, int], says: str) -> None:
    """execution.md, section 5: a rolled back repository, and a database that is an older dump."""
    tree = scenario.small_tree(place.directory)
    execute(request_for(place, tree, fence=5))
    Repository.objects.filter(pk=place.repository.pk).update(**{"fence_confirmed": 0, **figures})
    execute(request_for(place, tree, fence=3))
    freeze = RepositoryFreeze.objects.get(repository=place.repository, cleared_at=None)
    assert says in freeze.reason


def test_without_a_proof_of_the_lease_nothing_is_committed(place: Ground) -> None:
    request = request_for(place, scenario.small_tree(place.directory))
    with pytest.raises(LeaseLostError):
        execute(request, Control(held=False))
    assert place.backup_ids() == []
    assert not Backup.objects.exists()


def test_a_cancel_is_obeyed(place: Ground) -> None:
    tree = scenario.large_tree(place.directory, size=3_000_000)
    request = replace(request_for(place, tree), bandwidth_limit_bps=100_000)

    class Impatient(Control):
        def heartbeat(self, progress: Progress) -> None:
            self.origin = CancelOrigin.USER

    result = execute(request, Impatient())
    assert result.cancelled is CancelOrigin.USER
    assert place.backup_ids() == []


@dataclass
class Saboteur(Control):
    """Signals the engine as soon as it has read something."""

    number: signal.Signals = signal.SIGKILL
    origin_after: CancelOrigin | None = None

    def heartbeat(self, progress: Progress) -> None:
        if progress.bytes_read and self.origin is None and not self.asked:
            self.asked, self.origin = 1, self.origin_after
            for child in Path(f"/proc/{os.getpid()}/task/{threading.get_native_id()}/children").read_text().split():
                if "repositories.engine.process" in Path(f"/proc/{child}/cmdline").read_text():
                    os.kill(int(child), self.number)


def test_a_killed_engine_is_a_transient_failure(place: Ground) -> None:
    """C5: for instance by the out-of-memory killer; the retry policy applies and nothing is half there."""
    tree = scenario.large_tree(place.directory, size=3_000_000)
    result = execute(replace(request_for(place, tree), bandwidth_limit_bps=100_000), Saboteur())
    assert result.failure is not None
    assert (result.failure.code, result.failure.failure_class) == ("ENGINE_LOST", FailureClass.TRANSIENT)
    assert place.backup_ids() == []


def test_a_stuck_engine_is_killed_when_it_does_not_obey(place: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    """E2: asked, then killed after the grace, and only then told as cancelled."""
    monkeypatch.setattr(engine_run, "GRACE_SECONDS", 0.5)
    tree = scenario.large_tree(place.directory, size=3_000_000)
    control = Saboteur(number=signal.SIGSTOP, origin_after=CancelOrigin.USER)
    result = execute(replace(request_for(place, tree), bandwidth_limit_bps=100_000), control)
    assert result.cancelled is CancelOrigin.USER
    children = Path(f"/proc/{os.getpid()}/task/{threading.get_native_id()}/children").read_text().split()
    assert not any("repositories.engine.process" in Path(f"/proc/{pid}/cmdline").read_text() for pid in children)
    assert place.backup_ids() == []


def test_a_repository_that_is_gone_ends_the_run_at_once(place: Ground) -> None:
    Path(place.location).rename(place.directory / "moved")
    result = execute(request_for(place, scenario.small_tree(place.directory)))
    assert result.failure is not None
    assert (result.failure.code, result.sources) == ("REPOSITORY_NOT_FOUND", ())


def test_a_wrong_password_is_told_as_such(tmp_path: Path) -> None:
    scenario.new_repository(tmp_path / "repository")
    repository = scenario.registered(str(tmp_path / "repository"), "direct", password=b"wrong")
    result = execute(request_for(Ground(tmp_path, "direct", repository), scenario.small_tree(tmp_path)))
    assert result.failure is not None
    assert (result.failure.code, result.failure.failure_class) == ("WRONG_PASSWORD", FailureClass.AUTHENTICATION)


def test_a_sealed_password_without_its_key_is_no_crash(place: Ground, settings: Any) -> None:
    settings.SYNCOVA_SECRET_KEYS = [os.urandom(32)]
    result = execute(request_for(place, scenario.small_tree(place.directory)))
    assert result.failure is not None
    assert (result.failure.code, result.failure.failure_class) == ("SECRET_UNREADABLE", FailureClass.AUTHENTICATION)


def test_an_executor_without_key_material_cannot_be_made(settings: Any) -> None:
    """A5: refused when it is set up."""
    settings.SYNCOVA_SECRET_KEYS = []
    with pytest.raises(ConfigurationError):
        EngineExecutor()


@pytest.mark.parametrize("allowed", [True, False])
def test_an_unencrypted_repository_needs_leave_and_warns_each_time(
    tmp_path: Path, settings: Any, allowed: bool
) -> None:
    """A5."""
    settings.SYNCOVA_ALLOW_UNENCRYPTED = True
    scenario.new_repository(tmp_path / "repository", password=b"")
    repository = scenario.registered(str(tmp_path / "repository"), "direct", password=b"")
    settings.SYNCOVA_ALLOW_UNENCRYPTED = allowed
    control = Control()
    result = execute(request_for(Ground(tmp_path, "direct", repository), scenario.small_tree(tmp_path)), control)
    assert (result.failure is None) is allowed
    assert any("unencrypted" in line for line in control.lines) is allowed


def test_a_source_outside_this_machines_roots_is_refused_at_the_run(place: Ground, settings: Any) -> None:
    """execution.md, section 3: refused at save and at run; the other sources are backed up all the same."""
    allowed, outside = scenario.small_tree(place.directory), scenario.small_tree(place.directory, "outside")
    settings.SYNCOVA_SOURCE_ROOTS = [str(allowed)]
    result = execute(request_for(place, outside, allowed))
    refused, done = result.sources
    assert refused.failure is not None
    assert (refused.failure.code, refused.state) == ("SOURCE_NOT_ALLOWED", TaskState.FAILED)
    assert done.state is TaskState.SUCCEEDED
    settings.SYNCOVA_SOURCE_ROOTS = ["/nowhere"]
    assert {each.state for each in execute(request_for(place, outside, allowed)).sources} == {TaskState.FAILED}
    assert len(place.backup_ids()) == 1


def test_a_check_reads_and_tells_damage(place: Ground) -> None:
    execute(request_for(place, scenario.small_tree(place.directory)))
    request = replace(request_for(place), kind=RunKind.CHECK, parameters={"read_data": True})
    good = execute(request)
    assert (good.failure, good.parameters["backups"], good.parameters["read_data"]) == (None, 1, True)
    pack = next(path for path in Path(place.location, "packs").rglob("*") if path.is_file())
    content = bytearray(pack.read_bytes())
    content[len(content) // 2] ^= 1
    pack.chmod(0o600)
    pack.write_bytes(content)
    control = Control()
    damaged = execute(request, control)
    assert damaged.failure is not None
    assert damaged.failure.failure_class is FailureClass.INTEGRITY
    assert control.lines


def test_a_kind_that_it_does_not_know_is_refused(place: Ground) -> None:
    result = execute(replace(request_for(place), kind=RunKind.DRILL))
    assert result.failure is not None
    assert result.failure.failure_class is FailureClass.CONFIGURATION

"""First backups of real children that end by a signal, and what the next child still reads (2.15)."""

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from repositories.engine.manifest.backups import list_backups
from repositories.engine.process.client import EngineProcess
from repositories.engine.process.protocol import Event, Failed, Log, Progress, SourceFigures, SourceFinished
from repositories.engine.repository import Repository
from tests.engine.process.children import PATIENCE, backup_request, collect, run, wait_for, wait_until
from tests.engine.repositories import local_repository, restore_latest
from tests.engine.trees import assert_same, describe, pattern

FILES = 40
SIZE = 50_000
YOUNG_SECONDS = 2.0


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files that are old enough to be trusted by their times."""
    path = tmp_path_factory.mktemp("interrupted") / "tree"
    path.mkdir()
    for number in range(FILES):
        (path / f"file-{number:02}").write_bytes(pattern(SIZE, number))
    time.sleep(YOUNG_SECONDS + 0.1)
    return path


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return local_repository(tmp_path / "repo")


def broken_off(
    location: Path, tree: Path, when: Callable[[EngineProcess], None], how: signal.Signals, **fields: object
) -> Event | None:
    """Back up at 400 kB a second and send a signal; return the child's last event, if it still said one."""
    request = backup_request(location, tree, bandwidth_bytes_per_second=400_000, **fields)
    with EngineProcess(request) as process:
        when(process)
        os.kill(process.pid, how)
        events = collect(process)
        assert process.wait(PATIENCE) is not None
    return events[-1] if events else None


def goes_on(location: Path, tree: Path) -> tuple[SourceFigures, list[str]]:
    """Back up again; return the figures and what was logged."""
    events = run(backup_request(location, tree))
    (figures,) = (event.result for event in events if isinstance(event, SourceFinished))
    assert figures is not None
    return figures, [event.message for event in events if isinstance(event, Log)]


def require_the_rest_is_read(repository: Repository, tree: Path, directory: Path) -> None:
    assert list_backups(repository) == []
    figures, told = goes_on(directory / "repo", tree)
    assert figures.bytes_read <= (FILES - 2) * SIZE
    assert (figures.mode, figures.files, figures.logical_bytes) == ("full", FILES, FILES * SIZE)
    assert len(told) == 1
    assert told[0].startswith("goes on from a checkpoint of 20")
    assert restore_latest(repository, directory / "out", verify=True).exit_code == 0
    assert_same(describe(tree), describe(directory / "out"))


def some_read(process: EngineProcess) -> None:
    """Wait until some files have been read."""
    wait_for(process, lambda event: isinstance(event, Progress) and event.files >= 3)


def checkpoint_put(repository: Repository) -> Callable[[EngineProcess], None]:
    """Wait until a checkpoint that holds some files lies on the medium."""

    def is_there() -> bool:
        return len(list(repository.object_names("checkpoints/"))) > 4

    return lambda process: wait_until(is_there)


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_a_child_that_is_asked_to_stop_leaves_a_checkpoint(
    how: signal.Signals, tmp_path: Path, tree: Path, repository: Repository
) -> None:
    last = broken_off(tmp_path / "repo", tree, some_read, how)
    assert isinstance(last, Failed)
    assert last.error.code == "CANCELLED"
    require_the_rest_is_read(repository, tree, tmp_path)


def test_a_child_that_is_killed_left_its_last_checkpoint(tmp_path: Path, tree: Path, repository: Repository) -> None:
    when = checkpoint_put(repository)
    broken_off(tmp_path / "repo", tree, when, signal.SIGKILL, checkpoint_seconds=0.0)
    require_the_rest_is_read(repository, tree, tmp_path)

"""Workers keep indexes of large repositories as command lines do, in a directory that is theirs alone (4.3, C6)."""

import datetime as dt
import stat
import uuid
from pathlib import Path
from typing import Any

import pytest

from jobs.executors import ExecutionRequest
from jobs.states import RunKind, Trigger
from repositories.engine.high_water import HighWater
from repositories.opening import RepositoryAccess
from tests import canaries
from workers.engine_request import backup_request, check_request, info_request, skipped_paths
from workers.kept_indexes import kept_directory


@pytest.fixture
def data(tmp_path: Path, settings: Any) -> Path:
    directory = tmp_path / "data"
    directory.mkdir(mode=0o700)
    settings.DATA_DIR = directory
    return directory


def access() -> RepositoryAccess:
    return RepositoryAccess(
        uuid.uuid4(), "/mnt/backups", canaries.repository_password("registered").encode(), None, HighWater()
    )


def execution() -> ExecutionRequest:
    return ExecutionRequest(
        run_id=uuid.uuid4(),
        fence=1,
        kind=RunKind.BACKUP,
        repository_id=uuid.uuid4(),
        job_id=uuid.uuid4(),
        job_name="job",
        revision=1,
        sources=(),
        bandwidth_limit_bps=None,
        strict=False,
        scheduled_for=dt.datetime(2026, 1, 1, 2, tzinfo=dt.UTC),
        trigger=Trigger.SCHEDULE,
        attempt=1,
        max_runtime_seconds=None,
        parameters={},
    )


def test_each_request_names_the_directory_and_no_backup_walks_into_it(data: Path) -> None:
    requests = (
        backup_request(execution(), access()),
        check_request(access(), read_data=False),
        info_request(access()),
    )
    assert {each.repository.kept_directory for each in requests} == {bytes(data / "indexes")}
    assert stat.S_IMODE((data / "indexes").stat().st_mode) == 0o700
    assert str(data).encode() in skipped_paths("/mnt/backups")


def test_it_is_used_again(data: Path) -> None:
    first = kept_directory()
    (data / "indexes" / "kept.index").write_bytes(b"kept")
    assert kept_directory() == first
    assert (data / "indexes" / "kept.index").read_bytes() == b"kept"


def test_without_a_data_directory_nothing_is_kept_and_none_is_made(tmp_path: Path, settings: Any) -> None:
    settings.DATA_DIR = tmp_path / "absent"
    assert kept_directory() is None
    assert not settings.DATA_DIR.exists()
    assert info_request(access()).repository.kept_directory is None


def test_a_link_is_not_followed(data: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir(mode=0o700)
    (data / "indexes").symlink_to(elsewhere)
    assert kept_directory() is None


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o750])
def test_a_directory_that_is_open_to_others_is_not_used(data: Path, mode: int) -> None:
    (data / "indexes").mkdir()
    (data / "indexes").chmod(mode)
    assert kept_directory() is None


@pytest.mark.parametrize("mode", [0o770, 0o703])
def test_nothing_is_kept_where_others_could_put_another_directory(data: Path, mode: int) -> None:
    data.chmod(mode)
    assert kept_directory() is None
    assert not (data / "indexes").exists()


def test_a_file_in_its_place_is_left_alone(data: Path) -> None:
    (data / "indexes").write_bytes(b"something else")
    assert kept_directory() is None
    assert (data / "indexes").read_bytes() == b"something else"

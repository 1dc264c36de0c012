"""Backups through a child: the events in their order, and which errors end a source, which the run."""

import uuid
from pathlib import Path

import msgspec
import pytest

from repositories.engine.errors import ConfigurationError
from repositories.engine.ids import backup_id
from repositories.engine.manifest.backups import list_backups, walk_entries
from repositories.engine.process.protocol import (
    ConfirmWanted,
    Event,
    Log,
    Opened,
    Progress,
    SourceFinished,
    SourceStarted,
)
from repositories.engine.process.requests import ControllerReference, Request, SourceOptions, SourceRequest
from repositories.engine.repository import Repository
from repositories.engine.throttle import parse_rate
from tests.engine.process.children import access, backup_request, failure, result, run
from tests.engine.repositories import local_repository


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return local_repository(tmp_path / "repo")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    path = tmp_path / "tree"
    (path / "below").mkdir(parents=True)
    (path / "below" / "file").write_text("content")
    return path


def without_progress(events: list[Event]) -> list[Event]:
    return [event for event in events if not isinstance(event, Progress)]


def finished(events: list[Event]) -> list[SourceFinished]:
    return [event for event in events if isinstance(event, SourceFinished)]


def test_a_backup_tells_its_steps_in_order(tmp_path: Path, repository: Repository, tree: Path) -> None:
    """A4: opened once, each source backed up, confirmed directly before its commit."""
    request = backup_request(tmp_path / "repo", tree)
    events = run(request)
    kinds = [type(event) for event in without_progress(events)[:-1]]
    assert kinds == [Opened, SourceStarted, ConfirmWanted, SourceFinished]
    assert isinstance(events[0], Opened)
    assert events[0].repository_id == repository.id
    figures = finished(events)[0].result
    assert figures is not None
    assert (figures.files, figures.directories, figures.bytes_read, figures.mode) == (1, 1, 7, "full")
    assert request.run is not None
    assert figures.backup_id == backup_id(uuid.UUID(request.run.id), "filesystem", bytes(tree))
    assert [backup.id for backup in list_backups(repository)] == [figures.backup_id]
    assert result(events) == {"succeeded": 1, "failed": 0}


def test_the_second_run_builds_on_the_first(tmp_path: Path, repository: Repository, tree: Path) -> None:
    """A7: incremental by default, in one chain."""
    (tree / "below" / "file").touch()
    run(backup_request(tmp_path / "repo", tree))
    figures = finished(run(backup_request(tmp_path / "repo", tree)))[0].result
    assert figures is not None
    assert figures.mode == "incremental"
    assert figures.parent_id == list_backups(repository)[0].id


@pytest.mark.parametrize("again", ["", "/", "/../tree"])
def test_a_source_named_twice_is_refused_before_anything_is_stored(
    tmp_path: Path, repository: Repository, tree: Path, again: str
) -> None:
    """Both backups would have one id, and none of the two could be chosen by it."""
    request = backup_request(tmp_path / "repo", tree)
    second = msgspec.structs.replace(
        request.sources[0], key="1", name="other", path=request.sources[0].path + again.encode()
    )
    events = run(msgspec.structs.replace(request, sources=(*request.sources, second)))
    assert failure(events).error.code == "CONFIGURATION"
    assert "named twice" in failure(events).error.message
    assert list_backups(repository) == []


def test_a_backup_id_is_never_given_twice(tmp_path: Path, repository: Repository, tree: Path) -> None:
    request = backup_request(tmp_path / "repo", tree)
    first = finished(run(request))[0]
    second = finished(run(request))[0]
    assert (first.status, second.status) == ("succeeded", "failed")
    assert second.error is not None
    assert second.error.code == "BACKUP_EXISTS"
    assert len(list_backups(repository)) == 1


def test_missing_packs_are_told_and_stored_again(tmp_path: Path, repository: Repository, tree: Path) -> None:
    run(backup_request(tmp_path / "repo", tree))
    for pack in (tmp_path / "repo" / "packs").glob("*/*"):
        pack.unlink()
    events = run(backup_request(tmp_path / "repo", tree))
    (told,) = (event.message for event in events if isinstance(event, Log))
    assert told.startswith("2 packs of the repository are missing or cut: ")
    figures = finished(events)[0].result
    assert figures is not None
    assert figures.new_chunks == 2


def test_a_failed_source_does_not_end_the_run(tmp_path: Path, repository: Repository, tree: Path) -> None:
    """A6: a missing source, a bad rule and an unknown parent each end their source alone."""
    rules = backup_request(tmp_path / "repo", tree / "below", source={"excludes": ("a line\nbreak",)})
    parent = backup_request(tmp_path / "repo", tmp_path, source={"options": SourceOptions(parent="nonesuch")})
    request = backup_request(tmp_path / "repo", tmp_path / "missing", tree)
    sources = (*request.sources, rename(rules, "rules"), rename(parent, "parent"))
    events = run(Request(operation="backup", repository=request.repository, run=request.run, sources=sources))
    ended = {event.source: event for event in finished(events)}
    assert {key: event.status for key, event in ended.items()} == {
        "0": "failed",
        "1": "succeeded",
        "rules": "failed",
        "parent": "failed",
    }
    missing = ended["0"].error
    assert missing is not None
    assert (missing.code, missing.failure_class) == ("SOURCE_MISSING", "source")
    assert result(events) == {"succeeded": 1, "failed": 3}
    assert len(list_backups(repository)) == 1


def rename(request: Request, key: str) -> SourceRequest:
    return msgspec.structs.replace(request.sources[0], key=key, name=key)


def test_a_refused_confirmation_commits_nothing(tmp_path: Path, repository: Repository, tree: Path) -> None:
    """execution.md 1: 0 rows at confirm = LeaseLost, nothing is committed and the run stops."""
    events = run(backup_request(tmp_path / "repo", tree, tree / "below"), ok=False)
    assert failure(events).error.code == "LEASE_LOST"
    assert sum(isinstance(event, SourceStarted) for event in events) == 1
    assert list_backups(repository) == []
    assert finished(run(backup_request(tmp_path / "repo", tree)))[0].status == "succeeded"


@pytest.mark.parametrize(
    ("change", "code", "exit_code", "failure_class"),
    [
        ({"password": "wrong"}, "WRONG_PASSWORD", 12, "authentication"),
        ({"location": "nothing/here"}, "REPOSITORY_NOT_FOUND", 10, "configuration"),
        ({"location": "sftp://user:secret@host/x"}, "CONFIGURATION", 2, "configuration"),
        ({"location": "b2://bucket/x"}, "LOCATION_NOT_AVAILABLE", 2, "configuration"),
    ],
)
def test_what_cannot_be_opened_ends_with_its_code(
    change: dict[str, str], code: str, exit_code: int, failure_class: str, tmp_path: Path, repository: Repository
) -> None:
    fields = {"location": "repo", **change}
    location = fields.pop("location")
    where = access(location if "://" in location else tmp_path / location, **fields)  # type: ignore[arg-type]
    error = failure(run(backup_request(tmp_path / "repo", tmp_path, repository=where))).error
    assert (error.code, error.exit_code, error.failure_class) == (code, exit_code, failure_class)
    assert "secret" not in error.message
    assert repository.id


def test_a_repository_error_ends_the_run(tmp_path: Path, repository: Repository, tree: Path) -> None:
    """execution.md 3: a repository error ends the run at once; nothing of it is visible."""
    (tmp_path / "repo" / "packs").write_bytes(b"a file where a directory must be")
    error = failure(run(backup_request(tmp_path / "repo", tree, tree / "below"))).error
    assert error.failure_class == "repository"
    assert list_backups(repository) == []


def test_a_control_plane_is_recorded_and_told_what_stood_there(
    tmp_path: Path, repository: Repository, tree: Path
) -> None:
    """execution.md 5: put at each opening for writing; `opened` tells the state before, a lower one is not put."""
    identity = str(uuid.uuid4())
    seen: list[Opened] = []
    for epoch, fence in ((1, 5), (1, 9), (1, 7)):
        mine = ControllerReference(id=identity, epoch=epoch, fence_intended=fence)
        opened = run(backup_request(tmp_path / "repo", tree, controller=mine))[0]
        assert isinstance(opened, Opened)
        seen.append(opened)
    assert [opened.highest_fence for opened in seen] == [0, 5, 9]
    assert [[known.highest_fence for known in opened.controllers] for opened in seen] == [[], [5], [9]]
    assert repository.id


def test_a_swapped_repository_is_told_and_used(tmp_path: Path, repository: Repository, tree: Path) -> None:
    """A10: the run goes on, the mismatch is shown."""
    where = access(tmp_path / "repo", expected_id="00" * 16)
    events = run(backup_request(tmp_path / "repo", tree, repository=where))
    warnings = [event.message for event in events if isinstance(event, Log) and event.level == "warning"]
    assert len(warnings) == 1
    assert repository.id in warnings[0]
    assert finished(events)[0].status == "succeeded"


def test_the_repository_below_a_source_is_left_out(tmp_path: Path, repository: Repository, tree: Path) -> None:
    """1.19: the repository's own parent can be a source."""
    events = run(backup_request(tmp_path / "repo", tmp_path, skip_paths=(bytes(tmp_path / "repo"),)))
    assert finished(events)[0].status == "succeeded"
    (backup,) = list_backups(repository)
    paths = [path for path, _ in walk_entries(repository, backup)]
    assert bytes(tree.name, "ascii") in paths
    assert not any(path.startswith(b"repo/") for path in paths)


def test_the_bandwidth_is_checked_before_the_repository_is_opened(tmp_path: Path) -> None:
    """C7: a bad limit is told even where there is no repository."""
    error = failure(run(backup_request(tmp_path / "none", tmp_path, bandwidth_bytes_per_second=0))).error
    assert error.code == ConfigurationError.code
    assert parse_rate("1MB") == 2**20


def test_warnings_count_as_skipped_with_strict(tmp_path: Path, repository: Repository, tree: Path) -> None:
    """engine.md 3: `strict` reaches the backup."""
    request = backup_request(tmp_path / "repo", tree, strict=True, tags=("weekly",), compression="max")
    assert finished(run(request))[0].status == "succeeded"
    assert list_backups(repository)[0].root.origin.tags == ("weekly",)
    error = failure(run(backup_request(tmp_path / "repo", tree, compression="fluffy"))).error
    assert error.code == "CONFIGURATION"

"""Restore, check, info and list through a child."""

import os
import signal
from pathlib import Path

import pytest

from repositories.engine.process.client import EngineProcess
from repositories.engine.process.protocol import Failed, Opened, Progress
from repositories.engine.process.requests import CheckOrder, Request, RestoreOrder
from repositories.engine.repository import Repository
from tests.engine.process.children import PATIENCE, access, collect, failure, result, run, wait_for
from tests.engine.repositories import back_up_tree, local_repository
from tests.tree_facts import facts


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return local_repository(tmp_path / "repo")


@pytest.fixture
def tree(tmp_path: Path, repository: Repository) -> Path:
    path = tmp_path / "tree"
    path.mkdir()
    for number in range(20):
        (path / f"file-{number}").write_bytes(os.urandom(50_000))
    back_up_tree(repository, path)
    return path


def restore_request(tmp_path: Path, **order: object) -> Request:
    wanted = RestoreOrder(backup="latest", target=bytes(tmp_path / "restored"), **order)  # type: ignore[arg-type]
    return Request(operation="restore", repository=access(tmp_path / "repo"), restore=wanted)


def test_restore(tmp_path: Path, tree: Path) -> None:
    events = run(restore_request(tmp_path, verify=True))
    assert isinstance(events[0], Opened)
    assert any(isinstance(event, Progress) and event.source is None for event in events)
    told = result(events)
    assert (told["state"], told["files"], told["verified_files"]) == ("restored", 20, 20)
    assert facts(tmp_path / "restored") == facts(tree)


@pytest.mark.parametrize(
    ("order", "code"),
    [
        ({"overwrite": "perhaps"}, "CONFIGURATION"),
        ({"paths": (b"../out",)}, "CONFIGURATION"),
        ({"paths": (b"/elsewhere",)}, "CONFIGURATION"),
        ({"source": "nobody"}, "BACKUP_NOT_FOUND"),
        ({"at_ns": 0}, "BACKUP_NOT_FOUND"),
    ],
)
def test_restores_that_make_no_sense(tmp_path: Path, tree: Path, order: dict[str, object], code: str) -> None:
    assert failure(run(restore_request(tmp_path, **order))).error.code == code
    assert not (tmp_path / "restored").exists()
    assert tree.exists()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_stopped_restore_is_finished_by_the_next(tmp_path: Path, tree: Path, number: signal.Signals) -> None:
    """engine.md 7: a broken-off restore is just run again."""
    request = restore_request(tmp_path)
    slow = Request(
        operation="restore",
        repository=request.repository,
        restore=request.restore,
        bandwidth_bytes_per_second=100_000,
    )
    with EngineProcess(slow) as process:
        wait_for(process, lambda event: isinstance(event, Progress) and event.bytes_read > 0)
        os.kill(process.pid, number)
        last = collect(process)[-1]
        assert isinstance(last, Failed)
        assert last.error.code == ("CANCELLED" if number == signal.SIGTERM else "ENGINE_LOST")
        process.wait(PATIENCE)
    assert result(run(request))["state"] == "restored"
    assert facts(tmp_path / "restored") == facts(tree)


def test_check_info_list(tmp_path: Path, tree: Path, repository: Repository) -> None:
    where = access(tmp_path / "repo")
    checked = result(run(Request(operation="check", repository=where, check=CheckOrder(read_data=True))))
    assert (checked["ok"], checked["backups"], checked["problems"]) == (True, 1, [])
    info = result(run(Request(operation="info", repository=where)))
    assert (info["repository_id"], info["backups"], info["sources"]) == (repository.id, 1, ["tree"])
    (listed,) = result(run(Request(operation="list", repository=where)))["backups"]
    assert (listed["source"], listed["files"], listed["path"]) == ("tree", 20, str(tree))


def test_a_check_gives_the_next_step_and_list_shows_what_it_found(
    tmp_path: Path, tree: Path, repository: Repository
) -> None:
    for pack in (tmp_path / "repo" / "packs").glob("*/*"):
        pack.unlink()
    where = access(tmp_path / "repo")
    checked = result(run(Request(operation="check", repository=where)))
    assert (checked["exit_code"], checked["remembered"]) == (13, True)
    assert "back up the sources again" in checked["hint"]
    (listed,) = result(run(Request(operation="list", repository=where)))["backups"]
    assert listed["state"] == "damaged"
    back_up_tree(repository, tree)
    checked = result(run(Request(operation="check", repository=where)))
    assert (checked["ok"], checked["replaced_packs"], checked["hint"]) == (True, 2, "")
    documents = result(run(Request(operation="list", repository=where)))["backups"]
    assert [each["state"] for each in documents] == ["complete", "complete"], "the first is whole again, too"


def test_the_newest_backup_may_be_the_one_that_is_damaged(tmp_path: Path, tree: Path, repository: Repository) -> None:
    for manifest in (tmp_path / "repo").glob("**/manifests/*"):
        manifest.chmod(0o600)
        manifest.write_bytes(b"damaged")
    told = failure(run(restore_request(tmp_path))).error
    assert (told.code, "1 manifest cannot be read" in told.message, "manifests/" in told.message) == (
        "INTEGRITY",
        True,
        True,
    )


@pytest.mark.parametrize("operation", ["backup", "restore"])
def test_an_operation_without_its_order_is_refused(tmp_path: Path, repository: Repository, operation: str) -> None:
    request = Request(operation=operation, repository=access(tmp_path / "repo"))  # type: ignore[arg-type]
    assert failure(run(request)).error.code == "CONFIGURATION"
    assert repository.id

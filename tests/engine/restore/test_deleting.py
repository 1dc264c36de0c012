"""`--delete`: all that the backup does not hold below the restored paths, and nothing else, whatever lies there."""

import os
import shutil
import stat
import subprocess
from pathlib import Path

import pytest

from repositories.engine.backup import Hooks
from repositories.engine.errors import ConfigurationError, OperationCancelledError
from repositories.engine.repository import Repository
from repositories.engine.restore import Deletion, Overwrite, RestoreResult
from repositories.engine.restore import guard as reasons
from tests.engine.repositories import back_up_tree, make_repository, plan_latest, restore_latest
from tests.engine.restore.deletions import CHANGED, build_tree, deleting, restore_and_add
from tests.engine.trees import Description, assert_same, describe, remove_deep
from tests.engine.users import as_ordinary_user


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return build_tree(tmp_path / "tree")


@pytest.fixture
def repository(tree: Path) -> Repository:
    repository = make_repository()
    back_up_tree(repository, tree)
    return repository


@pytest.fixture
def out(tmp_path: Path, repository: Repository) -> Path:
    return restore_and_add(repository, tmp_path / "out")


def test_everything_that_the_backup_does_not_hold(repository: Repository, tree: Path, out: Path) -> None:
    result = deleting(repository, out)
    assert (result.scope, result.deleted, result.deleted_bytes) == ([b""], 20, 30)
    assert (b"a/b/more", 3) in result.deleted_paths
    assert (b"empty/extra", 1) in result.deleted_paths
    assert_same(describe(tree), describe(out))


def test_only_below_the_selected_paths(repository: Repository, tree: Path, out: Path) -> None:
    before = describe(out)
    result = deleting(repository, out, paths=(b"a/b", b"empty", b"file"))
    gone = {path for path in before if path.startswith((b"a/b/extra", b"a/b/more", b"empty/"))}
    assert result.scope == [b"a/b", b"empty", b"file"]
    assert set(describe(out)) == set(before) - gone
    assert result.deleted == len(gone)


def test_a_single_file_has_no_neighbours_to_delete(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    for name in ("one", "two"):
        (home / name).write_bytes(name.encode())
    repository = make_repository()
    back_up_tree(repository, home / "one")
    (home / "one").write_bytes(b"changed")
    for paths in ((), (b"one",), (b".",)):
        assert deleting(repository, home, paths=paths).deleted == 0
    assert sorted(os.listdir(home)) == ["one", "two"]
    assert (home / "one").read_bytes() == b"one"


def test_no_link_is_followed(repository: Repository, out: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    (outside / "b").mkdir(parents=True)
    (outside / "precious").write_bytes(b"p")
    (outside / "b" / "precious").write_bytes(b"p")
    shutil.rmtree(out / "a" / "b")
    (out / "a" / "b").symlink_to(outside / "b")
    (out / "a" / "away").symlink_to(outside)
    os.utime(out / "a" / "b", ns=(2 * 10**18, 2 * 10**18), follow_symlinks=False)
    result = deleting(repository, out, overwrite=Overwrite.IF_NEWER)
    assert (b"a/away", 1) in result.deleted_paths
    assert sorted(describe(outside)) == [b".", b"b", b"b/precious", b"precious"]
    assert (out / "a" / "b").is_symlink(), "a newer link was kept, and what it leads to is none of ours"


def test_never_overwriting_and_deleting_exclude_each_other(repository: Repository, out: Path) -> None:
    before = describe(out)
    for call in (restore_latest, plan_latest):
        with pytest.raises(ConfigurationError, match="overwriting never"):
            call(repository, out, deletion=Deletion())
    assert describe(out) == before


def test_a_tree_of_great_depth(repository: Repository, tree: Path, out: Path) -> None:
    """2.1: no recursion, no path length."""
    try:
        here = os.open(out / "more", os.O_RDONLY)
        for _ in range(2000):
            os.mkdir("directory", dir_fd=here)
            below = os.open("directory", os.O_RDONLY, dir_fd=here)
            os.close(here)
            here = below
        os.close(here)
        assert deleting(repository, out).deleted == 20 + 2000
    finally:
        if (out / "more").exists():
            remove_deep(out / "more")
    assert_same(describe(tree), describe(out))


def test_closed_directories_of_an_ordinary_user(repository: Repository, tree: Path, out: Path, tmp_path: Path) -> None:
    for above in (tmp_path, *tmp_path.parents[:2]):
        above.chmod(above.stat().st_mode | stat.S_IXOTH)

    def run() -> tuple[RestoreResult, Description]:
        (out / "more" / "deep").chmod(0)
        (out / "more").chmod(0o500)
        (out / "a" / "b").chmod(0o500)
        (out / "empty" / "more" / "stays.tmp").write_bytes(b"t")
        (out / "empty" / "more").chmod(0o511)
        planned = plan_latest(repository, out, overwrite=CHANGED, deletion=Deletion())
        result = restore_latest(repository, out, overwrite=CHANGED, deletion=Deletion())
        assert planned.deletion is not None
        assert result.deletion is not None
        assert planned.deletion.deleted < result.deletion.deleted, "a closed directory cannot be counted by looking"
        return result, describe(out)

    back_up_tree(repository, tree, excludes=("*.tmp",))
    result, found = as_ordinary_user(run, out)
    assert result.deletion is not None
    assert (result.deletion.failed, result.failed) == (0, 0)
    assert dict(result.deletion.spared_paths) == {b"empty/more/stays.tmp": reasons.EXCLUDED}
    assert found.pop(b"empty/more")["mode"] == stat.S_IFDIR | 0o511, "what stays gets its mode back"
    del found[b"empty/more/stays.tmp"]
    assert_same(describe(tree), found, ("uid", "gid"))


def test_what_may_not_be_deleted_is_named_with_its_reason(repository: Repository, out: Path) -> None:
    try:
        subprocess.run(["chattr", "+i", out / "a" / "extra"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("nothing can be made immutable here")
    try:
        result = restore_latest(repository, out, overwrite=CHANGED, deletion=Deletion())
    finally:
        subprocess.run(["chattr", "-i", out / "a" / "extra"], check=True)
    assert result.deletion is not None
    assert result.deletion.failed_paths == [(b"a/extra", "it is immutable (chattr -i lifts that)")]
    assert (result.deletion.deleted, result.exit_code) == (19, 3)


def test_a_cancelled_restore_has_deleted_nothing_yet(repository: Repository, out: Path) -> None:
    (out / "file").unlink()
    before = describe(out)
    with pytest.raises(OperationCancelledError):
        restore_latest(repository, out, overwrite=CHANGED, deletion=Deletion(), hooks=Hooks(cancelled=lambda: True))
    assert set(before) <= set(describe(out))

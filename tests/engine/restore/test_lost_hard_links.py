"""Hard links that the target has lost: made again where that was asked for, kept and named where not (2.2, 2.4)."""

import errno
import os
import shutil
from pathlib import Path

import pytest

from repositories.engine.repository import Repository
from repositories.engine.restore import Overwrite
from tests.engine.repositories import back_up_tree, make_repository, plan_latest, restore_latest
from tests.engine.trees import assert_same, describe


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "tree"
    root.mkdir()
    (root / "a").write_bytes(b"same")
    os.link(root / "a", root / "b")
    (root / "l").symlink_to("nowhere")
    os.link(root / "l", root / "m", follow_symlinks=False)
    return root


@pytest.fixture
def repository(tree: Path) -> Repository:
    made = make_repository()
    back_up_tree(made, tree)
    return made


@pytest.fixture
def out(tree: Path, tmp_path: Path) -> Path:
    """A target that holds all, equal, and each name as an object of its own."""
    target = tmp_path / "out"
    target.mkdir()
    for path in tree.iterdir():
        shutil.copy2(path, target / path.name, follow_symlinks=False)
    shutil.copystat(tree, target)
    assert (target / "b").stat().st_nlink == (target / "m").lstat().st_nlink == 1
    return target


@pytest.mark.parametrize("verify", [False, True])
@pytest.mark.parametrize("overwrite", [Overwrite.IF_CHANGED, Overwrite.ALWAYS])
def test_overwriting_makes_the_links_again(
    repository: Repository, tree: Path, out: Path, overwrite: Overwrite, verify: bool
) -> None:
    plan = plan_latest(repository, out, overwrite=overwrite)
    result = restore_latest(repository, out, overwrite=overwrite, verify=verify)
    assert (result.exit_code, result.warnings, result.shortfalls) == (0, {}, [])
    assert_same(describe(tree), describe(out))
    if overwrite is Overwrite.IF_CHANGED:
        assert (plan.replaced_paths, plan.replaced_bytes) == ([b"b", b"m"], 0)
        assert (result.files, result.links, result.bytes_written) == (1, 1, 0)
        again = plan_latest(repository, out, overwrite=overwrite)
        assert (again.replaced, again.created, again.kept) == (0, 0, 0)


@pytest.mark.parametrize("overwrite", [Overwrite.NEVER, Overwrite.IF_NEWER])
def test_who_does_not_overwrite_is_told_of_them(repository: Repository, out: Path, overwrite: Overwrite) -> None:
    """Of equal age, they are not older than the backup's."""
    before = describe(out)
    plan = plan_latest(repository, out, overwrite=overwrite)
    result = restore_latest(repository, out, overwrite=overwrite)
    assert (result.exit_code, result.kept_paths, result.shortfalls) == (3, [b"b", b"m"], [])
    assert (plan.exit_code, plan.kept_paths) == (3, [b"b", b"m"])
    assert_same(before, describe(out))


def test_a_part_and_then_the_whole(repository: Repository, tree: Path, tmp_path: Path) -> None:
    target = tmp_path / "parts"
    restore_latest(repository, target, paths=(b"b", b"m"))
    plan = plan_latest(repository, target, overwrite=Overwrite.IF_CHANGED)
    assert (plan.created_paths, plan.replaced_paths) == ([b"a", b"l"], [b"b", b"m"])
    assert (plan.created_bytes, plan.replaced_bytes) == (4, 0)
    assert restore_latest(repository, target, overwrite=Overwrite.IF_CHANGED).exit_code == 0
    assert_same(describe(tree), describe(target))


def test_only_what_the_file_system_refused_is_its_shortfall(
    repository: Repository, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))

    before = describe(out)
    monkeypatch.setattr("repositories.engine.restore.objects.os.link", refuse)
    result = restore_latest(repository, out, overwrite=Overwrite.IF_CHANGED)
    assert (result.exit_code, result.warnings, result.existing) == (0, {"hard_link": 2}, 5 - 1)
    assert_same(before, describe(out))


def test_a_first_name_that_is_kept_leaves_the_others_to_each_other(repository: Repository, out: Path) -> None:
    """What was the second name is judged as an object of its own then."""
    (out / "a").write_bytes(b"mine")
    plan, result = plan_latest(repository, out), restore_latest(repository, out)
    assert plan.kept_paths == [b"a", b"m"]
    assert sorted(result.kept_paths) == [b"a", b"m"]

"""Restores in place: which place that is, and when a backup has none."""

import os
from pathlib import Path

import msgspec
import pytest

from repositories.engine.errors import RestoreTargetError
from repositories.engine.manifest.backups import Backup, list_backups
from repositories.engine.repository import Repository
from repositories.engine.restore import Deletion, Overwrite, in_place_target, refuse_outside
from tests.engine.repositories import back_up_tree, restore_latest
from tests.engine.trees import assert_same, describe

HOST = "testhost"


def newest(repository: Repository) -> Backup:
    return list_backups(repository)[-1]


def target(repository: Repository) -> Path:
    return Path(os.fsdecode(in_place_target(newest(repository), HOST)))


def test_a_tree_comes_back_where_it_was(tmp_path: Path, repository: Repository) -> None:
    tree = tmp_path / "tree"
    (tree / "below").mkdir(parents=True)
    (tree / "below" / "file").write_bytes(b"f")
    (tree / "file").write_bytes(b"f")
    back_up_tree(repository, tree)
    before = describe(tree)
    (tree / "below" / "file").unlink()
    (tree / "below").rmdir()
    (tree / "below").symlink_to("/etc")
    (tree / "file").write_bytes(b"changed")
    (tree / "new").mkdir()
    result = restore_latest(
        repository, target(repository), overwrite=Overwrite.IF_CHANGED, deletion=Deletion(), verify=True
    )
    assert (result.exit_code, result.verified_files) == (0, 2)
    assert_same(before, describe(tree))


def test_by_default_nothing_that_is_there_is_lost(tmp_path: Path, repository: Repository) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    for name in ("gone", "changed"):
        (tree / name).write_bytes(b"backed up")
    back_up_tree(repository, tree)
    (tree / "gone").unlink()
    (tree / "changed").write_bytes(b"precious")
    result = restore_latest(repository, target(repository))
    assert (result.files, result.kept_paths) == (1, [b"changed"])
    assert (tree / "changed").read_bytes() == b"precious"


def test_a_place_that_is_gone_is_made(tmp_path: Path, repository: Repository) -> None:
    tree = tmp_path / "home" / "tree"
    tree.mkdir(parents=True)
    (tree / "file").write_bytes(b"f")
    back_up_tree(repository, tree)
    before = describe(tree)
    (tree / "file").unlink()
    tree.rmdir()
    tree.parent.rmdir()
    restore_latest(repository, target(repository))
    assert_same(before, describe(tree))


def test_a_single_file_comes_back_into_its_directory(tmp_path: Path, repository: Repository) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "file").write_bytes(b"backed up")
    (tmp_path / "link").symlink_to(home / "file")
    for named in (home / "file", tmp_path / "link"):
        back_up_tree(repository, named)
        assert target(repository) == home
        (home / "file").unlink()
        if named.is_symlink():
            (home / "neighbour").write_bytes(b"n")
        home.chmod(0o750)
        mode = home.stat().st_mode
        (tmp_path / "link").unlink(missing_ok=True)
        (tmp_path / "link").symlink_to(home / "file")
        restore_latest(repository, target(repository), overwrite=Overwrite.ALWAYS, deletion=Deletion())
        assert (home / "file").read_bytes() == b"backed up"
        assert (home / "neighbour").exists() == named.is_symlink()
        assert home.stat().st_mode == mode
    assert (tmp_path / "link").is_symlink()


def test_another_host_and_what_is_no_place(tmp_path: Path, repository: Repository) -> None:
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "x").write_bytes(b"")
    back_up_tree(repository, tmp_path / "tree")
    backup = newest(repository)
    for host in ("other", ""):
        with pytest.raises(RestoreTargetError, match="made on testhost") as caught:
            in_place_target(backup, host)
        assert f"--target {tmp_path}/tree" in caught.value.hint
    for changes in ({"type": "stdin", "id": b"stdin:dump"}, {"type": "device", "id": b"/dev/sda"}, {"id": b"relative"}):
        source = msgspec.structs.replace(backup.root.source, **changes)
        other = msgspec.structs.replace(backup, root=msgspec.structs.replace(backup.root, source=source))
        with pytest.raises(RestoreTargetError, match="no place"):
            in_place_target(other, HOST)
    nameless = msgspec.structs.replace(backup.root.source, host="")
    with pytest.raises(RestoreTargetError, match="unnamed"):
        in_place_target(msgspec.structs.replace(backup, root=msgspec.structs.replace(backup.root, source=nameless)), "")


def test_a_place_is_bounded_with_links_resolved(tmp_path: Path) -> None:
    """Roots and our own data as the kernel finds them, whatever links their names lead through."""
    home, own = tmp_path / "home", tmp_path / "home" / "own"
    own.mkdir(parents=True)
    (tmp_path / "root").symlink_to(home)
    (tmp_path / "out").mkdir()
    (home / "away").symlink_to(tmp_path / "out")
    refuse_outside(os.fsencode(home / "me"), [os.fsencode(tmp_path / "root")], [os.fsencode(own)])
    refuse_outside(b"/anything", [b"/"], [])
    for target, roots in (
        (home / "away", [home]),
        (tmp_path / "home-2", [home]),
        (own / "below", [home]),
        (tmp_path / "root" / "own", [home]),
    ):
        with pytest.raises(RestoreTargetError):
            refuse_outside(os.fsencode(target), [os.fsencode(root) for root in roots], [os.fsencode(own)])

"""Restores that bring everything back, or say of each thing that did not come back as it was why."""

import os
import stat
from pathlib import Path
from typing import cast

import pytest

from repositories.engine.backup import Hooks
from repositories.engine.errors import RestoreTargetError
from repositories.engine.repository import Repository, open_repository
from repositories.engine.restore import RestoreResult
from repositories.engine.storage.memory import MemoryStorage
from repositories.engine.throttle import Throttle
from tests.engine.repositories import PASSWORD, back_up_tree, make_repository, restore_latest
from tests.engine.trees import IS_ROOT, Description, assert_same, build_everything, describe, pattern, remove_deep
from tests.engine.users import as_ordinary_user


def test_everything_comes_back_bit_for_bit(tmp_path: Path, repository: Repository, everything: Description) -> None:
    """engine.md 1.7, A17: names, content, types, modes, owners, times, links, attributes."""
    result = restore_latest(repository, tmp_path / "out", verify=True)
    assert_same(everything, describe(tmp_path / "out"))
    assert (result.exit_code, result.warnings, result.kept, result.existing) == (0, {}, 0, 0)
    assert result.verified_files > 40


def test_an_incremental_backup_restores_by_itself(
    tmp_path: Path, repository: Repository, everything: Description
) -> None:
    tree = tmp_path / "tree"
    (tree / "small").write_bytes(b"changed")
    (tree / "large").unlink()
    (tree / "added").mkdir()
    (tree / "hard c").unlink()
    back_up_tree(repository, tree)
    before = describe(tree)
    assert before != everything
    restore_latest(repository, tmp_path / "out")
    assert_same(before, describe(tmp_path / "out"))


def test_sparse_files_come_back_sparse(tmp_path: Path, repository: Repository, everything: Description) -> None:
    restore_latest(repository, tmp_path / "out")
    for name in ("all hole", "hole at end", "hole at start", "hole in the middle"):
        assert (tmp_path / "out" / name).stat().st_blocks * 512 < 100_000


def test_paths_beyond_the_systems_limit_come_back(tmp_path: Path, repository: Repository) -> None:
    """2.1: paths beyond PATH_MAX, more directories than descriptors are kept."""
    depth, name = 200, b"deeper" * 5
    (tmp_path / "tree").mkdir()
    descriptor = os.open(tmp_path / "tree", os.O_RDONLY)
    for number in range(depth):
        os.mkdir(name, dir_fd=descriptor)
        below = os.open(name, os.O_RDONLY, dir_fd=descriptor)
        os.close(descriptor)
        descriptor = below
        if number % 50 == 0:
            os.close(os.open(b"file", os.O_CREAT | os.O_WRONLY, dir_fd=descriptor))
    os.close(descriptor)
    try:
        back_up_tree(repository, tmp_path / "tree")
        before = describe(tmp_path / "tree")
        assert restore_latest(repository, tmp_path / "out").exit_code == 0
        assert_same(before, describe(tmp_path / "out"))
    finally:
        for root in (tmp_path / "tree", tmp_path / "out"):
            remove_deep(root)


def test_a_target_that_cannot_be_is_named(tmp_path: Path, repository: Repository, everything: Description) -> None:
    (tmp_path / "file").write_bytes(b"")
    for target in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(RestoreTargetError, match="cannot be used"):
            restore_latest(repository, target)


@pytest.mark.skipif(not IS_ROOT, reason="owners other than oneself need root")
def test_an_ordinary_user_gets_all_but_the_owners(tmp_path: Path, repository: Repository) -> None:
    """2.3: what cannot be set is one counted warning per class; setuid is never given to another owner."""
    build_everything(tmp_path / "tree", device=True)
    back_up_tree(repository, tmp_path / "tree")
    before = describe(tmp_path / "tree")
    (tmp_path / "home").mkdir()
    for above in (tmp_path, *tmp_path.parents[:2]):
        above.chmod(above.stat().st_mode | stat.S_IXOTH)

    def run() -> tuple[RestoreResult, Description]:
        result = restore_latest(repository, tmp_path / "home" / "out")
        for path in ("modes/0", "modes/200"):
            (tmp_path / "home" / "out" / path).chmod(0o600)
        found = describe(tmp_path / "home" / "out")
        return result, found

    result, found = as_ordinary_user(run, tmp_path / "home")
    assert result.exit_code == 3  # the two devices
    assert {path for path, _ in result.failed_paths} == {b"null", b"block"}
    assert set(result.warnings) == {"owner", "special_bits", "xattr_security", "xattr_trusted"}
    assert found[b"modes/4755"]["mode"] == stat.S_IFREG | 0o755
    ignored = ("uid", "gid", "xattrs", "mode")
    for path in (b"null", b"block"):
        del before[path]
    assert_same(before, found, ignored)


def test_damaged_content_is_left_out_and_named(tmp_path: Path) -> None:
    """engine.md 4: all else is restored, exit 13."""
    storage = MemoryStorage()
    repository = make_repository(storage)
    tree = tmp_path / "tree"
    tree.mkdir()
    for number in range(12):
        (tree / f"file {number:02}").write_bytes(pattern(700_000, number))
    (tree / "link").symlink_to("x")
    back_up_tree(repository, tree)
    name = next(each for each in storage.objects if each.startswith("packs/") and len(storage.objects[each]) > 10**6)
    data = bytearray(storage.objects[name])
    data[len(data) // 2] ^= 1
    storage.objects[name] = bytes(data)
    result = restore_latest(open_repository(storage, PASSWORD), tmp_path / "out", verify=True)
    assert result.exit_code == 13
    assert 1 <= result.damaged == len(result.damaged_paths) <= 4
    there = {os.fsencode(path.name) for path in (tmp_path / "out").iterdir()}
    assert there == {os.fsencode(path.name) for path in tree.iterdir()} - set(result.damaged_paths)
    for path in there - {b"link"}:
        assert (tmp_path / "out" / os.fsdecode(path)).read_bytes() == (tree / os.fsdecode(path)).read_bytes()


def test_verification_finds_what_was_changed_on_the_target(
    tmp_path: Path, repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "a").write_bytes(pattern(500_000))
    (tree / "b").write_bytes(pattern(500_000, 2))
    back_up_tree(repository, tree)
    real = os.pwrite

    def corrupt(descriptor: int, data: memoryview, position: int) -> int:
        if bytes(data[:20]) == pattern(500_000)[:20]:
            data = memoryview(b"?" + bytes(data[1:]))
        return real(descriptor, data, position)

    monkeypatch.setattr("repositories.engine.restore.writing.os.pwrite", corrupt)
    result = restore_latest(repository, tmp_path / "out", verify=True)
    assert (result.exit_code, result.damaged_paths, result.verified_files) == (3, [], 1)
    assert result.failed_paths == [(b"a", "what is in the target differs from the backup")]


def test_holes_are_not_counted_as_written(tmp_path: Path, repository: Repository) -> None:
    """Nor are they charged to the bandwidth."""
    taken: list[int] = []

    class Bucket:
        def take(self, count: int) -> None:
            taken.append(count)

    tree = tmp_path / "sparse"
    tree.mkdir()
    with (tree / "file").open("wb") as file:
        file.seek(64 * 1024 * 1024)
        file.write(b"x")
        file.truncate(128 * 1024 * 1024)
    back_up_tree(repository, tree)
    result = restore_latest(repository, tmp_path / "out", hooks=Hooks(read_bucket=cast("Throttle", Bucket())))
    assert 0 < result.bytes_written < 1024 * 1024
    assert sum(taken) == result.bytes_written

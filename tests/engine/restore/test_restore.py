"""Restores that bring back everything, part of it, or go on where one broke off."""

import errno
import os
import stat
from pathlib import Path

import pytest

from repositories.engine.backup import Hooks
from repositories.engine.errors import ConfigurationError, OperationCancelledError, RestoreTargetError
from repositories.engine.repository import Repository, open_repository
from repositories.engine.restore import RestoreResult
from repositories.engine.storage.memory import MemoryStorage
from tests.engine.repositories import PASSWORD, back_up_tree, make_repository, restore_latest
from tests.engine.trees import IS_ROOT, Description, assert_same, build_everything, describe, pattern, remove_deep
from tests.engine.users import as_ordinary_user


@pytest.fixture
def repository() -> Repository:
    return make_repository()


@pytest.fixture
def everything(tmp_path: Path, repository: Repository) -> Description:
    """Back up a tree of everything; return what it was."""
    build_everything(tmp_path / "tree")
    before = describe(tmp_path / "tree")
    back_up_tree(repository, tmp_path / "tree")
    return before


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


def test_a_second_restore_finds_everything_identical(
    tmp_path: Path, repository: Repository, everything: Description
) -> None:
    first = restore_latest(repository, tmp_path / "out")
    again = restore_latest(repository, tmp_path / "out")
    assert again.exit_code == 0
    assert (again.files, again.bytes_written, again.kept) == (0, 0, 0)
    assert again.existing == first.files + first.directories + first.links + first.others
    assert_same(everything, describe(tmp_path / "out"))


class Breaks:
    """Lets a number of writes through, then fails all."""

    def __init__(self, writes: int) -> None:
        self.left = writes
        self.real = os.pwrite

    def __call__(self, descriptor: int, data: memoryview, position: int) -> int:
        self.left -= 1
        if self.left < 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        return self.real(descriptor, data, position)


@pytest.mark.parametrize("writes", [0, 1, 7, 30])
def test_a_broken_off_restore_is_just_run_again(
    writes: int, tmp_path: Path, repository: Repository, everything: Description, monkeypatch: pytest.MonkeyPatch
) -> None:
    """engine.md 7: what is identical counts as restored, what is half done is done again."""
    with monkeypatch.context() as patched:
        patched.setattr("repositories.engine.restore.writing.os.pwrite", Breaks(writes))
        with pytest.raises(RestoreTargetError, match="No space"):
            restore_latest(repository, tmp_path / "out")
    assert stat.S_IMODE((tmp_path / "out").stat().st_mode) & 0o777 == 0o700
    result = restore_latest(repository, tmp_path / "out")
    assert result.exit_code == 0
    assert_same(everything, describe(tmp_path / "out"))


def test_a_killed_restore_is_just_run_again(tmp_path: Path, repository: Repository, everything: Description) -> None:
    """A kill leaves half a file under its own name: the mark in its mode tells it from one of the user's."""
    child = os.fork()
    if child == 0:
        count = 0

        def stop(taken: int) -> None:
            nonlocal count
            count += 1
            if count > 20:
                os._exit(9)

        class Bucket:
            take = staticmethod(stop)

        restore_latest(repository, tmp_path / "out", hooks=Hooks(read_bucket=Bucket()))  # type: ignore[arg-type]
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    assert restore_latest(repository, tmp_path / "out").exit_code == 0
    assert_same(everything, describe(tmp_path / "out"))


def test_cancel_stops_and_another_run_goes_on(tmp_path: Path, repository: Repository, everything: Description) -> None:
    with pytest.raises(OperationCancelledError):
        restore_latest(repository, tmp_path / "out", hooks=Hooks(cancelled=lambda: True))
    restore_latest(repository, tmp_path / "out")
    assert_same(everything, describe(tmp_path / "out"))


def test_a_fresh_target_is_closed_to_others_until_it_is_done(
    tmp_path: Path, repository: Repository, everything: Description
) -> None:
    modes: set[int] = set()

    class Bucket:
        def take(self, count: int) -> None:
            for directory in [tmp_path / "out", *(path for path in (tmp_path / "out").iterdir() if path.is_dir())]:
                modes.add(stat.S_IMODE(directory.lstat().st_mode) & 0o077)

    (tmp_path / "out").mkdir(mode=0o777)
    restore_latest(repository, tmp_path / "out", hooks=Hooks(read_bucket=Bucket()))  # type: ignore[arg-type]
    assert modes == {0}
    assert_same(everything, describe(tmp_path / "out"))


@pytest.mark.parametrize("how", ["relative", "absolute", "with slashes"])
def test_a_part_comes_with_the_directories_above_it(
    how: str, tmp_path: Path, repository: Repository, everything: Description
) -> None:
    path = {
        "relative": b"later/hard b",
        "absolute": os.fsencode(tmp_path / "tree/later/hard b"),
        "with slashes": b"./later//hard b/",
    }
    result = restore_latest(repository, tmp_path / "out", paths=(path[how],))
    found = describe(tmp_path / "out")
    assert sorted(found) == [b".", b"later", b"later/hard b"]
    assert found[b"later"] == everything[b"later"]
    assert found[b"."] == everything[b"."]
    assert found[b"later/hard b"]["content"] == everything[b"hard a"]["content"]
    assert (result.files, result.directories) == (1, 1)


def test_whole_subtrees_and_single_files_at_once(
    tmp_path: Path, repository: Repository, everything: Description
) -> None:
    wanted = (b"modes", b"modes/d777", b"links/1", b"small", b"times/0")
    restore_latest(repository, tmp_path / "out", paths=wanted)
    found = describe(tmp_path / "out")
    expected = {
        path: facts
        for path, facts in everything.items()
        if path in (b".", b"links", b"times", *wanted) or path.startswith(b"modes/")
    }
    assert_same(expected, found)


def test_directories_above_that_were_there_stay_as_they_are(
    tmp_path: Path, repository: Repository, everything: Description
) -> None:
    (tmp_path / "out" / "links").mkdir(parents=True)
    (tmp_path / "out" / "links").chmod(0o711)
    (tmp_path / "out").chmod(0o750)
    restore_latest(repository, tmp_path / "out", paths=(b"links/1",))
    assert stat.S_IMODE((tmp_path / "out" / "links").stat().st_mode) == 0o711
    assert stat.S_IMODE((tmp_path / "out").stat().st_mode) == 0o750


def test_paths_that_are_not_in_the_backup_are_told_before_anything_is_made(
    tmp_path: Path, repository: Repository, everything: Description
) -> None:
    for path in (b"nowhere", b"small/below", b"links/1/x", b"modes/nothing/deep"):
        with pytest.raises(ConfigurationError, match="not in the backup"):
            restore_latest(repository, tmp_path / "out", paths=(path,))
    with pytest.raises(ConfigurationError, match="no path within"):
        restore_latest(repository, tmp_path / "out", paths=(b"../etc",))
    assert not (tmp_path / "out").exists()


def test_one_file_as_source_lands_in_the_target(tmp_path: Path, repository: Repository) -> None:
    (tmp_path / "file").write_bytes(b"only")
    back_up_tree(repository, tmp_path / "file")
    restore_latest(repository, tmp_path / "out")
    assert (tmp_path / "out" / "file").read_bytes() == b"only"
    assert stat.S_IMODE((tmp_path / "out").stat().st_mode) == 0o700


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
    assert set(result.warnings) == {"owner", "special_bits", "xattr", "device"}
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
    assert (result.exit_code, result.damaged_paths, result.verified_files) == (13, [b"a"], 1)


def test_slash_as_source_and_back(tmp_path: Path, repository: Repository) -> None:
    """1.19: `/` is a source like any other; everything but one directory is excluded to keep this short."""
    wanted = tmp_path / "wanted"
    wanted.mkdir()
    (wanted / "file").write_bytes(b"f")
    rules: list[str] = []
    for part in [*reversed(wanted.parents), wanted][1:]:
        rules += [f"{part.parent.as_posix().rstrip('/')}/*", f"!{part.as_posix()}"]
    result = back_up_tree(repository, b"/", excludes=tuple(rules))
    assert (result.files, result.directories, result.skipped) == (1, len(wanted.parts) - 1, 0)
    restore_latest(repository, tmp_path / "out", paths=(os.fsencode(wanted),))
    below = tmp_path / "out" / wanted.relative_to("/")
    assert_same(describe(wanted), describe(below))

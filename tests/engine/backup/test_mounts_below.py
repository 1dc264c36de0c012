"""File systems mounted below a source: what is no longer mounted is told until somebody says that it is right (2.6)."""

from collections.abc import Callable
from pathlib import Path

import pytest

from repositories.engine.backup import BackupResult
from repositories.engine.manifest.entries import FLAG_MOUNT_POINT, FLAG_UNMOUNTED
from repositories.engine.repository import Repository
from repositories.engine.source.walker import list_names
from tests.engine.backup.disturbances import disturbed, make_tree
from tests.engine.backup.interruptions import SIZE, broken_off, build_files
from tests.engine.backup.test_dry_run import assert_foretold, foretell
from tests.engine.mounts import (
    bind,
    make_image,
    mount_image,
    mount_overlay,
    mount_proc,
    mount_tmpfs,
    unmount,
    with_mounts,
)
from tests.engine.repositories import back_up_tree, entry_of, make_repository
from tests.engine.trees import IS_ROOT

pytestmark = pytest.mark.skipif(not IS_ROOT, reason="only root may mount")

Mounting = Callable[[Path], None]
MISSING = ("unmounted", b"disk", "the file system that was mounted here in the last backup is not")


@pytest.fixture(params=["tmpfs", "bind", "ext4"])
def mounting(request: pytest.FixtureRequest, tmp_path: Path) -> Mounting:
    """Return how to mount something with a file in it; a bind lies on the same file system as the source."""
    if request.param == "ext4":
        image = make_image(tmp_path / "image")
        return lambda point: mount_image(image, point)

    def mount(point: Path) -> None:
        if request.param == "tmpfs":
            mount_tmpfs(point)
        else:
            (tmp_path / "elsewhere").mkdir(exist_ok=True)
            bind(tmp_path / "elsewhere", point)
        (point / "file").write_bytes(b"x" * 1000)

    return mount


@pytest.fixture
def source(tmp_path: Path) -> Path:
    tree = make_tree(tmp_path / "tree")
    (tree / "disk").mkdir()
    return tree


def told(result: BackupResult) -> list[tuple[str, bytes, str]]:
    return [(str(problem.kind), problem.path, problem.detail) for problem in result.problems]


def flags(repository: Repository, path: bytes = b"disk") -> int:
    return entry_of(repository, path).flags & (FLAG_MOUNT_POINT | FLAG_UNMOUNTED)


def test_it_is_told_each_time_until_it_is_accepted(mounting: Mounting, source: Path) -> None:
    def run() -> None:
        repository = make_repository()
        mounting(source / "disk")
        assert back_up_tree(repository, source).skipped == 0
        assert flags(repository) == FLAG_MOUNT_POINT
        unmount(source / "disk")
        for _ in range(3):
            forecast = foretell(repository, source)
            result = back_up_tree(repository, source)
            assert (result.skipped, told(result)) == (1, [MISSING])
            assert_foretold(forecast, result)
            assert flags(repository) == FLAG_UNMOUNTED
        assert back_up_tree(repository, source, accept_new_root=True).skipped == 0
        assert (back_up_tree(repository, source).skipped, flags(repository)) == (0, 0)

    with_mounts(run)


def test_it_is_told_until_it_is_mounted_again(mounting: Mounting, source: Path) -> None:
    def run() -> None:
        repository = make_repository()
        mounting(source / "disk")
        back_up_tree(repository, source)
        unmount(source / "disk")
        assert back_up_tree(repository, source).skipped == 1
        mounting(source / "disk")
        assert (back_up_tree(repository, source).skipped, flags(repository)) == (0, FLAG_MOUNT_POINT)

    with_mounts(run)


def test_what_lies_there_instead_is_backed_up_with_a_warning(mounting: Mounting, source: Path) -> None:
    """Each time, too; under strict it counts as skipped."""
    (source / "disk" / "left").write_bytes(b"left")

    def run() -> None:
        repository = make_repository()
        mounting(source / "disk")
        back_up_tree(repository, source)
        unmount(source / "disk")
        for strict in (False, True, False):
            result = back_up_tree(repository, source, strict=strict)
            assert (result.skipped, result.warnings, result.files) == (strict, not strict, 5)
            ((kind, path, detail),) = told(result)
            assert (kind, path) == ("leftovers", b"disk")
            assert "what lies here instead was backed up" in detail
        assert back_up_tree(repository, source, accept_new_root=True).warnings == 0
        assert back_up_tree(repository, source).warnings == 0

    with_mounts(run)


@pytest.mark.parametrize("had_parent", [False, True])
def test_it_is_unmounted_before_it_is_looked_at(had_parent: bool, mounting: Mounting, source: Path) -> None:
    """It was there when the walk began: no empty directory, even in a first backup, and for nobody to accept."""

    def run() -> None:
        repository = make_repository()
        mounting(source / "disk")
        if had_parent:
            back_up_tree(repository, source)
            (source / "a").write_bytes(b"changed")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("repositories.engine.source.walker.list_names", unmounting(source / "disk"))
            result = back_up_tree(repository, source, accept_new_root=True)
        assert told(result) == [("unmounted", b"disk", "its file system was unmounted while the source was read")]
        assert (result.skipped, flags(repository)) == (1, FLAG_UNMOUNTED)
        assert told(back_up_tree(repository, source)) == [MISSING]

    with_mounts(run)


def test_it_is_unmounted_after_it_was_looked_at(mounting: Mounting, source: Path) -> None:
    """Its entry is written, what it holds is not read: told now, and in the next backup."""

    def run() -> None:
        repository = make_repository()
        mounting(source / "0")
        result = disturbed(repository, source, lambda _: unmount(source / "0"))
        assert told(result) == [("type_changed", b"0", "its file system was unmounted")]
        assert told(back_up_tree(repository, source)) == [("unmounted", b"0", MISSING[2])]

    # Looked at before the first file is read, entered after it.
    (source / "0").mkdir()
    with_mounts(run)


def unmounting(point: Path) -> Callable[[int], list[bytes]]:
    """Return a listing that unmounts behind the first directory, before anything in it is looked at."""
    waiting = [point]

    def listed(descriptor: int) -> list[bytes]:
        names = list_names(descriptor)
        while waiting:
            unmount(waiting.pop())
        return names

    return listed


def test_a_checkpoint_of_an_accepted_try_accepts_nothing(source: Path) -> None:
    build_files(source)

    def run() -> None:
        repository = make_repository()
        mount_tmpfs(source / "disk")
        (source / "disk" / "file").write_bytes(b"x")
        back_up_tree(repository, source)
        unmount(source / "disk")
        for path in source.rglob("f*"):
            path.write_bytes(path.read_bytes() + b"+")
        broken_off(repository, source, SIZE * 6, accept_new_root=True)
        assert told(back_up_tree(repository, source)) == [MISSING]

    with_mounts(run)


def test_what_is_no_loss_is_not_told(source: Path) -> None:
    """An empty file system, a directory bound onto itself, one that goes with its mount point, one that is left out."""

    def run() -> None:
        repository = make_repository()
        for name in ("empty", "self", "gone", "excluded"):
            (source / name).mkdir()
        (source / "self" / "file").write_bytes(b"x")
        bind(source / "self", source / "self")
        for name in ("empty", "gone", "excluded"):
            mount_tmpfs(source / name)
        for name in ("gone", "excluded"):
            (source / name / "file").write_bytes(b"x")
        back_up_tree(repository, source)
        for name in ("empty", "self", "gone", "excluded"):
            unmount(source / name)
        (source / "gone").rmdir()
        result = back_up_tree(repository, source, excludes=("/excluded",))
        assert (result.skipped, result.warnings) == (0, 0)

    with_mounts(run)


def test_what_the_kernel_makes_up_takes_no_place(source: Path) -> None:
    """It is no loss by itself, and no reason to leave out unsaid what was there before: an automounter that waits."""

    def run() -> None:
        repository = make_repository()
        mount_proc(source / "disk")
        result = back_up_tree(repository, source)
        assert (result.skipped, flags(repository)) == (0, 0)
        unmount(source / "disk")
        mount_tmpfs(source / "disk")
        (source / "disk" / "file").write_bytes(b"x")
        back_up_tree(repository, source)
        unmount(source / "disk")
        mount_proc(source / "disk")
        assert told(back_up_tree(repository, source)) == [MISSING]
        assert told(back_up_tree(repository, source)) == [MISSING]

    with_mounts(run)


def test_what_containers_mount_is_not_remembered(source: Path) -> None:
    """They come and go; the directories that they show are others."""
    for name in ("lower", "upper"):
        (source / name).mkdir()
        (source / name / name).write_bytes(b"x")

    def run() -> bool:
        repository = make_repository()
        if not mount_overlay(source / "lower", source / "upper", source / "disk"):
            return False
        assert back_up_tree(repository, source).files == 8
        assert flags(repository) == 0
        unmount(source / "disk")
        assert back_up_tree(repository, source).skipped == 0
        return True

    if not with_mounts(run):
        pytest.skip("no overlay here")


def test_one_file_system_misses_no_other(source: Path) -> None:
    """What such a backup leaves out cannot be missing from it, mounted or not."""

    def run() -> None:
        repository = make_repository()
        mount_tmpfs(source / "disk")
        (source / "disk" / "file").write_bytes(b"x")
        for _ in range(2):
            result = back_up_tree(repository, source, one_file_system=True)
            assert (result.skipped, result.warnings, flags(repository)) == (0, 0, 0)
        unmount(source / "disk")
        assert back_up_tree(repository, source, one_file_system=True).skipped == 0

    with_mounts(run)


def test_where_proc_tells_nothing(source: Path) -> None:
    """Without /proc, device numbers tell most of it: what is mounted is, what is not is missing."""

    def unreadable(_: int) -> int | None:
        return None

    def run() -> None:
        repository = make_repository()
        mount_tmpfs(source / "disk")
        (source / "disk" / "file").write_bytes(b"x")
        back_up_tree(repository, source)
        unmount(source / "disk")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("repositories.engine.source.mounts.mount_id", unreadable)
            patch.setattr("repositories.engine.backup.mount_watch.mount_id", unreadable)
            assert told(back_up_tree(repository, source)) == [MISSING]
            mount_tmpfs(source / "disk")
            (source / "disk" / "file").write_bytes(b"x")
            assert (back_up_tree(repository, source).skipped, flags(repository)) == (0, FLAG_MOUNT_POINT)

    with_mounts(run)

"""File systems that are unmounted while they are read: lazily, so that the walk can go on in what nobody sees (2.6)."""

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest

from repositories.engine.errors import SourceVanishedError
from repositories.engine.manifest.backups import list_backups
from tests.engine.backup.disturbances import disturbed, make_tree
from tests.engine.mounts import mount_tmpfs, unmount, with_mounts
from tests.engine.repositories import make_repository
from tests.engine.trees import IS_ROOT

pytestmark = pytest.mark.skipif(not IS_ROOT, reason="only root may mount")

_T = TypeVar("_T")


def with_mounted(path: Path, act: Callable[[], _T]) -> _T:
    """Return what `act` returns where a file system of its own is mounted at `path`, seen by nobody else."""

    def run() -> _T:
        mount_tmpfs(path)
        return act()

    return with_mounts(run)


@pytest.mark.parametrize(
    ("below", "said"), [("", "was replaced while it was read"), ("below", "vanished while it was read")]
)
def test_the_source_is_unmounted(below: str, said: str, tmp_path: Path) -> None:
    """The path leads to the mount point then, or nowhere: no backup, although all could still be read."""
    mounted = tmp_path / "mounted"
    mounted.mkdir()

    def run() -> str:
        source = make_tree(mounted / below)
        repository = make_repository()
        with pytest.raises(SourceVanishedError) as caught:
            disturbed(repository, source, lambda _: unmount(mounted))
        assert list_backups(repository) == []
        return caught.value.message

    assert said in with_mounted(mounted, run)


def test_a_file_system_within_the_source_is_unmounted_before_it_is_entered(tmp_path: Path) -> None:
    """The empty mount point is not taken for it: it is skipped by name, and the run is partial."""
    source = make_tree(tmp_path / "tree")
    # Met before the first file is read, entered after it.
    mounted = source / "0"
    mounted.mkdir()

    def run() -> tuple[int, list[tuple[str, bytes, str]]]:
        (mounted / "file").write_bytes(b"x")
        result = disturbed(make_repository(), source, lambda _: unmount(mounted))
        return result.skipped, [(str(each.kind), each.path, each.detail) for each in result.problems]

    assert with_mounted(mounted, run) == (1, [("type_changed", b"0", "its file system was unmounted")])


def test_a_file_system_within_the_source_is_read(tmp_path: Path) -> None:
    source = make_tree(tmp_path / "tree")
    # Met before the first file is read, entered after it.
    mounted = source / "0"
    mounted.mkdir()

    def run() -> tuple[int, int]:
        (mounted / "file").write_bytes(b"x")
        result = disturbed(make_repository(), source, lambda _: None)
        return result.files, result.skipped

    assert with_mounted(mounted, run) == (5, 0)

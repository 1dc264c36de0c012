"""A source whose file system is not mounted is never a backup of what lies below its mount point (2.6)."""

from collections.abc import Callable
from pathlib import Path

import pytest

from repositories.engine.backup import BackupResult
from repositories.engine.errors import (
    SourceEmptyError,
    SourceError,
    SourceMissingError,
    SourceUnmountedError,
    SourceVanishedError,
)
from repositories.engine.ids import short_id
from repositories.engine.manifest.backups import list_backups
from tests.engine.backup.disturbances import disturbed, make_tree
from tests.engine.backup.interruptions import SIZE, broken_off, build_files, held
from tests.engine.backup.test_dry_run import foretell
from tests.engine.mounts import bind, make_image, mount_image, mount_tmpfs, unmount, with_mounts
from tests.engine.repositories import back_up_tree, make_repository
from tests.engine.trees import IS_ROOT
from tests.engine.users import as_ordinary_user, let_others_through

pytestmark = pytest.mark.skipif(not IS_ROOT, reason="only root may mount")

Mounting = Callable[[Path], None]


@pytest.fixture(params=["tmpfs", "bind", "ext4"])
def mounting(request: pytest.FixtureRequest, tmp_path: Path) -> Mounting:
    """Return how to mount a file system of a kind, the same one each time but for tmpfs."""
    if request.param == "tmpfs":
        return mount_tmpfs
    if request.param == "bind":
        (tmp_path / "elsewhere").mkdir()
        return lambda point: bind(tmp_path / "elsewhere", point)
    image = make_image(tmp_path / "image")
    return lambda point: mount_image(image, point)


@pytest.mark.parametrize("below", ["", "data"])
@pytest.mark.parametrize("leftovers", [0, 1, 30])
def test_a_source_that_is_not_mounted_is_refused(
    below: str, leftovers: int, mounting: Mounting, tmp_path: Path
) -> None:
    """Nothing or something below the mount point, even more than was ever mounted: it is not what is wanted."""
    point = tmp_path / "mo unt"
    source = point / below
    source.mkdir(parents=True)

    def run() -> None:
        for number in range(leftovers):
            (source / f"left{number}").write_bytes(b"x" * 5000)
        repository = make_repository()
        mounting(point)
        first = back_up_tree(repository, make_tree(source / "tree").parent)
        unmount(point)
        for attempt in (back_up_tree, foretell):
            with pytest.raises(SourceUnmountedError) as caught:
                attempt(repository, source)
            message, hint = caught.value.message, caught.value.hint
            assert (caught.value.code, caught.value.failure_class) == ("SOURCE_UNMOUNTED", "source")
            assert f"mounted at {point} and the source held" in message
            assert f"in backup {short_id(first.backup_id)}" in message
            assert f", with {leftovers} name" in message
            assert f"mount {point} and run it again" in hint
            assert "--accept-new-root" in hint
        assert [backup.id for backup in list_backups(repository)] == [first.backup_id]
        accepted = back_up_tree(repository, source, accept_new_root=True)
        assert accepted.files == leftovers
        assert back_up_tree(repository, source).files == leftovers

    with_mounts(run)


@pytest.mark.parametrize("had_parent", [False, True])
def test_it_is_unmounted_while_it_is_read(had_parent: bool, mounting: Mounting, tmp_path: Path) -> None:
    """All of it could still be read; what the path leads to is something else, and nobody can accept that."""
    point = make_tree(tmp_path / "mount")

    def run() -> None:
        repository = make_repository()
        mounting(point)
        (point / "file").write_bytes(b"x")
        if had_parent:
            back_up_tree(repository, point)
            (point / "file").write_bytes(b"changed")
        with pytest.raises(SourceVanishedError, match="was replaced while it was read"):
            disturbed(repository, point, unmount, accept_new_root=True)
        assert len(list_backups(repository)) == had_parent
        if had_parent:
            with pytest.raises(SourceUnmountedError):
                back_up_tree(repository, point)

    with_mounts(run)


def test_an_ordinary_user_is_refused_as_well(tmp_path: Path) -> None:
    """2.14: mountinfo and the ids of mounts are for everybody."""
    point = tmp_path / "mount"
    point.mkdir()
    (point / "left").write_bytes(b"left")
    let_others_through(tmp_path)

    def run() -> str:
        repository = make_repository()
        mount_tmpfs(point)
        make_tree(point / "tree")
        point.chmod(0o755)
        back_up_tree(repository, point)
        unmount(point)

        def refused() -> str:
            with pytest.raises(SourceUnmountedError) as caught:
                back_up_tree(repository, point)
            return caught.value.message

        return as_ordinary_user(refused)

    assert f"it was tmpfs mounted at {point} and the source held 6 entries" in with_mounts(run)


def test_an_older_backup_tells_nothing_of_its_file_system(tmp_path: Path) -> None:
    """There is nothing to compare with; emptiness is seen all the same."""
    point = tmp_path / "mount"
    point.mkdir()
    (point / "left").write_bytes(b"left")

    def run() -> int:
        repository = make_repository()
        mount_tmpfs(point)
        make_tree(point / "tree")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("repositories.engine.backup.root_guard.mount_of", lambda _: None)
            back_up_tree(repository, point)
        source = list_backups(repository)[-1].root.source
        assert (source.mount_point, source.file_system) == (None, None)
        unmount(point)
        assert back_up_tree(repository, point).files == 1
        (point / "left").unlink()
        with pytest.raises(SourceEmptyError):
            back_up_tree(repository, point)
        return len(list_backups(repository))

    assert with_mounts(run) == 2


def test_it_is_backed_up_again_when_it_is_mounted_again(tmp_path: Path) -> None:
    image, point = make_image(tmp_path / "image"), tmp_path / "mount"
    point.mkdir()

    def run() -> tuple[BackupResult, BackupResult]:
        repository = make_repository()
        mount_image(image, point)
        make_tree(point / "tree")
        first = back_up_tree(repository, point)
        unmount(point)
        with pytest.raises(SourceUnmountedError):
            back_up_tree(repository, point)
        mount_image(image, point)
        return first, back_up_tree(repository, point)

    first, second = with_mounts(run)
    assert (second.parent_id, second.files, second.bytes_read) == (first.backup_id, 4, 0)


def test_a_source_below_a_mount_that_is_gone_names_it(tmp_path: Path) -> None:
    point = tmp_path / "mount"
    point.mkdir()

    def run() -> str:
        repository = make_repository()
        mount_tmpfs(point)
        back_up_tree(repository, make_tree(point / "tree"))
        unmount(point)
        with pytest.raises(SourceMissingError) as caught:
            back_up_tree(repository, point / "tree", accept_new_root=True)
        return caught.value.hint

    assert f"on tmpfs mounted at {point}: mount that" in with_mounts(run)


def test_a_bigger_disk_with_the_same_content_is_told_and_backed_up(tmp_path: Path) -> None:
    """Its place or type differs, what it holds does not."""
    point = tmp_path / "mount"
    point.mkdir()

    def run() -> list[tuple[str, str]]:
        repository, told = make_repository(), list[tuple[str, str]]()
        source = make_tree(point / "tree")
        back_up_tree(repository, source)
        mount_tmpfs(point)
        make_tree(source)
        assert back_up_tree(repository, source, log=lambda *line: told.append(line)).files == 4
        assert back_up_tree(repository, source, log=lambda *line: told.append(line)).files == 4
        return told

    (line,) = with_mounts(run)
    assert line[0] == "info"
    assert f"lies on tmpfs mounted at {point}; in backup" in line[1]


@pytest.mark.parametrize("kept", [0, 1, 2])
def test_another_file_system_that_holds_much_less_is_refused(kept: int, tmp_path: Path) -> None:
    """A disk that was just made, mounted over the source: less than half of it is there."""
    point = tmp_path / "mount"
    point.mkdir()
    for name in "abcdef":
        (point / name).write_bytes(b"x" * 100)

    def run() -> str:
        repository = make_repository()
        back_up_tree(repository, point)
        mount_tmpfs(point)
        (point / "dir").mkdir()
        for name in "abcdef"[:kept]:
            (point / name).write_bytes(b"x" * 100)
        for attempt in (foretell, back_up_tree):
            with pytest.raises(SourceError) as caught:
                attempt(repository, point)
            assert "--accept-new-root" in caught.value.hint
        assert back_up_tree(repository, point, accept_new_root=True).files == kept
        return f"{caught.value.code} {caught.value.message}"

    said = with_mounts(run)
    if kept:
        assert said.startswith("SOURCE_UNMOUNTED")
        assert f"now tmpfs mounted at {point} with {kept + 1} entries" in said
    else:
        assert said.startswith("SOURCE_EMPTY")
        assert "holds no file any more, only 1 directory, but held 6 entries" in said


def test_a_directory_bound_onto_itself_is_the_same_without_that(tmp_path: Path) -> None:
    """Sandboxes of services do that; no alarm when their settings change, in either direction."""
    source = make_tree(tmp_path / "tree")

    def run() -> int:
        repository = make_repository()
        bind(source, source)
        back_up_tree(repository, source)
        unmount(source)
        back_up_tree(repository, source)
        bind(source, source)
        return back_up_tree(repository, source).files

    assert with_mounts(run) == 4


def test_a_link_that_leads_elsewhere_now_is_not_unmounted(tmp_path: Path) -> None:
    """The data was moved and its link with it: the old place is of no interest."""
    point, link = tmp_path / "mount", tmp_path / "link"
    point.mkdir()
    moved = make_tree(tmp_path / "moved")

    def run() -> int:
        repository = make_repository()
        mount_tmpfs(point)
        make_tree(point / "tree")
        link.symlink_to(point / "tree")
        back_up_tree(repository, link)
        unmount(point)
        link.unlink()
        link.symlink_to(moved)
        return back_up_tree(repository, link).files

    assert with_mounts(run) == 4


def test_a_checkpoint_is_no_state_that_was_accepted(tmp_path: Path) -> None:
    """A try that had accepted it and was broken off: the next one is refused as before."""
    point = tmp_path / "mount"
    point.mkdir()
    build_files(point / "left")

    def run() -> tuple[int, int]:
        repository = make_repository()
        mount_tmpfs(point)
        make_tree(point / "tree")
        back_up_tree(repository, point)
        unmount(point)
        broken_off(repository, point, SIZE * 4, accept_new_root=True)
        with pytest.raises(SourceUnmountedError):
            back_up_tree(repository, point)
        return len(held(repository)) > 3, len(list_backups(repository))

    assert with_mounts(run) == (True, 1)

"""A source that vanishes, is replaced or emptied while it is read is never a backup (2.6, engine.md 3)."""

import errno
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from repositories.engine.errors import SourceEmptyError, SourceError, SourceVanishedError
from repositories.engine.manifest.backups import list_backups
from repositories.engine.repository import Repository
from repositories.engine.source.walker import list_names
from tests.engine.backup.disturbances import AtFirstRead, disturbed, make_tree
from tests.engine.repositories import back_up_tree, make_repository
from tests.engine.trees import add_socket
from tests.engine.users import as_ordinary_user


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return make_tree(tmp_path / "tree")


def empty(root: Path) -> None:
    for path in root.iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()


def replace(root: Path) -> None:
    root.rename(root.with_name("moved"))
    make_tree(root)


def remake(root: Path) -> None:
    shutil.rmtree(root)
    make_tree(root)


def become_a_file(root: Path) -> None:
    root.rename(root.with_name("moved"))
    root.write_bytes(b"a file")


@pytest.mark.parametrize(
    ("act", "said"),
    [
        (shutil.rmtree, "vanished while it was read: No such file"),
        (lambda root: root.rename(root.with_name("moved")), "vanished while it was read: No such file"),
        (replace, "was replaced while it was read"),
        (remake, "was replaced while it was read"),
        (become_a_file, "was replaced while it was read"),
    ],
    ids=["removed", "moved away", "replaced", "made anew", "a file instead"],
)
@pytest.mark.parametrize("changes", [{}, {"accept_new_root": True}])
def test_a_root_that_is_no_longer_there_is_no_backup(
    act: Callable[[Path], object], said: str, changes: dict[str, object], tree: Path, repository: Repository
) -> None:
    """Nobody can accept it either; the run after it is a whole one, on what was committed before."""
    first = back_up_tree(repository, tree)
    (tree / "a").write_bytes(b"changed")
    with pytest.raises(SourceVanishedError, match=said) as caught:
        disturbed(repository, tree, act, **changes)
    assert (caught.value.code, caught.value.failure_class) == ("SOURCE_VANISHED", "source")
    assert str(tree) in caught.value.message
    assert [backup.id for backup in list_backups(repository)] == [first.backup_id]


def test_other_sources_of_the_session_go_on(tree: Path, tmp_path: Path, repository: Repository) -> None:
    """A6: what ended one source is no error of the repository."""
    other = make_tree(tmp_path / "other")
    with repository.begin_write() as session:
        with pytest.raises(SourceVanishedError):
            back_up_tree(
                repository, tree, session=session, read_bucket=AtFirstRead(lambda: shutil.rmtree(tree)), name="one"
            )
        assert back_up_tree(repository, other, session=session, name="other").files == 4
    assert [backup.source_name for backup in list_backups(repository)] == ["other"]


def test_a_path_that_leads_through_a_link_is_looked_at_behind_it(
    tree: Path, tmp_path: Path, repository: Repository
) -> None:
    (tmp_path / "link").symlink_to(tree)
    assert back_up_tree(repository, tmp_path / "link").files == 4

    def turn(link: Path) -> None:
        make_tree(tmp_path / "other")
        link.unlink()
        link.symlink_to(tmp_path / "other")

    (tree / "a").write_bytes(b"changed")
    with pytest.raises(SourceVanishedError, match="replaced"):
        disturbed(repository, tmp_path / "link", turn)


@pytest.mark.parametrize("had_parent", [False, True])
def test_a_root_that_is_emptied_while_it_is_read_is_no_backup(
    had_parent: bool, tree: Path, repository: Repository
) -> None:
    """engine.md 3: suddenly empty against what the walk itself had listed; a job can accept it."""
    if had_parent:
        back_up_tree(repository, tree)
        (tree / "a").write_bytes(b"changed")
    with pytest.raises(SourceEmptyError, match="was emptied while it was read"):
        disturbed(repository, tree, empty)
    assert len(list_backups(repository)) == had_parent
    make_tree_again(tree)
    result = disturbed(repository, tree, empty, accept_new_root=True)
    assert (result.files, result.notes) == (0, 4)


def make_tree_again(tree: Path) -> None:
    tree.rmdir()
    make_tree(tree)


def test_what_the_rules_leave_out_does_not_fill_a_root(tree: Path, repository: Repository) -> None:
    (tree / "kept.tmp").write_bytes(b"x")

    def empty_but_one(root: Path) -> None:
        empty(root)
        (root / "kept.tmp").write_bytes(b"x")

    with pytest.raises(SourceEmptyError, match="emptied"):
        disturbed(repository, tree, empty_but_one, excludes=("*.tmp",))


def test_all_that_was_listed_vanishes_before_it_is_looked_at(
    tree: Path, repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even if something new has come: an empty backup of a source that held something is not green."""

    def listed(descriptor: int) -> list[bytes]:
        names = list_names(descriptor)
        empty(tree)
        (tree / "new").write_bytes(b"new")
        return names

    monkeypatch.setattr("repositories.engine.source.walker.list_names", listed)
    with pytest.raises(SourceEmptyError, match="emptied"):
        back_up_tree(repository, tree)
    assert list_backups(repository) == []


def test_a_large_share_may_vanish_while_the_root_stands(tree: Path, repository: Repository) -> None:
    """Notes, counted by kind."""
    add_socket(tree)

    def remove(root: Path) -> None:
        shutil.rmtree(root / "sub")
        (root / "z").unlink()

    result = disturbed(repository, tree, remove)
    assert (result.files, result.skipped, result.warnings, result.notes) == (2, 0, 0, 3)
    assert {count.kind: count.count for count in result.problem_counts} == {"socket": 1, "vanished": 2}


@pytest.mark.parametrize("call", ["stat", "fstat", "scandir"])
@pytest.mark.parametrize("code", [errno.ESTALE, errno.ENOTCONN, errno.EIO])
def test_a_root_that_goes_stale_is_no_backup(
    call: str, code: int, tree: Path, repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    """2.4: a server that is gone says it of the root, too."""

    def stale(*_: object, **__: object) -> None:
        raise OSError(code, os.strerror(code))

    def act(root: Path) -> None:
        monkeypatch.setattr("repositories.engine.source.second_look.os", Stale(call, stale))

    with pytest.raises(SourceVanishedError, match=os.strerror(code)):
        disturbed(repository, tree, act)
    assert list_backups(repository) == []


class Stale:
    """The module os with one call replaced."""

    def __init__(self, call: str, replacement: Callable[..., None]) -> None:
        self._replaced = {call: replacement}

    def __getattr__(self, name: str) -> object:
        return self._replaced.get(name) or getattr(os, name)


def test_a_root_behind_a_closed_door_is_an_error_of_the_source(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    for above in tmp_path.parents[:2]:
        above.chmod(above.stat().st_mode | 0o001)
    outer = tmp_path / "outer"
    tree = make_tree(outer / "tree")

    def run() -> str:
        with pytest.raises(SourceError, match="Permission denied") as caught:
            disturbed(make_repository(), tree, lambda _: outer.chmod(0))
        outer.chmod(0o755)
        return caught.value.code

    assert as_ordinary_user(run, outer) == "SOURCE_UNAVAILABLE"


def test_a_single_file_may_be_saved_anew_but_not_vanish(tree: Path, repository: Repository) -> None:
    def save(path: Path) -> None:
        (tree / "new").write_bytes(b"new")
        (tree / "new").replace(path)

    assert disturbed(repository, tree / "a", save).files == 1
    with pytest.raises(SourceVanishedError, match="vanished"):
        disturbed(repository, tree / "b", Path.unlink)


def test_inode_numbers_that_do_not_hold_are_no_replacement(
    tree: Path, repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`ignore_inode`: the device and the open root decide; a removed root has no links left."""
    monkeypatch.setattr("repositories.engine.source.second_look.os", Renumbering())
    with pytest.raises(SourceVanishedError, match="replaced"):
        back_up_tree(repository, tree)
    assert back_up_tree(repository, tree, ignore_inode=True).files == 4
    (tree / "a").write_bytes(b"changed")
    with pytest.raises(SourceVanishedError, match="replaced"):
        disturbed(repository, tree, remake, ignore_inode=True)


class Renumbering:
    """The module os on a file system that gives each look another inode number."""

    def __getattr__(self, name: str) -> object:
        return self._stat if name == "stat" else getattr(os, name)

    def _stat(self, path: bytes) -> os.stat_result:
        real = list(os.stat(path))
        real[1] += 1
        return os.stat_result(real)

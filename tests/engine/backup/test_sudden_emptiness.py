"""What a source held in its last backup is compared with what it holds: never a green backup of nothing (2.6)."""

import shutil
from pathlib import Path

import pytest

from repositories.engine.errors import SourceEmptyError
from repositories.engine.manifest.backups import list_backups
from repositories.engine.repository import Repository
from tests.engine.backup.disturbances import disturbed
from tests.engine.backup.test_dry_run import foretell
from tests.engine.repositories import back_up_tree
from tests.engine.users import as_ordinary_user, let_others_through


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "files"
    (root / "sub" / "deep").mkdir(parents=True)
    for name in ("a", "b", "sub/c", "sub/deep/d"):
        (root / name).write_bytes(name.encode() * 100)
    (root / "link").symlink_to("a")
    return root


def files_of(root: Path) -> list[Path]:
    return [path for path in sorted(root.rglob("*")) if path.is_file() and not path.is_symlink()]


def empty(root: Path) -> None:
    shutil.rmtree(root)
    root.mkdir()


def leave_lost_and_found(root: Path) -> None:
    empty(root)
    (root / "lost+found").mkdir(mode=0o700)


def remove_files(root: Path) -> None:
    for path in files_of(root):
        path.unlink()


def truncate_files(root: Path) -> None:
    for path in files_of(root):
        path.write_bytes(b"")


def lock_files(root: Path) -> None:
    for path in files_of(root):
        path.chmod(0)


@pytest.mark.parametrize(
    ("change", "said", "left"),
    [
        (empty, "is empty", 0),
        (leave_lost_and_found, "holds no file any more, only 1 directory", 0),
        (remove_files, "holds no file any more, only 2 directories and links or the like", 0),
        (truncate_files, "holds 4 files, of which not one has a single byte", 4),
    ],
)
def test_what_is_wholly_gone_is_refused_until_it_is_accepted(
    change: object, said: str, left: int, tree: Path, repository: Repository
) -> None:
    """Backup and dry run alike; the message names the backup, what it held, what is there, and the next step."""
    first = back_up_tree(repository, tree)
    change(tree)  # type: ignore[operator]
    for attempt in (foretell, back_up_tree):
        with pytest.raises(SourceEmptyError) as caught:
            attempt(repository, tree)
        message = caught.value.message
        assert f"source {tree} {said}, but held 7 entries (1.66 KiB) in backup" in message
        assert "is its file system mounted" in caught.value.hint
        assert "confirm it once with --accept-new-root" in caught.value.hint
    assert [backup.id for backup in list_backups(repository)] == [first.backup_id]
    told: list[tuple[str, str]] = []
    accepted = back_up_tree(repository, tree, accept_new_root=True, log=lambda *line: told.append(line))
    assert accepted.files == left
    assert [level for level, line in told if line.startswith("accepted as the new state: source")] == ["warning"]
    assert back_up_tree(repository, tree).files == left


def test_files_that_nobody_may_read_any_more_are_no_backup(tree: Path, tmp_path: Path, repository: Repository) -> None:
    """As an ordinary user: the reason is told with what was held."""
    back_up_tree(repository, tree)
    lock_files(tree)

    def run() -> str:
        with pytest.raises(SourceEmptyError) as caught:
            back_up_tree(repository, tree)
        return caught.value.message

    let_others_through(tmp_path)
    said = as_ordinary_user(run, tree)
    assert "no file that could be read (4 skipped, the first: a: Permission denied), only 2 directories" in said


def test_ordinary_changes_are_never_refused(tree: Path, repository: Repository) -> None:
    """Most files deleted, many new ones, one emptied, all directories gone: as long as some of it is there."""
    back_up_tree(repository, tree)
    for path in files_of(tree)[:2]:
        path.unlink()
    assert back_up_tree(repository, tree).files == 2
    shutil.rmtree(tree / "sub")
    (tree / "one").write_bytes(b"x")
    assert back_up_tree(repository, tree).files == 1
    (tree / "one").write_bytes(b"")
    assert back_up_tree(repository, tree).files == 1
    for number in range(50):
        (tree / f"new{number}").write_bytes(b"x")
    assert back_up_tree(repository, tree).files == 51
    for number in range(49):
        (tree / f"new{number}").unlink()
    (tree / "one").unlink()
    assert back_up_tree(repository, tree).files == 1


def test_a_single_file_may_be_emptied(tree: Path, repository: Repository) -> None:
    back_up_tree(repository, tree / "a")
    (tree / "a").write_bytes(b"")
    assert back_up_tree(repository, tree / "a").files == 1


def test_a_tree_without_files_stays_what_it_was(tree: Path, repository: Repository) -> None:
    remove_files(tree)
    assert back_up_tree(repository, tree).directories == 2
    shutil.rmtree(tree / "sub" / "deep")
    (tree / "link").unlink()
    with pytest.raises(SourceEmptyError, match="only 1 directory"):
        back_up_tree(repository, tree)
    back_up_tree(repository, tree, accept_new_root=True)
    assert back_up_tree(repository, tree).directories == 1


def test_the_newest_backup_is_compared_with_whatever_parent_is_named(tree: Path, repository: Repository) -> None:
    """An older parent that held nothing must not make an empty source right, nor one that held more make it wrong."""
    empty_one = tree.with_name("empty")
    empty_one.mkdir()
    nothing = back_up_tree(repository, empty_one)
    back_up_tree(repository, tree)
    with pytest.raises(SourceEmptyError):
        back_up_tree(repository, empty_one, parent=nothing.backup_id)


def test_what_stays_of_an_emptied_root_is_lost_and_found(tree: Path, repository: Repository) -> None:
    """Emptied while it is read, but for directories with nothing in them."""
    with pytest.raises(SourceEmptyError, match="was emptied while it was read"):
        disturbed(repository, tree, leave_lost_and_found_in)
    assert list_backups(repository) == []


def leave_lost_and_found_in(root: Path) -> None:
    for path in root.iterdir():
        shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
    (root / "lost+found").mkdir()


def test_directories_alone_are_a_source_too(tmp_path: Path, repository: Repository) -> None:
    (tmp_path / "root" / "bare").mkdir(parents=True)
    assert back_up_tree(repository, tmp_path / "root").directories == 1

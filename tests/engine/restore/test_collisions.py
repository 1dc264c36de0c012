"""2.10: targets that take two names of a directory for one. Nothing is merged, nothing overwritten, all is named."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from repositories.engine.repository import Repository
from repositories.engine.restore import Deletion, Overwrite, RestoreResult
from repositories.engine.restore.collisions import Names
from repositories.engine.restore.publishing import probe_name
from tests.engine.repositories import back_up_tree, plan_latest, restore_latest
from tests.engine.users import as_ordinary_user, let_others_through
from tests.fuse.mounting import Mounted, mounted

NFC, NFD = "\N{LATIN SMALL LETTER E WITH ACUTE}", "e\N{COMBINING ACUTE ACCENT}"
MODES: tuple[dict[str, Any], ...] = (
    *({"overwrite": mode} for mode in Overwrite),
    {"overwrite": Overwrite.IF_CHANGED, "deletion": Deletion()},
    {"overwrite": Overwrite.ALWAYS, "deletion": Deletion()},
)


@pytest.fixture
def folding(tmp_path: Path) -> Iterator[Mounted]:
    with mounted(tmp_path / "mounted", folds=True) as target:
        yield target


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Two files, two directories, two links, two FIFOs, and a file and a directory, each pair one name when folded."""
    root = tmp_path / "tree"
    for name in ("DIR", "dir", "dir/deep", "mixed", "sub"):
        (root / name).mkdir(parents=True)
    for name in (
        "FILE",
        "file",
        "DIR/one",
        "dir/one",
        "dir/two",
        "dir/deep/three",
        "MIXED",
        "mixed/in",
        "sub/A",
        "sub/a",
    ):
        (root / name).write_text(name)
    (root / "LINK").symlink_to("FILE")
    (root / "link").symlink_to("file")
    os.mkfifo(root / "FIFO")
    os.mkfifo(root / "fifo")
    return root


def flat(root: Path) -> dict[bytes, bytes | None]:
    """Return what lies below a directory; None stands for a directory."""
    found: dict[bytes, bytes | None] = {}
    for path in root.rglob("*"):
        kind = stat.S_IFMT(path.lstat().st_mode)
        name = os.fsencode(path.relative_to(root))
        if kind == stat.S_IFDIR:
            found[name] = None
        elif kind == stat.S_IFLNK:
            found[name] = b"-> " + os.fsencode(os.readlink(path))
        else:
            found[name] = b"fifo" if kind == stat.S_IFIFO else path.read_bytes()
    return found


COLLIDED = {
    b"dir": b"DIR", b"fifo": b"FIFO", b"file": b"FILE", b"link": b"LINK", b"mixed": b"MIXED", b"sub/a": b"sub/A",
}  # fmt: skip
BELOW = 5
"""What lies below `dir` and `mixed`."""


def assert_apart(result: RestoreResult, out: Path) -> None:
    assert dict(result.collided_paths) == COLLIDED
    assert (result.collided, result.exit_code) == (len(COLLIDED) + BELOW, 3)
    assert (result.kept, result.failed, result.damaged) == (0, 0, 0)
    assert flat(out) == {
        b"DIR": None, b"DIR/one": b"DIR/one", b"FILE": b"FILE", b"LINK": b"-> FILE", b"FIFO": b"fifo",
        b"MIXED": b"MIXED", b"sub": None, b"sub/A": b"sub/A",
    }  # fmt: skip


def test_an_ordinary_user_is_told_as_well(tree: Path, folding: Mounted, tmp_path: Path, repository: Repository) -> None:
    """2.14."""
    back_up_tree(repository, tree)
    out = folding.path / "out"
    out.mkdir()
    let_others_through(tmp_path)

    def run() -> dict[bytes, bytes]:
        restore_latest(repository, out)
        again = restore_latest(repository, out, overwrite=Overwrite.IF_CHANGED, deletion=Deletion())
        assert_apart(again, out)
        return dict(again.collided_paths)

    assert as_ordinary_user(run, out) == COLLIDED


def test_inodes_may_be_numbered_anew(folding: Mounted) -> None:
    """As vfat does when memory is short: likeness tells whom to look at, and the file system whether it is the same."""
    (folding.path / "A").touch()
    names = Names()
    directory = os.open(folding.path, os.O_RDONLY)
    try:
        names.took(directory, b"A")
        folding.switch(renumbered=1_000_000)
        assert names.rival(directory, b"a") == b"A"
        (folding.path / "b").touch()
        assert names.rival(directory, b"b") is None
        assert names.rival(directory, b"nothing") is None
    finally:
        os.close(directory)


@pytest.mark.parametrize("mode", MODES, ids=str)
def test_no_two_names_become_one(mode: dict[str, Any], tree: Path, folding: Mounted, repository: Repository) -> None:
    """Under every mode, in one go and again over what is there."""
    back_up_tree(repository, tree)
    out = folding.path / "out"
    for _ in range(2):
        result = restore_latest(repository, out, verify=True, **mode)
        assert_apart(result, out)
    (out / "FILE").write_text("changed")
    os.utime(out / "FILE", ns=(0, 0))
    again = restore_latest(repository, out, **mode)
    assert dict(again.collided_paths) == COLLIDED
    assert (out / "FILE").read_text() == ("changed" if mode["overwrite"] is Overwrite.NEVER else "FILE")


def test_what_is_there_in_another_spelling_is_one_object(tree: Path, folding: Mounted, repository: Repository) -> None:
    """The first name of the backup gets it, whatever its spelling; the second must not get it, too."""
    back_up_tree(repository, tree)
    out = folding.path / "out"
    (out / "dir").mkdir(parents=True)
    (out / "dir" / "user's own").write_text("mine")
    (out / "file").write_text("mine")
    kept = restore_latest(repository, out)
    assert dict(kept.collided_paths) == COLLIDED
    assert b"FILE" in kept.kept_paths
    assert (out / "file").read_text() == "mine"
    replaced = restore_latest(repository, out, overwrite=Overwrite.ALWAYS, deletion=Deletion())
    assert dict(replaced.collided_paths) == COLLIDED
    assert (out / "file").read_text() == "FILE"
    assert sorted(os.listdir(out / "dir")) == ["one"]


def test_deleting_does_not_take_the_one_for_the_other(folding: Mounted, tmp_path: Path, repository: Repository) -> None:
    """What only `A` holds is not foreign in `a`: the directory that was just made stays whole, in the plan as well."""
    for name in ("A", "a"):
        (tmp_path / "tree" / name).mkdir(parents=True)
        (tmp_path / "tree" / name / f"only in {name}").write_text(name)
    back_up_tree(repository, tmp_path / "tree")
    out = folding.path / "out"
    for _ in range(2):
        result = restore_latest(repository, out, overwrite=Overwrite.IF_CHANGED, deletion=Deletion())
        assert result.deletion is not None
        assert (result.deletion.deleted, dict(result.collided_paths)) == (0, {b"a": b"A"})
        assert flat(out) == {b"A": None, b"A/only in A": b"A"}
    planned = plan_latest(repository, out, overwrite=Overwrite.IF_CHANGED, deletion=Deletion())
    assert planned.deletion is not None
    assert planned.deletion.deleted == 0


@pytest.mark.parametrize("mode", MODES, ids=str)
def test_the_second_name_by_itself_does_not_become_the_first(
    mode: dict[str, Any], tree: Path, folding: Mounted, repository: Repository
) -> None:
    """A part of the backup, into the target that holds the rest: elsewhere it is restored."""
    back_up_tree(repository, tree)
    out = folding.path / "out"
    restore_latest(repository, out)
    part = restore_latest(repository, out, paths=(b"dir", b"file", b"sub/a", b"mixed/in"), **mode)
    assert dict(part.collided_paths) == {b"dir": b"DIR", b"file": b"FILE", b"sub/a": b"sub/A", b"mixed": b"MIXED"}
    assert_apart(restore_latest(repository, out), out)
    elsewhere = restore_latest(repository, folding.path / "else", paths=(b"dir", b"file"), **mode)
    assert (elsewhere.exit_code, elsewhere.files) == (0, 4)
    assert (folding.path / "else" / "dir" / "one").read_text() == "dir/one"


def test_a_part_again_where_names_are_stored_otherwise(tmp_path: Path, repository: Repository) -> None:
    """The other way of writing an accent is the same object."""
    (tmp_path / "tree").mkdir()
    for name in (NFC, "other"):
        (tmp_path / "tree" / name).write_text(name)
    back_up_tree(repository, tmp_path / "tree")
    with mounted(tmp_path / "mounted", form="NFD") as target:
        for existing in (0, 1):
            result = restore_latest(repository, target.path / "out", paths=(os.fsencode(NFC),))
            assert (result.collided, result.existing, result.exit_code) == (0, existing, 0)


def test_hard_links_collide_as_well(folding: Mounted, tmp_path: Path, repository: Repository) -> None:
    """A further name of a file that is another's name is named; two links of one file are no collision."""
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "first").write_text("linked")
    for name in ("B", "FIRST", "c", "second", "x"):
        os.link(tree / "first", tree / name)
    for name in ("b", "C"):
        (tree / name).write_text("another")
    back_up_tree(repository, tree)
    out = folding.path / "out"
    for _ in range(2):
        result = restore_latest(repository, out)
        assert dict(result.collided_paths) == {b"b": b"B", b"c": b"C", b"first": b"FIRST"}
        assert (result.collided, result.kept, result.exit_code) == (3, 0, 3)
        linked = dict.fromkeys((b"B", b"FIRST", b"second", b"x"), b"linked")
        assert flat(out) == {**linked, b"C": b"another"}
        assert (out / "x").stat().st_nlink == len(linked)


def test_normal_forms_collide(tmp_path: Path, repository: Repository) -> None:
    """A target that stores another normal form takes both spellings for one; alone, each is restored and verified."""
    tree = tmp_path / "tree"
    tree.mkdir()
    for name in (NFC, NFD, f"only {NFC}"):
        (tree / name).write_bytes(os.fsencode(name))
    back_up_tree(repository, tree)
    with mounted(tmp_path / "mounted", form="NFD") as target:
        for order in (MODES[0], MODES[-2]):
            result = restore_latest(repository, target.path / "out", verify=True, **order)
            assert dict(result.collided_paths) == {os.fsencode(NFC): os.fsencode(NFD)}
            assert (result.failed, result.collided, result.verified_files) == (0, 1, 2)
            assert set(os.listdir(target.path / "out")) == {NFD, f"only {NFD}"}
            assert (target.path / "out" / NFC).read_bytes() == os.fsencode(NFD)


def test_names_stored_in_small_letters(tree: Path, tmp_path: Path, repository: Repository) -> None:
    """The second name is listed exactly as it is written, and is still that of the first."""
    back_up_tree(repository, tree)
    with mounted(tmp_path / "mounted", lowers=True) as target:
        for overwrite in (Overwrite.NEVER, Overwrite.ALWAYS):
            result = restore_latest(repository, target.path / "out", overwrite=overwrite)
            assert dict(result.collided_paths) == COLLIDED
            assert (target.path / "out" / "file").read_text() == "FILE"


def is_probe(path: Any) -> bool:
    return isinstance(path, bytes) and b"-\xc3\x89.part" in path


def test_ordinary_targets_are_probed_once_and_left_as_they_were(
    tree: Path, tmp_path: Path, repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    back_up_tree(repository, tree)
    opened: list[Any] = []
    real = os.open

    def counted(path: Any, *rest: Any, **options: Any) -> int:
        if is_probe(path):
            opened.append(path)
        return real(path, *rest, **options)

    monkeypatch.setattr(os, "open", counted)
    out = tmp_path / "out"
    restore_latest(repository, out)
    assert len(opened) == 1
    before = {path: os.stat(path).st_mtime_ns for path in (out, out / "dir", out / "sub")}
    again = restore_latest(repository, out)
    assert (again.collided, again.exit_code) == (0, 0)
    assert {path: os.stat(path).st_mtime_ns for path in before} == before
    assert set(os.listdir(out)) == set(os.listdir(tree))


@pytest.mark.parametrize("switches", [{}, {"lowers": True}, {"form": "NFD"}, {"folds": True}], ids=str)
def test_a_probe_that_a_kill_left_is_removed(switches: dict[str, Any], tmp_path: Path, repository: Repository) -> None:
    """However the file system lists it, also in a directory that is only the way to what is restored."""
    (tmp_path / "tree" / "way").mkdir(parents=True)
    (tmp_path / "tree" / "way" / "file").write_text("file")
    back_up_tree(repository, tmp_path / "tree")
    with mounted(tmp_path / "mounted", **switches) as target:
        out = target.path / "out"
        (out / "way").mkdir(parents=True)
        for directory in (out, out / "way"):
            (directory / probe_name()).touch()
        restore_latest(repository, out, paths=(b"way/file",))
        assert [os.listdir(out), os.listdir(out / "way")] == [["way"], ["file"]]


def test_a_target_in_which_nothing_can_be_found_out_is_taken_for_folding(
    tree: Path, tmp_path: Path, repository: Repository
) -> None:
    """Names that the probe cannot have: every object is looked at, and nothing is called a collision for that."""
    back_up_tree(repository, tree)
    with mounted(tmp_path / "mounted", refuses=NFC.upper()) as target:
        result = restore_latest(repository, target.path / "out", verify=True)
        assert (result.exit_code, result.collided) == (0, 0)
        assert len(os.listdir(target.path / "out")) == len(os.listdir(tree))
        assert stat.S_ISFIFO((target.path / "out" / "fifo").stat().st_mode)

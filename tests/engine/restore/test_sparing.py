"""What `--delete` never takes, although the backup does not hold it; and when it takes nothing at all."""

import ctypes
import os
import shutil
import stat
import subprocess
import time
from pathlib import Path

import pytest

from repositories.engine.errors import IntegrityError, RestoreTargetError
from repositories.engine.manifest.backups import list_backups
from repositories.engine.repository import Repository
from repositories.engine.restore import Deletion, RestoreResult
from repositories.engine.restore import guard as reasons
from repositories.engine.storage.locations import directories_of
from tests.engine.repositories import back_up_tree, local_repository, make_repository, plan_latest, restore_latest
from tests.engine.restore.deletions import CHANGED, build_tree, deleting, restore_and_add
from tests.engine.trees import IS_ROOT, Description, describe, make_socket
from tests.engine.users import as_ordinary_user, in_a_child


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return build_tree(tmp_path / "tree")


@pytest.fixture
def repository(tree: Path) -> Repository:
    repository = make_repository()
    back_up_tree(repository, tree)
    return repository


@pytest.fixture
def out(tmp_path: Path, repository: Repository) -> Path:
    return restore_and_add(repository, tmp_path / "out")


def test_what_the_backup_left_out_stays(tree: Path, out: Path) -> None:
    """What rules, an unreadable directory or a socket kept out of a backup is no proof that it was not there."""
    repository = make_repository()
    (tree / "keep.tmp").write_bytes(b"k")
    back_up_tree(repository, tree, excludes=("*.tmp", "more/", "!keep.tmp"))
    for name in ("x.tmp", "a/b/y.tmp", "extra.d/z.tmp"):
        (out / name).parent.mkdir(exist_ok=True)
        (out / name).write_bytes(b"t")
    make_socket(out / "socket")
    result = deleting(repository, out)
    stayed = dict(result.spared_paths)
    assert stayed[b"x.tmp"] == stayed[b"a/b/y.tmp"] == stayed[b"extra.d/z.tmp"] == stayed[b"more"] == reasons.EXCLUDED
    assert stayed[b"socket"] == reasons.SOCKET
    assert {b"x.tmp", b"extra.d/z.tmp", b"more/deep/x", b"socket", b"keep.tmp"} <= set(describe(out))
    assert b"extra" not in describe(out)


@pytest.mark.skipif(not IS_ROOT, reason="two users are needed")
def test_what_the_backup_could_not_read_stays(
    tree: Path, out: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository = local_repository(tmp_path / "repo")
    (tree / "a" / "b").chmod(0)
    for above in (tmp_path, *tmp_path.parents[:2]):
        above.chmod(above.stat().st_mode | stat.S_IXOTH)
    shutil.chown(tree, 65534)
    shutil.rmtree(out / "other")

    def back_up() -> int:
        return back_up_tree(repository, tree).skipped

    assert as_ordinary_user(back_up, tmp_path / "repo") > 0
    (tree / "a" / "b").chmod(0o755)
    result = deleting(repository, out)
    assert dict(result.spared_paths) == {
        b"a/b/extra": reasons.SKIPPED, b"a/b/file": reasons.SKIPPED, b"a/b/more": reasons.SKIPPED,
    }  # fmt: skip
    assert {b"a/b/file", b"a/b/extra"} <= set(describe(out))
    assert b"a/extra" not in describe(out)
    monkeypatch.setattr(reasons, "MAX_SKIPPED", 0)
    assert "more than 0 objects" in deleting(repository, out).refused


def test_of_a_cache_only_the_tag_is_known(tree: Path, out: Path) -> None:
    for directory in (tree / "empty", out / "empty"):
        (directory / "CACHEDIR.TAG").write_bytes(b"Signature: 8a477f597d28d172789f06886806bc55")
    repository = make_repository()
    back_up_tree(repository, tree, exclude_caches=True)
    result = deleting(repository, out)
    assert result.spared_paths == [(b"empty", reasons.CACHE)]
    assert (out / "empty" / "more" / "deep" / "x").exists()
    assert not (out / "a" / "extra").exists()


def test_rules_too_long_to_be_kept_with_the_backup_forbid_it(tree: Path, out: Path) -> None:
    repository = make_repository()
    back_up_tree(repository, tree, excludes=("file", *(f"no such name {number}" * 10 for number in range(200))))
    before = set(describe(out))
    planned = plan_latest(repository, out, overwrite=CHANGED, deletion=Deletion()).deletion
    result = restore_latest(repository, out, overwrite=CHANGED, deletion=Deletion())
    assert planned is not None
    assert result.deletion is not None
    assert "too long" in planned.refused == result.deletion.refused
    assert (result.exit_code, set(describe(out))) == (3, before)


def test_the_repository_and_our_own_data_stay(tree: Path, tmp_path: Path) -> None:
    place = tmp_path / "place"
    place.mkdir()
    repository = local_repository(place / "in" / "repo")
    back_up_tree(repository, tree)
    (place / "data" / "x").mkdir(parents=True)
    (place / "in" / "extra").write_bytes(b"x")
    result = deleting(
        repository,
        place,
        keep_out=directories_of(repository.storage),
        deletion=Deletion(None, (bytes(place / "data"),)),
    )
    assert dict(result.spared_paths) == {b"data": reasons.OWN, b"in/repo": reasons.OWN}
    assert sorted(os.listdir(place / "in")) == ["repo"]
    assert (place / "data" / "x").exists()
    assert list_backups(repository)


def test_what_changed_after_the_plan_stays(repository: Repository, out: Path) -> None:
    """Nobody has seen it in a plan; two names of one file are still one file whose name we took away ourselves."""
    os.link(out / "extra", out / "second name")
    time.sleep(0.02)
    planned_ns = time.time_ns()
    time.sleep(0.02)
    (out / "a" / "new").write_bytes(b"n")
    (out / "other" / "more" / "new").mkdir()
    result = deleting(repository, out, deletion=Deletion(planned_ns))
    assert dict(result.spared_paths) == {
        b"a/new": reasons.CHANGED, b"other/more": reasons.CHANGED,
    }  # fmt: skip
    assert not (out / "extra").exists()
    assert not (out / "second name").exists()
    assert not (out / "a" / "more").exists()


def test_a_damaged_page_of_the_manifest_forbids_it(tmp_path: Path) -> None:
    """What cannot be read must not be deleted."""
    tree, out = tmp_path / "tree", tmp_path / "out"
    for number in range(16):  # names of half a megabyte: more than two pages, wherever their key cuts them
        (tree / f"{number:02}").mkdir(parents=True)
        for name in range(200):
            (tree / f"{number:02}" / ("n" * 150 + str(name))).write_bytes(b"")
    repository = make_repository()
    back_up_tree(repository, tree)
    restore_latest(repository, out)
    (out / "extra").write_bytes(b"x")
    before = set(describe(out))
    reader = type(repository.reader())
    pages: list[bytes] = []
    real = reader.read

    def read(self: object, kind: int, chunk_id: bytes) -> bytes:
        data = real(self, kind, chunk_id)  # type: ignore[arg-type]
        if kind == 2 and chunk_id not in pages:
            pages.append(chunk_id)
        if len(pages) > 2 and chunk_id == pages[2]:
            raise IntegrityError("damaged for this test")
        return data

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(reader, "read", read)
        planned = plan_latest(repository, out, overwrite=CHANGED, deletion=Deletion())
        result = restore_latest(repository, out, overwrite=CHANGED, deletion=Deletion())
    assert len(pages) > 2
    assert planned.deletion is not None
    assert result.deletion is not None
    assert planned.exit_code == result.exit_code == 13
    assert "manifest" in planned.deletion.refused == result.deletion.refused
    assert planned.damaged == result.damaged > 0
    assert set(describe(out)) == before


@pytest.mark.skipif(not IS_ROOT, reason="mounting needs root")
@pytest.mark.parametrize("kind", ["tmpfs", "bind"])
@pytest.mark.parametrize("where", ["a", "extra.d/mounted", "other"])
def test_no_mounted_file_system_is_entered(kind: str, where: str, repository: Repository, out: Path) -> None:
    """Bind mounts of the same file system too, whose device number is the same."""

    def run() -> tuple[RestoreResult, Description]:
        point = out / where
        point.mkdir(parents=True, exist_ok=True)
        _unshare()
        other = out.parent / "elsewhere"
        other.mkdir()
        order = ["tmpfs", "-t", "tmpfs"] if kind == "tmpfs" else [str(other), "--bind"]
        subprocess.run(["mount", *order, str(point)], check=True)
        (point / "precious").write_bytes(b"p")
        return restore_latest(repository, out, overwrite=CHANGED, deletion=Deletion()), describe(out)

    result, found = in_a_child(run)
    assert result.deletion is not None
    spared = dict(result.deletion.spared_paths)
    assert spared == {os.fsencode(where): reasons.OTHER_FILE_SYSTEM}
    assert os.fsencode(where) + b"/precious" in found
    assert b"extra" not in found
    assert (result.failed, result.exit_code) == (0, 0)


def _unshare() -> None:
    assert ctypes.CDLL(None).unshare(0x00020000) == 0
    subprocess.run(["mount", "--make-rprivate", "/"], check=True)


def test_a_name_that_is_only_spelled_otherwise_stays(
    repository: Repository, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """2.10: a file system that keeps another spelling lists a name that the backup does not have."""
    listdir, lstat, unlink = os.listdir, os.stat, os.unlink
    lists = {b"file": "FILE"}
    leads = {b"FILE": b"file"}
    monkeypatch.setattr(os, "listdir", lambda path: [lists.get(os.fsencode(name), name) for name in listdir(path)])
    monkeypatch.setattr(os, "stat", lambda path, **rest: lstat(leads.get(path) or path, **rest))
    monkeypatch.setattr(os, "unlink", lambda path, **rest: unlink(leads.get(path) or path, **rest))
    result = restore_latest(repository, out, overwrite=CHANGED, deletion=Deletion())
    monkeypatch.undo()
    assert result.deletion is not None
    assert dict(result.deletion.spared_paths) == dict.fromkeys(
        (b"FILE", b"a/FILE", b"a/b/FILE", b"other/FILE"), reasons.SPELLING
    )
    assert (out / "a" / "file").read_bytes() == b"a/file"
    assert not (out / "a" / "extra").exists()


def test_nothing_goes_where_our_own_data_is_now(repository: Repository, tree: Path, out: Path) -> None:
    """A directory of the backup may have become Syncova's own since; and our own data is no target for deleting."""
    result = deleting(repository, out, deletion=Deletion(None, (bytes(out / "a"),)))
    assert result.spared_paths == [(b"a", reasons.OWN)]
    assert (out / "a" / "b" / "extra").exists()
    assert not (out / "extra").exists()
    with pytest.raises(RestoreTargetError, match="Syncova's own data or lies in it"):
        restore_latest(repository, out / "a", overwrite=CHANGED, deletion=Deletion(None, (bytes(out),)))

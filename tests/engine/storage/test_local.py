"""Local storage: durability in the right order, full and read-only media, foreign directories."""

import errno
import fcntl
import os
import resource
import signal
from pathlib import Path

import pytest

from repositories.engine.errors import (
    ConfigurationError,
    ObjectMissingError,
    RepositoryError,
    RepositoryExistsError,
    StorageFullError,
    StorageReadOnlyError,
)
from repositories.engine.storage.local import LocalStorage


@pytest.fixture
def storage(tmp_path: Path) -> LocalStorage:
    made = LocalStorage(str(tmp_path / "repository"))
    made.prepare()
    return made


def test_a_put_is_synced_renamed_and_its_directory_synced(
    storage: LocalStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Durability (guarantee 3): content before the name, the name before the put returns."""
    storage.put("index/warm", b"")
    calls: list[str] = []
    real_fsync, real_rename = os.fsync, os.rename

    def fsync(descriptor: int) -> None:
        calls.append("sync directory" if os.path.isdir(f"/proc/self/fd/{descriptor}") else "sync file")
        real_fsync(descriptor)

    def rename(source: str, target: str) -> None:
        calls.append("rename")
        real_rename(source, target)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(os, "rename", rename)
    storage.put("index/a", b"content")
    assert calls == ["sync file", "rename", "sync directory"]
    calls.clear()
    path = os.path.join(storage.scratch_directory() or "", "pack")
    Path(path).write_bytes(b"pack")
    storage.put_file("index/b", path)
    assert calls == ["sync file", "rename", "sync directory"]


@pytest.mark.parametrize("number", [errno.EINVAL, errno.ENOTSUP])
def test_a_medium_without_directory_sync_is_accepted(
    storage: LocalStorage, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    real_fsync = os.fsync

    def fsync(descriptor: int) -> None:
        if os.path.isdir(f"/proc/self/fd/{descriptor}"):
            raise OSError(number, os.strerror(number))
        real_fsync(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    storage.put("index/a", b"content")
    assert storage.get("index/a") == b"content"


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        (errno.ENOSPC, StorageFullError),
        (errno.EDQUOT, StorageFullError),
        (errno.EROFS, StorageReadOnlyError),
        (errno.EACCES, StorageReadOnlyError),
        (errno.EIO, RepositoryError),
    ],
)
def test_errors_of_the_medium_have_classes_and_leave_no_temporary_file(
    storage: LocalStorage, monkeypatch: pytest.MonkeyPatch, number: int, expected: type[RepositoryError]
) -> None:
    def write(descriptor: int, data: memoryview) -> int:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "write", write)
    with pytest.raises(expected, match="index/a") as caught:
        storage.put("index/a", b"content")
    assert type(caught.value) is expected
    monkeypatch.undo()
    assert os.listdir(storage.scratch_directory() or "") == []
    with pytest.raises(ObjectMissingError):
        storage.get("index/a")
    storage.put("index/a", b"content")


def test_a_really_full_medium_is_told_and_works_again(storage: LocalStorage) -> None:
    """1.21: the kernel's own refusal, by a limit on the size of files."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    previous = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, hard))
    try:
        with pytest.raises(StorageFullError):
            storage.put("packs/ab/a", bytes(20_000))
        assert os.listdir(storage.scratch_directory() or "") == []
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, previous)
    storage.put("packs/ab/a", bytes(20_000))
    assert storage.size("packs/ab/a") == 20_000


def test_prepare_makes_a_private_directory_and_refuses_foreign_files(tmp_path: Path) -> None:
    storage = LocalStorage(str(tmp_path / "deep" / "repository"))
    storage.prepare()
    assert os.stat(storage.path).st_mode & 0o777 == 0o700
    storage.prepare()
    (tmp_path / "deep" / "repository" / "letter.txt").write_text("mine")
    with pytest.raises(RepositoryExistsError):
        storage.prepare()
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigurationError):
        LocalStorage(str(tmp_path / "file")).prepare()


def test_what_a_killed_process_left_is_removed_by_the_next(tmp_path: Path) -> None:
    """A worker killed in mid-run must not fill the medium; what a living one writes is left alone."""
    path = str(tmp_path / "repository")
    LocalStorage(path).prepare()
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            dying = LocalStorage(path)
            (Path(dying.scratch_directory() or "") / "half a pack").write_bytes(bytes(1000))
            os.write(writer, b"x")
            signal.pause()
        finally:
            os._exit(1)
    os.close(writer)
    assert os.read(reader, 1) == b"x"
    os.close(reader)
    living = LocalStorage(path)
    living.put("marks/a", b"1")
    assert len(list((tmp_path / "repository/tmp").rglob("half a pack"))) == 1, "its process lives"
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    LocalStorage(path).put("marks/b", b"2")
    assert list((tmp_path / "repository/tmp").rglob("half a pack")) == []
    living.put("marks/c", b"3")
    assert os.path.isdir(living.scratch_directory() or "")


def test_a_medium_without_locks_keeps_what_lies_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_locks(*_: object) -> None:
        raise OSError(errno.ENOLCK, "no locks")

    monkeypatch.setattr(fcntl, "flock", no_locks)
    one, two = LocalStorage(str(tmp_path / "r")), LocalStorage(str(tmp_path / "r"))
    one.prepare()
    file = Path(one.scratch_directory() or "") / "file"
    file.write_bytes(b"1")
    two.put("marks/a", b"2")
    assert file.exists()


def test_a_medium_that_goes_away_is_no_missing_object(storage: LocalStorage) -> None:
    """An unmounted disk is a repository fault, not damage of what is stored."""
    storage.put("index/a", b"1")
    os.rename(storage.path, storage.path + "-unmounted")
    for act in (lambda: storage.put("index/b", b"2"), lambda: LocalStorage(storage.path).put("index/b", b"2")):
        with pytest.raises(RepositoryError) as caught:
            act()
        assert type(caught.value) is RepositoryError


def test_links_in_the_place_of_objects_are_not_followed(storage: LocalStorage, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("secret")
    storage.put("index/a", b"")
    os.symlink(secret, os.path.join(storage.path, "index", "b"))
    assert [stored.name for stored in storage.list("")] == ["index/a"]
    with pytest.raises(RepositoryError):
        storage.get("index/b")
    with pytest.raises(ObjectMissingError):
        storage.size("index/b")


def test_free_space_is_known(storage: LocalStorage) -> None:
    assert (storage.free_space() or 0) > 0
    assert LocalStorage("/nonexistent/place").free_space() is None

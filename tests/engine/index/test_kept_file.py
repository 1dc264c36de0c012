"""Kept files: whatever is wrong with one, it counts as not there, and nobody is kept from going on (4.3)."""

import os
import resource
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from repositories.engine.index import kept_file
from repositories.engine.index.kept_file import KeptFile
from tests.engine.users import as_ordinary_user, in_a_child, let_others_through

ID = "0123456789abcdef" * 2
SECTIONS = [b"head", b"", os.urandom(100_000), b"tail"]


def file_in(directory: Path, key: bytes = b"k" * 32) -> KeptFile:
    return KeptFile(str(directory), ID, ".index", key)


def loaded(file: KeptFile) -> list[bytes] | None:
    sections = file.load()
    return None if sections is None else list(map(bytes, sections))


def test_what_was_saved_is_loaded(tmp_path: Path) -> None:
    file = file_in(tmp_path / "a" / "b" / "c")
    assert file.load() is None
    assert file.save(SECTIONS)
    assert loaded(file) == SECTIONS
    assert file.save([b"other"])
    assert loaded(file) == [b"other"]
    assert os.stat(file.path).st_mode & 0o777 == 0o600
    assert [each.stat().st_mode & 0o777 for each in Path(file.path).parents[:3]] == [0o700] * 3
    assert os.listdir(file.directory) == [f"{ID}.index"]


def flip(path: Path, at: int) -> None:
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(data)


@pytest.mark.parametrize("at", [0, 8, 11, 12, 43, 44, 48, 60, 80, 85, 50_000, -1])
def test_a_byte_that_was_changed(tmp_path: Path, at: int) -> None:
    file = file_in(tmp_path)
    file.save(SECTIONS)
    flip(Path(file.path), at)
    assert file.load() is None


HARM: dict[str, Callable[[Path], object]] = {
    "cut": lambda path: os.truncate(path, path.stat().st_size - 1),
    "cut in its head": lambda path: os.truncate(path, 50),
    "empty": lambda path: os.truncate(path, 0),
    "longer": lambda path: os.truncate(path, path.stat().st_size + 1),
    "huge": lambda path: os.truncate(path, 2**40),
    "all zeros": lambda path: path.write_bytes(bytes(200)),
    "many sections": lambda path: path.write_bytes(path.read_bytes()[:44] + b"\xff" * 4 + bytes(200)),
    "huge sections": lambda path: path.write_bytes(path.read_bytes()[:48] + b"\xff" * 32),
    "a directory": lambda path: path.rename(path.parent / "aside").parent.joinpath(path.name).mkdir(),
    "a link": lambda path: path.symlink_to(path.rename(path.parent / "aside")),
    "a pipe": lambda path: os.mkfifo(path.rename(path.parent / "aside").parent / path.name),
}


@pytest.mark.parametrize("harm", HARM.values(), ids=list(HARM))
def test_one_that_is_no_kept_file(tmp_path: Path, harm: Callable[[Path], object]) -> None:
    file = file_in(tmp_path)
    file.save(SECTIONS)
    harm(Path(file.path))
    assert file.load() is None


def test_one_that_another_key_made(tmp_path: Path) -> None:
    """Who can write to the directory, but knows no key of the repository, cannot make one that counts."""
    file_in(tmp_path, b"x" * 32).save(SECTIONS)
    assert file_in(tmp_path).load() is None


def test_a_directory_that_cannot_be_written_to(tmp_path: Path) -> None:
    tmp_path.joinpath("file").write_bytes(b"")
    assert not file_in(tmp_path / "file" / "below").save(SECTIONS)
    closed = tmp_path / "closed"
    file_in(closed).save(SECTIONS)
    let_others_through(tmp_path)

    def attempt() -> tuple[bool, bool]:
        closed.chmod(0o500)
        return file_in(closed).save([b"other"]), loaded(file_in(closed)) == SECTIONS

    assert as_ordinary_user(attempt, closed) == (False, True)


def test_a_full_disk(tmp_path: Path) -> None:
    """What is there stays, and nothing is left of the new one."""
    file = file_in(tmp_path)
    file.save([b"before"])

    def attempt() -> bool:
        resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        return file.save(SECTIONS)

    assert in_a_child(attempt) is False
    assert os.listdir(tmp_path) == [f"{ID}.index"]
    assert loaded(file) == [b"before"]


_KILLED = """
import sys
from repositories.engine.index.kept_file import KeptFile
file = KeptFile(sys.argv[1], sys.argv[2], ".index", b"k" * 32)
write = type(file)._write
def stop(self, target, sections):
    write(self, target, sections)
    target.truncate(5_000_000)
    print("half", flush=True)
    sys.stdin.read()
type(file)._write = stop
file.save([bytes(10_000_000)])
"""


def test_a_process_that_is_killed_while_it_writes(tmp_path: Path) -> None:
    """What was there counts on; meanwhile others do not wait, and afterwards one draft at most is left."""
    file = file_in(tmp_path)
    file.save([b"before"])
    command = [sys.executable, "-P", "-c", _KILLED, str(tmp_path), ID]
    for _ in range(2):
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == b"half\n"
            assert not file.save([b"meanwhile"])
            assert loaded(file) == [b"before"]
            process.kill()
        assert loaded(file) == [b"before"]
        assert sorted(os.listdir(tmp_path)) == [f".{ID}.index", f"{ID}.index"]
    assert file.save([b"after"])
    assert loaded(file) == [b"after"]
    assert os.listdir(tmp_path) == [f"{ID}.index"]


def test_many_write_and_read_at_once(tmp_path: Path) -> None:
    file = file_in(tmp_path)
    file.save([bytes([9]) * 1000])
    seen: list[list[bytearray] | None] = []

    def work(number: int) -> None:
        for _ in range(20):
            file.save([bytes([number]) * 1000 * (number + 1)])
            seen.append(file.load())

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(seen) == 80
    assert all(each is not None and len(set(each[0])) == 1 for each in seen)
    assert os.listdir(tmp_path) == [f"{ID}.index"]


def test_the_number_of_files_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_file, "FILES_KEPT", 3)
    for number in range(5):
        KeptFile(str(tmp_path), f"{number:032x}", ".index", bytes(32)).save([b""])
        os.utime(tmp_path / f"{number:032x}.index", (number, number))
    assert sorted(os.listdir(tmp_path)) == [f"{number:032x}.index" for number in (2, 3, 4)]


def test_too_much_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_file, "MOST_BYTES", 1000)
    assert not file_in(tmp_path).save([bytes(600), bytes(401)])
    assert file_in(tmp_path).save([bytes(600), bytes(400)])
    assert file_in(tmp_path).load() is not None

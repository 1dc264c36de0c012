"""The storage contract: every backend and wrapper keeps it."""

import os
import stat
import threading
from pathlib import Path

import pytest

from repositories.engine.errors import ConfigurationError, ObjectExistsError, ObjectMissingError
from repositories.engine.storage.base import Storage, StoredObject
from repositories.engine.storage.faults import FaultyStorage
from repositories.engine.storage.local import LocalStorage
from repositories.engine.storage.memory import MemoryStorage
from repositories.engine.storage.statistics import StatisticsStorage

KINDS = ["local", "memory", "faulty", "statistics"]


@pytest.fixture(params=KINDS)
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> Storage:
    made: dict[str, Storage] = {
        "local": LocalStorage(str(tmp_path / "repository")),
        "memory": MemoryStorage(),
        "faulty": FaultyStorage(LocalStorage(str(tmp_path / "faulty"))),
        "statistics": StatisticsStorage(LocalStorage(str(tmp_path / "statistics"))),
    }
    chosen = made[request.param]
    chosen.prepare()
    return chosen


def names(storage: Storage, prefix: str = "") -> list[str]:
    return sorted(stored.name for stored in storage.list(prefix))


def test_put_then_get_whole_and_parts(storage: Storage) -> None:
    storage.put("packs/ab/one", b"0123456789")
    assert storage.get("packs/ab/one") == b"0123456789"
    assert storage.get("packs/ab/one", 3) == b"3456789"
    assert storage.get("packs/ab/one", 3, 4) == b"3456"
    assert storage.get("packs/ab/one", 8, 40) == b"89"
    assert storage.get("packs/ab/one", 40, 4) == b""
    assert storage.size("packs/ab/one") == 10


def test_put_takes_memoryviews_and_empty_objects(storage: Storage) -> None:
    storage.put("marks/a", memoryview(bytearray(b"xyz"))[1:])
    storage.put("marks/b", b"")
    assert storage.get("marks/a") == b"yz"
    assert storage.get("marks/b") == b""


def test_put_refuses_to_overwrite_unless_told(storage: Storage) -> None:
    storage.put("sessions/a", b"1")
    with pytest.raises(ObjectExistsError):
        storage.put("sessions/a", b"2")
    assert storage.get("sessions/a") == b"1"
    storage.put("sessions/a", b"3", overwrite=True)
    assert storage.get("sessions/a") == b"3"


@pytest.mark.parametrize("in_scratch", [True, False])
def test_put_file_takes_the_file(storage: Storage, tmp_path: Path, in_scratch: bool) -> None:
    directory = storage.scratch_directory() if in_scratch else None
    file = Path(directory or tmp_path) / "file-to-put"
    file.write_bytes(b"content" * 1000)
    storage.put_file("packs/cd/two", str(file))
    assert storage.get("packs/cd/two") == b"content" * 1000
    assert not file.exists()
    file.write_bytes(b"other")
    with pytest.raises(ObjectExistsError):
        storage.put_file("packs/cd/two", str(file))


def test_list_shows_what_was_put_below_a_prefix(storage: Storage) -> None:
    for name in ("index/a", "copies/index/a", "packs/ab/x", "packs/cd/y", "reserve"):
        storage.put(name, b"z" * len(name))
    assert names(storage) == ["copies/index/a", "index/a", "packs/ab/x", "packs/cd/y", "reserve"]
    assert names(storage, "packs/") == ["packs/ab/x", "packs/cd/y"]
    assert names(storage, "packs/ab/") == ["packs/ab/x"]
    assert names(storage, "marks/") == []
    assert list(storage.list("index/")) == [StoredObject("index/a", 7)]
    with pytest.raises(ConfigurationError):
        list(storage.list("pac"))


def test_delete_and_missing_objects(storage: Storage) -> None:
    storage.put("marks/a", b"1")
    storage.delete("marks/a")
    assert names(storage) == []
    for act in (storage.delete, storage.get, storage.size):
        with pytest.raises(ObjectMissingError, match="marks/a"):
            act("marks/a")


@pytest.mark.parametrize("name", ["", "/", "/a", "a/", "a//b", "../a", "a/../b", ".", "a/.b", "A", "a b", "ä", "a\n"])
def test_names_that_could_lead_elsewhere_are_refused(storage: Storage, name: str) -> None:
    for act in (lambda: storage.put(name, b""), lambda: storage.get(name), lambda: storage.delete(name)):
        with pytest.raises(ConfigurationError):
            act()


def test_many_threads_put_at_once(storage: Storage) -> None:
    def put(number: int) -> None:
        for each in range(10):
            storage.put(f"packs/{each:02x}/{number:032x}", bytes([number]) * 1000)

    threads = [threading.Thread(target=put, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(names(storage, "packs/")) == 60
    assert storage.get(f"packs/09/{5:032x}") == b"\x05" * 1000


def test_local_modes_are_private_and_scratch_is_not_listed(tmp_path: Path) -> None:
    storage = LocalStorage(str(tmp_path / "repository"))
    storage.prepare()
    scratch = storage.scratch_directory()
    assert scratch is not None
    (Path(scratch) / "half").write_bytes(b"half")
    storage.put("packs/ab/one", b"1")
    assert names(storage) == ["packs/ab/one"]
    for directory, _, files in os.walk(tmp_path / "repository"):
        assert stat.S_IMODE(os.stat(directory).st_mode) == 0o700
        for file in files:
            if file != "half":
                assert stat.S_IMODE(os.stat(os.path.join(directory, file)).st_mode) == 0o400


def test_statistics_count_what_succeeded(tmp_path: Path) -> None:
    storage = StatisticsStorage(MemoryStorage())
    storage.put("marks/a", b"123")
    with pytest.raises(ObjectExistsError):
        storage.put("marks/a", b"123")
    file = tmp_path / "f"
    file.write_bytes(b"12345")
    storage.put_file("marks/b", str(file))
    storage.get("marks/a", 1)
    list(storage.list(""))
    storage.delete("marks/a")
    counts = storage.counts
    assert (counts.objects_written, counts.bytes_written) == (2, 8)
    assert (counts.reads, counts.bytes_read, counts.lists, counts.deletions) == (1, 2, 1, 1)

"""The storage contract: every backend and wrapper keeps it."""

import contextlib
import os
import secrets
import stat
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from repositories.engine.errors import ConfigurationError, ObjectExistsError, ObjectMissingError
from repositories.engine.fresh_files import nameless_file
from repositories.engine.prune.reserve import ReservedStorage
from repositories.engine.storage.base import Storage, StoredObject
from repositories.engine.storage.faults import FaultyStorage
from repositories.engine.storage.local import LocalStorage
from repositories.engine.storage.locations import open_storage
from repositories.engine.storage.memory import MemoryStorage
from repositories.engine.storage.readahead import ReadAheadStorage
from tests.engine.storage.servers import Server

LOCAL = ["local", "memory", "faulty", "reserved", "ahead"]
REMOTE = ["s3", "webdav", "sftp", "openssh"]


@pytest.fixture(params=[*LOCAL, *REMOTE])
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> Storage:
    if request.param in REMOTE:
        chosen = remote(request.getfixturevalue("server_of"), request.param)
    else:
        made: dict[str, Storage] = {
            "local": LocalStorage(str(tmp_path / "repository")),
            "memory": MemoryStorage(),
            "faulty": FaultyStorage(LocalStorage(str(tmp_path / "faulty"))),
            "reserved": ReservedStorage(LocalStorage(str(tmp_path / "reserved"))),
            "ahead": ReadAheadStorage(MemoryStorage()),
        }
        chosen = made[request.param]
    chosen.prepare()
    return chosen


def remote(server_of: Callable[[str], Server], kind: str) -> Storage:
    """Return an empty repository's storage, as every program opens it."""
    server = server_of(kind)
    return open_storage(server.location(secrets.token_hex(8)), server.credentials)


def refusal(storage: Storage) -> contextlib.AbstractContextManager[object]:
    """Expect that a name which is there is refused, as far as the medium promises it."""
    return pytest.raises(ObjectExistsError) if storage.refuses_existing else contextlib.nullcontext()


def test_what_each_medium_says_of_itself(storage: Storage, request: pytest.FixtureRequest) -> None:
    """The feature flags; all but some S3 servers refuse existing names, and far media work side by side."""
    kind = request.node.callspec.params["storage"]
    assert storage.refuses_existing == (kind != "s3")
    assert (storage.puts_at_once > 1, storage.reads_at_once > 1) == (kind in REMOTE, kind in REMOTE)
    assert (storage.free_space() is not None) == (kind not in ("memory", "ahead", "s3", "webdav"))
    if kind in REMOTE:
        assert storage.place.startswith(("s3://", "webdav://", "sftp://"))


def test_large_objects_and_parts_of_them(storage: Storage, tmp_path: Path) -> None:
    """Far media take them in parts; a range reads what it covers, up to the end and beyond."""
    content = secrets.token_bytes(1_000_003) * 20
    path = tmp_path / "pack"
    path.write_bytes(content)
    storage.put_file("packs/ab/large", str(path))
    assert storage.size("packs/ab/large") == len(content)
    assert storage.get("packs/ab/large") == content
    for offset, length in ((1, 5), (9_999_999, 3_000_000), (len(content) - 5, 5), (len(content) - 5, 50)):
        assert storage.get("packs/ab/large", offset, length) == content[offset : offset + length]
    assert storage.get("packs/ab/large", len(content), 5) == b""
    assert storage.get("packs/ab/large", 3, 0) == b""


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
    with refusal(storage):
        storage.put("sessions/a", b"2")
    assert storage.get("sessions/a") == (b"1" if storage.refuses_existing else b"2")
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
    with refusal(storage):
        storage.put_file("packs/cd/two", str(file))
    assert file.exists() == storage.refuses_existing


def test_put_file_takes_a_file_that_has_no_name(storage: Storage) -> None:
    """So packs come that no directory of the medium holds; sizes on both sides of what goes in one request."""
    for size in (0, 70_000, 17_000_000):
        content = secrets.token_bytes(size)
        descriptor, path = nameless_file("pack-")
        with os.fdopen(descriptor, "wb", buffering=0) as file:
            file.write(content)
            storage.put_file(f"packs/cd/{size}", path)
        assert storage.get(f"packs/cd/{size}") == content


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


def test_sizes_are_those_of_the_list(storage: Storage) -> None:
    for name in ("index/a", "packs/ab/x", "packs/ab/y", "packs/cd/z"):
        storage.put(name, b"z" * len(name))
    assert merged(storage, "packs/") == {"x": 10, "y": 10, "z": 10}
    assert merged(storage, "index/") == {"a": 7}
    assert merged(storage, "marks/") == {}
    with pytest.raises(ConfigurationError):
        list(storage.sizes("pac"))


def merged(storage: Storage, prefix: str) -> dict[str, int]:
    """Return all portions in one; none may come twice."""
    found: dict[str, int] = {}
    for portion in storage.sizes(prefix):
        assert portion
        assert not found.keys() & portion.keys()
        found.update(portion)
    return found


def test_delete_and_missing_objects(storage: Storage) -> None:
    storage.put("marks/a", b"1")
    storage.delete("marks/a")
    assert names(storage) == []
    for act in (storage.get, storage.size):
        with pytest.raises(ObjectMissingError, match="marks/a"):
            act("marks/a")
    # Object stores do not tell.
    with contextlib.suppress(ObjectMissingError):
        storage.delete("marks/a")


def test_move_gives_another_name_and_overwrites_nothing(storage: Storage) -> None:
    storage.put("packs/aa/one", b"content")
    storage.put("aside/other", b"other")
    storage.move("packs/aa/one", "aside/packs/aa/one")
    assert storage.get("aside/packs/aa/one") == b"content"
    with pytest.raises(ObjectMissingError):
        storage.move("packs/aa/one", "aside/again")
    with pytest.raises(ObjectExistsError):
        storage.move("aside/other", "aside/packs/aa/one")
    assert {each.name for each in storage.list("")} == {"aside/other", "aside/packs/aa/one"}


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

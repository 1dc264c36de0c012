"""A medium far away: packs are put side by side, restores read ahead, listings come in pages (4.7)."""

import secrets
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from repositories.engine.repository import WriteOptions, open_repository
from repositories.engine.restore import Overwrite
from repositories.engine.storage.base import StoredObject
from repositories.engine.storage.locations import open_storage
from repositories.engine.storage.memory import MemoryStorage
from repositories.engine.storage.readahead import ReadAheadStorage
from tests.engine.prune.builders import back_up, files, forget, run
from tests.engine.repositories import PASSWORD, back_up_tree, make_repository, restore_latest
from tests.engine.storage.servers import BUCKET, Server, running
from tests.engine.trees import pattern

AT_ONCE = 3


class Far(MemoryStorage):
    """Lets no pack in before `together` of them have come, and notes who reads what."""

    def __init__(self, together: int) -> None:
        super().__init__()
        self.together = together
        self.came = 0
        self.gate = threading.Condition()
        self.reads: list[tuple[str, int, int | None, str]] = []

    @property
    def puts_at_once(self) -> int:
        return AT_ONCE

    @property
    def reads_at_once(self) -> int:
        return AT_ONCE

    def put_file(self, name: str, path: str) -> None:
        with self.gate:
            self.came += 1
            self.gate.notify_all()
            assert self.gate.wait_for(lambda: self.came >= self.together, timeout=60)
        super().put_file(name, path)

    def get(self, name: str, offset: int = 0, length: int | None = None) -> bytes:
        if name.startswith("packs/"):
            self.reads.append((name, offset, length, threading.current_thread().name))
        return super().get(name, offset, length)


def test_packs_are_put_side_by_side(tmp_path: Path) -> None:
    """None of the packs gets in before three are under way: one after the other they would wait for ever."""
    (tmp_path / "tree").mkdir()
    for number in range(5):
        (tmp_path / "tree" / f"file {number}").write_bytes(secrets.token_bytes(2_000_000))
    far = Far(AT_ONCE)
    repository = make_repository(far)
    with repository.begin_write(WriteOptions(pack_target=2_500_000)) as session:
        back_up_tree(repository, tmp_path / "tree", session=session)
    assert far.came > AT_ONCE


def test_a_restore_reads_ahead_and_neighbours_together(tmp_path: Path) -> None:
    """4.7: ranged reads coalesced; small files and the chunks of a large one alike."""
    (tmp_path / "tree").mkdir()
    for number in range(30):
        (tmp_path / "tree" / f"small {number}").write_bytes(pattern(400_000, seed=number))
    (tmp_path / "tree" / "z large").write_bytes(pattern(24_000_000, seed=99))
    far = Far(1)
    repository = make_repository(ReadAheadStorage(far))
    back_up_tree(repository, tmp_path / "tree")
    far.reads.clear()
    restore_latest(repository, tmp_path / "back")
    for path in (tmp_path / "tree").iterdir():
        assert (tmp_path / "back" / path.name).read_bytes() == path.read_bytes()
    ahead = [each for each in far.reads if each[3].startswith("syncova-ahead")]
    assert sum(length or 0 for *_, length, _ in ahead) > 30_000_000, "all content came ahead"
    assert len(ahead) < 20, "36 MB in blocks of 1 to 2 MiB, up to 4 MiB a request"
    assert len(far.reads) - len(ahead) < 6, "the rest is metadata"


@pytest.mark.parametrize("overwrite", [Overwrite.NEVER, Overwrite.IF_CHANGED, Overwrite.ALWAYS])
def test_a_restore_over_what_is_there_fetches_no_content_that_it_does_not_write(
    overwrite: Overwrite, tmp_path: Path
) -> None:
    """4.7: what was announced for a file that stays as it is came over the line for nothing."""
    (tmp_path / "tree").mkdir()
    for number in range(10):
        (tmp_path / "tree" / f"small {number}").write_bytes(pattern(300_000, seed=number))
    far = Far(1)
    repository = make_repository(ReadAheadStorage(far))
    back_up_tree(repository, tmp_path / "tree")
    restore_latest(repository, tmp_path / "back")
    (tmp_path / "back" / "small 3").unlink()
    far.reads.clear()
    restore_latest(repository, tmp_path / "back", overwrite=overwrite)
    assert (tmp_path / "back" / "small 3").read_bytes() == pattern(300_000, seed=3)
    fetched = sum(length or 0 for *_, length, _ in far.reads)
    whole = fetched > 3_000_000
    assert whole == (overwrite is Overwrite.ALWAYS), "the block of one file, or all"


class Counted(MemoryStorage):
    """Counts requests in rounds: what is asked for at once, as far as the medium lets it, is one round."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []

    @property
    def reads_at_once(self) -> int:
        return AT_ONCE

    def get(self, name: str, offset: int = 0, length: int | None = None) -> bytes:
        self.asked.append(f"get {name.partition('/')[0]}")
        return super().get(name, offset, length)

    def list(self, prefix: str) -> Iterator[StoredObject]:
        self.asked.append(f"list {prefix}")
        return super().list(prefix)


def test_opening_asks_for_each_thing_once() -> None:
    """4.7: each request is a round trip at 100 ms. The keyrings were listed twice."""
    counted = Counted()
    make_repository(counted)
    counted.asked.clear()
    open_repository(counted, PASSWORD)
    lists = ["config/", "intents/", "keyrings/", "slots/"]
    copies = ["copies/config/", "copies/keyrings/", "copies/slots/"]
    gets = ["get config", "get keyrings", "get slots", "get slots"]
    assert sorted(counted.asked) == sorted([*gets, *(f"list {each}" for each in lists + copies)])


class Together(Counted):
    """Answers what an opening lists only when all of it was asked for, and then so what it reads."""

    def __init__(self) -> None:
        super().__init__()
        self.meetings = {"list": threading.Barrier(7), "get": threading.Barrier(4)}
        self.meets = False

    @property
    def reads_at_once(self) -> int:
        return 8

    def get(self, name: str, offset: int = 0, length: int | None = None) -> bytes:
        self._meet("get")
        return super().get(name, offset, length)

    def list(self, prefix: str) -> Iterator[StoredObject]:
        self._meet("list")
        return super().list(prefix)

    def _meet(self, what: str) -> None:
        if self.meets:
            self.meetings[what].wait(timeout=60)


def test_opening_takes_two_round_trips() -> None:
    """4.7: one after the other, the first would wait for ever for the second."""
    far = Together()
    made = make_repository(far)
    far.meets = True
    assert open_repository(far, PASSWORD).id == made.id


def test_a_sweep_is_read_once_however_often_its_place_is_looked_at(tmp_path: Path) -> None:
    """4.7: each look lists sweeps, after what they judge (docs/repository-format.md); what they say never changes."""
    counted = Counted()
    repository = make_repository(counted)
    made = [back_up(repository, tmp_path / "tree", files(number)) for number in range(2)]
    forget(repository, made[0])
    run(counted)
    counted.asked.clear()
    repository = open_repository(counted, PASSWORD)
    back_up_tree(repository, tmp_path / "tree")
    assert counted.asked.count("list sweeps/") > 1
    assert counted.asked.count("get sweeps") == 1


# A page has 1000 objects with S3 and some hundred names of a directory with SFTP; WebDAV has none.
@pytest.mark.parametrize(("kind", "objects"), [("s3", 1100), ("webdav", 300), ("sftp", 600)])
def test_listings_of_several_pages(kind: str, objects: int, tmp_path: Path) -> None:
    """4.7: tests/long/far_listing.py lists 100,000. The server is new: it knows nothing yet of what lies there."""
    with running(kind, tmp_path) as server:
        list_pages(server, kind, secrets.token_hex(8), objects)


def list_pages(server: Server, kind: str, name: str, objects: int) -> None:
    served = server.directory / BUCKET / name if kind == "s3" else server.directory / name
    expected = []
    for number in range(objects):
        path = served / "packs" / f"{number % 2:02x}" / f"{number:032x}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x")
        expected.append(f"packs/{number % 2:02x}/{number:032x}")
    storage = open_storage(server.location(name), server.credentials)
    found = list(storage.list("packs/"))
    assert [each.name for each in found] == sorted(expected)
    assert {each.size for each in found} == {1}

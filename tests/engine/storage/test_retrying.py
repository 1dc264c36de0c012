"""Trying again: what can pass, for how long, and what an unanswered request has done. No test waits."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from repositories.engine.errors import (
    ObjectExistsError,
    ObjectMissingError,
    RepositoryError,
    StorageFullError,
    StorageRefusedError,
    StorageUnreachableError,
)
from repositories.engine.storage.base import Storage, StoredObject
from repositories.engine.storage.memory import MemoryStorage
from repositories.engine.storage.remote import RemoteStorage, no_pace
from repositories.engine.storage.retrying import RetryingStorage, RetryPolicy


class Flaky(RemoteStorage):
    """A remote medium in memory. `fails` is asked before each call; `loses` after it: the answer is lost then."""

    def __init__(self) -> None:
        super().__init__("flaky://here", no_pace)
        self.memory = MemoryStorage()
        self.fails: Callable[[int], Exception | None] = lambda call: None
        self.loses: Callable[[int], bool] = lambda call: False
        self.calls = 0

    def put(self, name: str, data: bytes | memoryview, *, overwrite: bool = False) -> None:
        self._do(lambda: self.memory.put(name, data, overwrite=overwrite))

    def put_file(self, name: str, path: str) -> None:
        # A backend lets go of the file when the answer has come.
        self._do(lambda: self.memory.put(name, Path(path).read_bytes()))
        Path(path).unlink()

    def get(self, name: str, offset: int = 0, length: int | None = None) -> bytes:
        found: list[bytes] = []
        self._do(lambda: found.append(self.memory.get(name, offset, length)))
        return found[0]

    def size(self, name: str) -> int:
        found: list[int] = []
        self._do(lambda: found.append(self.memory.size(name)))
        return found[0]

    def list_from(self, prefix: str, after: str) -> Iterator[StoredObject]:
        for stored in sorted(self.memory.list(prefix), key=lambda each: each.name):
            if stored.name > after:
                self._do(lambda: None)
                yield stored

    def delete(self, name: str) -> None:
        self._do(lambda: self.memory.delete(name))

    def prepare(self) -> None:
        self._do(lambda: None)

    def _do(self, act: Callable[[], None]) -> None:
        self.calls += 1
        call = self.calls
        failure = self.fails(call)
        if failure is not None:
            raise failure
        act()
        if self.loses(call):
            raise unreachable()


def unreachable() -> StorageUnreachableError:
    return StorageUnreachableError("flaky://here: no answer", hint="wait")


def retrying(inner: Flaky, slept: list[float] | None = None, *, chance: float = 0.0, tries: int = 4) -> RetryingStorage:
    sleeps = slept if slept is not None else []
    return RetryingStorage(
        inner, RetryPolicy(tries, first=0.5, longest=3.0, chance=lambda: chance, sleep=sleeps.append)
    )


def each_call(storage: Storage, path: Path) -> dict[str, Callable[[], object]]:
    return {
        "put": lambda: storage.put("marks/b", b"2"),
        "put_file": lambda: storage.put_file("marks/c", str(path)),
        "get": lambda: storage.get("marks/a"),
        "size": lambda: storage.size("marks/a"),
        "list": lambda: list(storage.list("marks/")),
        "delete": lambda: storage.delete("marks/a"),
        "prepare": storage.prepare,
    }


CALLS = ["put", "put_file", "get", "size", "list", "delete", "prepare"]


@pytest.mark.parametrize("call", CALLS)
def test_what_passes_is_tried_again_and_the_last_failure_is_told(call: str, tmp_path: Path) -> None:
    """4.7: retries with back-off for what can pass."""
    path = tmp_path / "file"
    path.write_bytes(b"3")
    inner, slept = Flaky(), list[float]()
    inner.memory.put("marks/a", b"1")
    inner.fails = lambda number: unreachable() if number < 3 else None
    each_call(retrying(inner, slept), path)[call]()
    assert slept == [0.5, 1.0]
    slept.clear()
    inner.fails = lambda number: unreachable()
    inner.memory.objects.setdefault("marks/a", b"1")
    path.write_bytes(b"3")
    with pytest.raises(StorageUnreachableError, match=r"no answer \(4 tries in 0 s\)"):
        each_call(retrying(inner, slept), path)[call]()
    assert slept == [0.5, 1.0, 2.0]


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("error", [StorageRefusedError, StorageFullError, ObjectMissingError, RepositoryError])
def test_what_cannot_pass_is_told_at_once(call: str, error: type[RepositoryError], tmp_path: Path) -> None:
    """4.7: at once an error for what can't."""
    path = tmp_path / "file"
    path.write_bytes(b"3")
    inner, slept = Flaky(), list[float]()
    inner.memory.put("marks/a", b"1")
    inner.fails = lambda number: error("no")
    with pytest.raises(error, match=r"^no$"):
        each_call(retrying(inner, slept), path)[call]()
    assert (inner.calls, slept) == (1, [])


def test_delays_double_up_to_a_bound_and_jitter_takes_up_to_half_off() -> None:
    plain = RetryPolicy(chance=lambda: 0.0)
    assert [plain.delay(failures) for failures in range(1, 9)] == [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 20.0, 20.0]
    assert RetryPolicy(chance=lambda: 1.0).delay(3) == 1.0


@pytest.mark.parametrize("call", ["put", "put_file"])
def test_a_put_whose_answer_was_lost_is_settled_by_reading_back(call: str, tmp_path: Path) -> None:
    """4.7: a lost answer settled by reading back."""
    path = tmp_path / "file"
    path.write_bytes(b"3")
    inner = Flaky()
    inner.loses = lambda number: number == 1
    each_call(retrying(inner), path)[call]()
    assert list(inner.memory.objects.values()) == [b"2" if call == "put" else b"3"]
    assert path.exists() == (call == "put")


@pytest.mark.parametrize("call", ["put", "put_file"])
def test_another_object_under_the_name_is_no_lost_answer(call: str, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"3")
    inner = Flaky()
    inner.memory.put("marks/b", b"other")
    inner.memory.put("marks/c", b"x")
    inner.fails = lambda number: unreachable() if number == 1 else None
    with pytest.raises(ObjectExistsError):
        each_call(retrying(inner), path)[call]()
    assert path.exists()
    inner.fails = lambda number: None
    with pytest.raises(ObjectExistsError):
        each_call(retrying(inner), path)[call]()


def test_a_removal_whose_answer_was_lost_is_done() -> None:
    inner = Flaky()
    inner.memory.put("marks/a", b"1")
    inner.loses = lambda number: number == 1
    retrying(inner).delete("marks/a")
    assert inner.memory.objects == {}
    with pytest.raises(ObjectMissingError):
        retrying(inner).delete("marks/a")


def test_a_broken_listing_goes_on_behind_the_last_name() -> None:
    inner, slept = Flaky(), list[float]()
    for number in range(30):
        inner.memory.put(f"marks/{number:02}", b"1")
    inner.fails = lambda call: unreachable() if call % 7 == 0 else None
    found = [stored.name for stored in retrying(inner, slept).list("marks/")]
    assert found == [f"marks/{number:02}" for number in range(30)]
    assert slept, "it did break off"


class Hanging:
    """A medium whose failures take their time, by a clock of the test's: `seconds` each."""

    def __init__(self, seconds: float, tries: int = 8) -> None:
        self.inner, self.now, self.seconds = Flaky(), 0.0, seconds
        self.inner.memory.put("marks/a", b"1")
        self.inner.fails = self._fail
        policy = RetryPolicy(tries, chance=lambda: 1.0, sleep=self._pass, monotonic=lambda: self.now)
        self.storage = RetryingStorage(self.inner, policy)

    def _fail(self, call: int) -> StorageUnreachableError:
        del call
        self._pass(self.seconds)
        return unreachable()

    def _pass(self, seconds: float) -> None:
        self.now += seconds


@pytest.mark.parametrize(("seconds", "tries"), [(30.0, 3), (60.0, 2), (0.1, 8)])
def test_nobody_waits_much_longer_than_two_minutes_for_a_server_that_hangs(seconds: float, tries: int) -> None:
    """4.7: one that fails at once is tried eight times; whoever asks next is told after one try, until it answers."""
    hanging = Hanging(seconds)
    with pytest.raises(StorageUnreachableError, match=rf"no answer \({tries} tries in \d+ s\)"):
        hanging.storage.get("marks/a")
    assert hanging.now < 125
    with pytest.raises(StorageUnreachableError, match=r"\(1 try in"):
        hanging.storage.delete("marks/a")
    hanging.inner.fails = lambda call: None
    assert hanging.storage.get("marks/a") == b"1"
    hanging.inner.fails = hanging._fail
    with pytest.raises(StorageUnreachableError, match=rf"\({tries} tries"):
        hanging.storage.size("marks/a")


def test_who_gets_on_between_failures_has_all_tries() -> None:
    """4.7: a pack takes minutes over a narrow way; being cut off then is no server that hangs."""
    hanging = Hanging(200.0)
    with pytest.raises(StorageUnreachableError, match="8 tries"):
        hanging.storage.put("marks/b", b"2")

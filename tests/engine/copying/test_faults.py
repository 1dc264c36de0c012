"""A copy that breaks at any write or read: nothing half is listed, and the next copy ends it (3.6, 3.9)."""

import contextlib

import pytest

from repositories.engine.errors import EngineError, RepositoryError
from repositories.engine.packs.table import table_ids
from repositories.engine.storage.base import Storage
from repositories.engine.storage.faults import Fault, FaultyStorage, KilledError
from repositories.engine.storage.memory import MemoryStorage
from tests.engine.copying.builders import OTHER_PASSWORD, copy
from tests.engine.copying.small import all_contents, clone, make_origin, make_target, opened

RELATION = pytest.mark.parametrize("related", [True, False], ids=["related", "unrelated"])


@pytest.fixture(scope="module")
def origin(tmp_path_factory: pytest.TempPathFactory) -> MemoryStorage:
    return make_origin(tmp_path_factory.mktemp("sources"))


class FaultyReads(FaultyStorage):
    """Lets the read numbered `at` fail, once; with `kill` the process is dead from then on."""

    def __init__(self, inner: Storage, at: int | None, *, kill: bool = False) -> None:
        super().__init__(inner)
        self.reads = 0
        self._breaks_at = at
        self._kill = kill

    def get(self, name: str, offset: int = 0, length: int | None = None) -> bytes:
        self.reads += 1
        if self.reads == self._breaks_at:
            self._dead = self._kill
            if not self._kill:
                raise RepositoryError("the medium does not answer", hint="look after it")
        return super().get(name, offset, length)


def try_to_copy(origin: Storage, target: Storage, flush_seconds: float = 600.0) -> bool:
    """Tell whether a copy came to its end."""
    with contextlib.suppress(EngineError, KilledError):
        report = copy(opened(origin), opened(target, OTHER_PASSWORD), flush_seconds=flush_seconds)
        return report.exit_code == 0
    return False


def require_whole(origin: MemoryStorage, target: MemoryStorage, *, all_of_it: bool) -> None:
    """What the target lists can be read to the last byte and is what the origin holds."""
    wanted, found = all_contents(opened(origin)), all_contents(opened(target, OTHER_PASSWORD))
    assert found == {backup_id: wanted[backup_id] for backup_id in found}
    assert len(found) == 3 or not all_of_it


def count_writes(origin: MemoryStorage, target: MemoryStorage) -> int:
    storage = FaultyStorage(clone(target))
    assert try_to_copy(clone(origin), storage)
    return storage.writes


@RELATION
def test_a_fault_at_each_write(origin: MemoryStorage, related: bool) -> None:
    empty = make_target(origin, related=related)
    writes = count_writes(origin, empty)
    assert writes > 15
    for at in range(1, writes + 1):
        for fault in Fault:
            target = clone(empty)
            broken = FaultyStorage(target, fault, at)
            assert not try_to_copy(clone(origin), broken), (fault, at)
            require_whole(origin, target, all_of_it=False)
            assert try_to_copy(clone(origin), target)
            require_whole(origin, target, all_of_it=True)


@RELATION
@pytest.mark.parametrize("kill", [True, False], ids=["kill", "fail"])
def test_a_fault_at_each_read_of_the_origin(origin: MemoryStorage, related: bool, kill: bool) -> None:
    empty = make_target(origin, related=related)
    counting = FaultyReads(clone(origin), None)
    assert try_to_copy(counting, clone(empty))
    for at in range(1, counting.reads + 1):
        target = clone(empty)
        # Opening looks at both copies of small objects: a fault there may well be overcome.
        ended = try_to_copy(FaultyReads(clone(origin), at, kill=kill), target)
        assert not (kill and ended)
        require_whole(origin, target, all_of_it=False)
        assert try_to_copy(clone(origin), target)
        require_whole(origin, target, all_of_it=True)


@RELATION
def test_what_was_stored_before_a_kill_is_not_stored_again(origin: MemoryStorage, related: bool) -> None:
    """Resumable: index segments that were put on the way tell the next copy what is there."""
    target = make_target(origin, related=related)
    probe = FaultyStorage(clone(target))
    assert try_to_copy(origin, probe, flush_seconds=0.0)
    for at in (probe.writes // 3, probe.writes // 2, probe.writes - 3):
        broken = clone(target)
        assert not try_to_copy(clone(origin), FaultyStorage(broken, Fault.KILL, at), flush_seconds=0.0)
        before = stored_chunks(broken)
        assert before
        assert try_to_copy(clone(origin), broken)
        after = stored_chunks(broken)
        assert set(before) <= set(after)
        assert len(after) == len(set(after))


def stored_chunks(storage: MemoryStorage) -> list[bytes]:
    """Return the chunks in all packs that the index knows."""
    packs = opened(storage, OTHER_PASSWORD).reader().index.packs().values()
    return [each for pack in packs for block in pack.blocks for each in table_ids(block.table)]

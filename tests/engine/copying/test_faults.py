"""A copy that was killed goes on, and stores nothing twice (3.6); what else must hold then: tests/engine/faults."""

import contextlib

import pytest

from repositories.engine.errors import EngineError
from repositories.engine.packs.table import table_ids
from repositories.engine.storage.base import Storage
from repositories.engine.storage.faults import Fault, FaultyStorage, KilledError
from repositories.engine.storage.memory import MemoryStorage
from tests.engine.copying.builders import OTHER_PASSWORD, copy
from tests.engine.copying.small import clone, make_origin, make_target, opened

RELATION = pytest.mark.parametrize("related", [True, False], ids=["related", "unrelated"])


@pytest.fixture(scope="module")
def origin(tmp_path_factory: pytest.TempPathFactory) -> MemoryStorage:
    return make_origin(tmp_path_factory.mktemp("sources"))


def try_to_copy(origin: Storage, target: Storage, flush_seconds: float = 600.0) -> bool:
    """Tell whether a copy came to its end."""
    with contextlib.suppress(EngineError, KilledError):
        report = copy(opened(origin), opened(target, OTHER_PASSWORD), flush_seconds=flush_seconds)
        return report.exit_code == 0
    return False


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

"""The medium of either repository goes away or fills under a copy: it is said, and nothing is called damaged (3.6)."""

import pytest

from repositories.engine.errors import EngineError, IntegrityError, StorageFullError
from repositories.engine.storage.faults import FaultyStorage
from repositories.engine.storage.memory import MemoryStorage
from tests.engine.copying.builders import OTHER_PASSWORD, copy
from tests.engine.copying.pausing import Pausing
from tests.engine.copying.small import all_contents, clone, make_origin, make_target, opened

RELATION = pytest.mark.parametrize("related", [True, False], ids=["related", "unrelated"])
STEP = 3


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> MemoryStorage:
    return make_origin(tmp_path_factory.mktemp("sources"))


@RELATION
def test_an_origin_that_vanishes(made: MemoryStorage, related: bool) -> None:
    """As when it is unmounted: all names are gone at once. What was copied by then is whole."""
    empty = make_target(made, related=related)
    counting = Pausing(clone(made))
    repository = opened(counting)
    opening = counting.operations
    copy(repository, opened(clone(empty), OTHER_PASSWORD))
    copied, said = set(), set()
    for at in range(opening + 1, counting.operations + 1, STEP):
        origin, target = clone(made), clone(empty)
        repository = opened(Pausing(origin, at, origin.objects.clear))
        try:
            # Only the lease is left to be removed: all had been read.
            assert len(copy(repository, opened(target, OTHER_PASSWORD)).copied) == 3
        except EngineError as error:
            said.add((type(error), error.message))
        found, wanted = all_contents(opened(target, OTHER_PASSWORD)), all_contents(opened(made))
        assert found == {each: wanted[each] for each in found}
        copied.add(len(found))
        copy(opened(made), opened(target, OTHER_PASSWORD))
        assert all_contents(opened(target, OTHER_PASSWORD)) == wanted
    assert copied >= {0, 3}
    assert any("the repository that is copied from is gone from its place" in message for _, message in said)
    assert not any(issubclass(kind, IntegrityError) for kind, _ in said)


@RELATION
def test_a_target_that_is_full(made: MemoryStorage, related: bool) -> None:
    """From any write on: the error is that of the medium, no lease is left, and with room the next copy ends it."""
    empty = make_target(made, related=related)
    counting = FaultyStorage(clone(empty))
    copy(opened(made), opened(counting, OTHER_PASSWORD))
    for at in range(1, counting.writes + 1):
        target = clone(empty)
        full = FaultyStorage(target, at=at)
        with pytest.raises(StorageFullError):
            copy(opened(made), opened(full, OTHER_PASSWORD))
        assert not [name for name in target.objects if name.startswith("sessions/")]
        found, wanted = all_contents(opened(target, OTHER_PASSWORD)), all_contents(opened(made))
        assert found == {each: wanted[each] for each in found}
        assert copy(opened(made), opened(target, OTHER_PASSWORD)).exit_code == 0
        assert all_contents(opened(target, OTHER_PASSWORD)) == wanted

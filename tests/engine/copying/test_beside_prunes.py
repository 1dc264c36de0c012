"""A copy beside prunes of either repository: no committed backup lacks a chunk, and what went wrong is said (3.4, 3.6).

The prune comes at storage operations of the copy in turn. Mostly the copy has slept for so long that it counts as dead:
its lease is taken away first, and the prune waits for nobody.
"""

from collections.abc import Callable

import pytest

from repositories.engine.backup.options import Hooks
from repositories.engine.copying import CopyReport
from repositories.engine.errors import CommitRefusedError
from repositories.engine.forgetting import ForgetRequest, forget, plan
from repositories.engine.manifest.backups import list_backups
from repositories.engine.prune import PruneRequest, prune
from repositories.engine.storage.memory import MemoryStorage
from tests.engine.copying.builders import OTHER_PASSWORD, copy
from tests.engine.copying.pausing import Pausing
from tests.engine.copying.small import all_contents, clone, make_origin, make_target, opened
from tests.engine.repositories import PASSWORD, back_up_tree
from tests.engine.trees import change

RELATION = pytest.mark.parametrize("related", [True, False], ids=["related", "unrelated"])
STEP = 6


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> MemoryStorage:
    """Two backups of source one, of two, and a third of one that is like the first."""
    root = tmp_path_factory.mktemp("sources")
    storage = make_origin(root)
    change(root / "one" / "small", b"third", 10**18)
    back_up_tree(opened(storage), root / "one", name="one")
    return storage


def delete(storage: MemoryStorage, password: bytes, *numbers: int) -> None:
    """Delete backups by their places in the list."""
    repository = opened(storage, password)
    ids = tuple(list_backups(repository)[number].id for number in numbers)
    forget(repository, plan(repository, ForgetRequest(ids=ids, allow_last=True)))


def prune_now(storage: MemoryStorage, password: bytes) -> None:
    """Prune as if nobody were alive."""
    for name in [name for name in storage.objects if name.startswith("sessions/")]:
        del storage.objects[name]
    report = prune(opened(storage, password), PruneRequest(max_unused=0.0, pack_target=100_000), Hooks(), wait)
    assert report.finished


def wait(seconds: float) -> None:
    raise AssertionError("a prune waits for a copy that is dead")


def require_whole(origin: MemoryStorage, target: MemoryStorage) -> dict[str, object]:
    """Everything that the target lists is whole, and like the original where that is there."""
    found, wanted = all_contents(opened(target, OTHER_PASSWORD)), all_contents(opened(origin))
    assert all(found[each] == wanted[each] for each in found.keys() & wanted.keys())
    return dict(found)


def operations_of(origin: MemoryStorage, target: MemoryStorage, *, of_target: bool) -> int:
    counting = Pausing(clone(target if of_target else origin))
    first, second = (clone(origin), counting) if of_target else (counting, clone(target))
    copy(opened(first), opened(second, OTHER_PASSWORD))
    return counting.operations


def attempt(run: Callable[[], CopyReport]) -> CopyReport | CommitRefusedError:
    try:
        return run()
    except CommitRefusedError as error:
        refused = error
    assert refused.hint == "run the copy again"
    assert "backup refers to" not in refused.message
    return refused


@RELATION
def test_a_prune_of_the_target(made: MemoryStorage, related: bool) -> None:
    """What the new copy shares with deleted ones is swept under it: it is refused, or stores it again."""
    target = make_target(made, related=related)
    first_two = [each.id for each in list_backups(opened(made))[:2]]
    copy(opened(made), opened(target, OTHER_PASSWORD), backups=tuple(first_two))
    delete(target, OTHER_PASSWORD, 0, 1)
    outcomes = set()
    for at in range(1, operations_of(made, target, of_target=True) + 1, STEP):
        medium = clone(target)
        paused = Pausing(medium, at, lambda medium=medium: prune_now(medium, OTHER_PASSWORD))  # type: ignore[misc]
        ended = attempt(lambda paused=paused: copy(opened(made), opened(paused, OTHER_PASSWORD)))  # type: ignore[misc]
        outcomes.add(type(ended))
        assert paused.at_which
        require_whole(made, medium)
        again = copy(opened(made), opened(medium, OTHER_PASSWORD))
        assert again.exit_code == 0
        assert set(require_whole(made, medium)) >= {each.id for each in list_backups(opened(made))[2:]}
    assert outcomes == {CopyReport, CommitRefusedError}


@RELATION
def test_a_prune_of_the_origin_that_takes_what_is_copied(made: MemoryStorage, related: bool) -> None:
    """Backups that were deleted and swept meanwhile are told as gone, not as damaged; all others are copied."""
    empty = make_target(made, related=related)
    outcomes = set()
    for at in range(1, operations_of(made, empty, of_target=False) + 1, STEP):
        origin, target = clone(made), clone(empty)

        def sweep(origin: MemoryStorage = origin) -> None:
            delete(origin, PASSWORD, 1, 2)
            prune_now(origin, PASSWORD)

        paused = Pausing(origin, at, sweep)
        ended = attempt(lambda paused=paused, target=target: copy(opened(paused), opened(target, OTHER_PASSWORD)))  # type: ignore[misc]
        outcomes.add("refused" if isinstance(ended, CommitRefusedError) else "gone" if ended.gone else "copied")
        assert isinstance(ended, CommitRefusedError) or ended.failed == []
        require_whole(made, target)
        again = copy(opened(origin), opened(target, OTHER_PASSWORD))
        assert (again.exit_code, again.gone) == (0, [])
        assert set(require_whole(made, target)) >= {each.id for each in list_backups(opened(origin))}
    assert "gone" in outcomes
    assert "copied" in outcomes


def test_a_prune_of_the_origin_waits_for_a_copy_that_lives(made: MemoryStorage) -> None:
    """The lease of the copy keeps what is read: a deleted backup is copied whole, or not at all."""
    origin, target = clone(made), make_target(made, related=True)
    waited: list[float] = []

    class WaitedError(Exception):
        pass

    def stop(seconds: float) -> None:
        waited.append(seconds)
        raise WaitedError

    def sweep() -> None:
        delete(origin, PASSWORD, 1, 2)
        with pytest.raises(WaitedError):
            prune(opened(origin), PruneRequest(max_unused=0.0), Hooks(), stop)

    middle = operations_of(made, target, of_target=False) - 5
    report = copy(opened(Pausing(origin, middle, sweep)), opened(target, OTHER_PASSWORD))
    assert waited
    assert (report.exit_code, report.gone, len(report.copied)) == (0, [], 4)
    assert require_whole(made, target).keys() == all_contents(opened(made)).keys()

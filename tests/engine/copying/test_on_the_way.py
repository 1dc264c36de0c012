"""Cancel, progress and bandwidth while a copy runs; deletions and prunes on both sides (3.6)."""

from collections.abc import Iterator

import pytest

from repositories.engine.backup.options import Hooks
from repositories.engine.check import CheckRequest, check
from repositories.engine.errors import OperationCancelledError
from repositories.engine.forgetting import ForgetRequest, forget, plan
from repositories.engine.manifest.backups import list_backups
from repositories.engine.packs.table import table_ids
from repositories.engine.progress import Progress
from repositories.engine.prune import PruneRequest, prune
from repositories.engine.storage.memory import MemoryStorage
from repositories.engine.throttle import Throttle
from tests.engine.copying.builders import OTHER_PASSWORD, copy
from tests.engine.copying.pausing import Pausing
from tests.engine.copying.small import all_contents, clone, make_origin, make_target, opened
from tests.engine.fakes import StandingClock

RELATION = pytest.mark.parametrize("related", [True, False], ids=["related", "unrelated"])


class SteppingClock(StandingClock):
    """A second later at each look: every beat is one at which cancel and progress are asked."""

    def monotonic(self) -> float:
        self.time_ns += 10**9
        return self.time_ns / 1e9


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> MemoryStorage:
    return make_origin(tmp_path_factory.mktemp("sources"))


def beats(origin: MemoryStorage, target: MemoryStorage) -> int:
    """Return how often a whole copy asks whether it was cancelled."""
    asked = iter(range(10**6))
    copy(
        opened(origin), opened(target, OTHER_PASSWORD), Hooks(clock=SteppingClock(), cancelled=lambda: next(asked) < 0)
    )
    return next(asked)


@RELATION
def test_cancelled_at_any_beat(made: MemoryStorage, related: bool) -> None:
    """What was committed is whole, what was stored is found again, and nothing is stored twice."""
    empty = make_target(made, related=related)
    for at in range(0, beats(made, clone(empty)), 3):
        target = clone(empty)
        asked: Iterator[int] = iter(range(10**6))
        hooks = Hooks(clock=SteppingClock(), cancelled=lambda asked=asked, at=at: next(asked) >= at)  # type: ignore[misc]
        with pytest.raises(OperationCancelledError):
            copy(opened(made), opened(target, OTHER_PASSWORD), hooks)
        found, wanted = all_contents(opened(target, OTHER_PASSWORD)), all_contents(opened(made))
        assert found == {each: wanted[each] for each in found}
        copy(opened(made), opened(target, OTHER_PASSWORD))
        assert all_contents(opened(target, OTHER_PASSWORD)) == wanted
        packs = opened(target, OTHER_PASSWORD).reader().index.packs().values()
        chunks = [each for pack in packs for block in pack.blocks for each in table_ids(block.table)]
        assert len(chunks) == len(set(chunks))


@RELATION
def test_progress_and_bandwidth(made: MemoryStorage, related: bool) -> None:
    """What is read waits for the bucket, and is told."""
    told: list[Progress] = []
    taken: list[int] = []

    class Bucket(Throttle):
        def take(self, count: int) -> None:
            taken.append(count)

    bucket = Bucket(1, monotonic=lambda: 0.0, sleep=lambda seconds: None)
    hooks = Hooks(clock=SteppingClock(), report=told.append, read_bucket=bucket)
    report = copy(opened(made), opened(make_target(made, related=related), OTHER_PASSWORD), hooks)
    assert sum(taken) == report.bytes_read > 600_000
    assert {each.phase for each in told} == {"copying"}
    assert max(each.bytes_read for each in told) <= report.bytes_read
    assert [each.files for each in told] == sorted(each.files for each in told)


def test_what_was_deleted_in_the_target(made: MemoryStorage) -> None:
    """It stays deleted until a prune has taken it away; then a copy brings it back."""
    target = make_target(made, related=True)
    copy(opened(made), opened(target, OTHER_PASSWORD))
    repository = opened(target, OTHER_PASSWORD)
    first = list_backups(repository)[0]
    request = ForgetRequest(ids=(first.id,))
    forget(repository, plan(repository, request))
    report = copy(opened(made), opened(target, OTHER_PASSWORD))
    assert (report.copied, report.there, report.deleted_there) == ([], 2, 1)
    prune(opened(target, OTHER_PASSWORD), PruneRequest(), Hooks())
    report = copy(opened(made), opened(target, OTHER_PASSWORD))
    assert [each.backup.id for each in report.copied] == [first.id]
    assert all_contents(opened(target, OTHER_PASSWORD)) == all_contents(opened(made))


@RELATION
def test_from_a_pruned_origin(made: MemoryStorage, related: bool) -> None:
    """Repacked blocks and removed parents are no matter; a parent that is not in the target is not named there."""
    origin = clone(made)
    repository = opened(origin)
    first, second, _ = list_backups(repository)
    forget(repository, plan(repository, ForgetRequest(ids=(first.id,))))
    prune(opened(origin), PruneRequest(max_unused=0.0), Hooks())
    target = make_target(origin, related=related)
    report = copy(opened(origin), opened(target, OTHER_PASSWORD))
    assert (report.exit_code, len(report.copied)) == (0, 2)
    assert all_contents(opened(target, OTHER_PASSWORD)) == all_contents(opened(origin))
    lineage = list_backups(opened(target, OTHER_PASSWORD))[0].root.lineage
    assert (lineage.parent, lineage.parent_manifest) == (second.root.lineage.parent, None)


@RELATION
@pytest.mark.parametrize("which", ["put manifests/", "put copies/manifests/", "list manifests/"])
def test_two_copies_at_once_double_nothing(made: MemoryStorage, related: bool, which: str) -> None:
    """Another copy into the same target runs to its end while this one is about to put or to look."""
    empty = make_target(made, related=related)
    counting = Pausing(clone(empty), which=which)
    copy(opened(made), opened(counting, OTHER_PASSWORD))
    wanted = all_contents(opened(made))
    for at in range(1, counting.operations + 1):
        target = clone(empty)

        def other(target: MemoryStorage = target) -> None:
            copy(opened(made), opened(target, OTHER_PASSWORD))

        paused = Pausing(target, at, other, which)
        report = copy(opened(made), opened(paused, OTHER_PASSWORD))
        assert paused.at_which
        assert (report.exit_code, report.failed) == (0, [])
        listed = [each.id for each in list_backups(opened(target, OTHER_PASSWORD))]
        assert sorted(listed) == sorted(wanted)
        assert all_contents(opened(target, OTHER_PASSWORD)) == wanted
        assert check(opened(target, OTHER_PASSWORD), CheckRequest(), Hooks()).problems == []

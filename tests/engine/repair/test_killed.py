"""A repair that is killed at any step leaves everything restorable, and is just run again."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from repositories.engine.forgetting import place_hold
from repositories.engine.format.collection import MarkRecord, SweepRecord
from repositories.engine.format.kinds import COPIES, ObjectKind
from repositories.engine.format.records import encode
from repositories.engine.manifest.backups import list_backups
from repositories.engine.repository import open_repository
from repositories.engine.storage.faults import CHANGES, Breakage, Fault, FaultyStorage, KilledError
from repositories.engine.storage.memory import MemoryStorage
from tests.engine.repair.hurting import (
    SMALL,
    copy_of,
    flip,
    mend,
    packs,
    require_whole,
)
from tests.engine.repositories import PASSWORD


def hurt_packs(storage: MemoryStorage) -> None:
    """Hurt packs, so that no chunk is lost, and one copy of everything small."""
    flip(storage, packs(storage, 1)[0], -1)
    flip(storage, packs(storage, 2)[0], -1)
    for name in [name for name in storage.objects if name.startswith(COPIES)]:
        flip(storage, name, -1)


def hurt_index(storage: MemoryStorage) -> None:
    for name in [name for name in storage.objects if "index/" in name]:
        flip(storage, name, -1)


def hurt_notes(storage: MemoryStorage) -> None:
    first = list_backups(open_repository(storage, PASSWORD))[0]
    place_hold(open_repository(storage, PASSWORD), first, "audit")
    flip(storage, next(name for name in storage.objects if name.startswith("annotations/")), -1)


def hurt_fence(storage: MemoryStorage) -> None:
    """Hurt both copies of the only sweep, and the mark of the prune that died there."""
    store = open_repository(storage, PASSWORD).store
    segments = b"".join(sorted(store.ids(ObjectKind.INDEX)))
    manifests = b"".join(sorted(store.ids(ObjectKind.MANIFEST)))
    store.put(ObjectKind.MARK, encode(MarkRecord(5, b"a prune that died"[:16], 1, b"")))
    store.put(ObjectKind.SWEEP, encode(SweepRecord(5, b"a prune that died"[:16], 1, manifests, b"", segments, b"")))
    for name in [name for name in storage.objects if "sweeps/" in name or name.startswith("marks/")]:
        flip(storage, name, -1)


@pytest.mark.parametrize("hurt", [hurt_packs, hurt_index, hurt_notes])
def test_a_repair_killed_at_any_step_leaves_everything_restorable(
    small: MemoryStorage, tmp_path: Path, hurt: Callable[[MemoryStorage], None]
) -> None:
    hurt(small)
    require_whole(small, tmp_path / "before", SMALL)
    for number, inner in killed_at_every_step(small):
        require_whole(inner, tmp_path / f"out{number}", SMALL)
        assert mend(inner, read_data=True).exit_code == 0


def test_a_repair_of_the_fence_killed_at_any_step_is_just_run_again(small: MemoryStorage, tmp_path: Path) -> None:
    """Nothing can be listed before it is done; then all is there, and the backup in doubt has its note."""
    hurt_fence(small)
    for number, inner in killed_at_every_step(small):
        # What cannot be known is told by whichever repair comes to it: its exit code is 13.
        mend(inner, read_data=True)
        assert mend(inner, read_data=True).exit_code == 0
        repository = open_repository(inner, PASSWORD)
        backups = list_backups(repository)
        assert [len(repository.notes().of(bytes.fromhex(each.manifest_id))) for each in backups] == [0, 1]
        require_whole(inner, tmp_path / f"out{number}", SMALL)


def killed_at_every_step(hurt: MemoryStorage) -> Iterator[tuple[int, MemoryStorage]]:
    """Yield the medium as each of the deaths of a repair leaves it."""
    counting = Breakage(Fault.KILL, among=CHANGES)
    mend(FaultyStorage(copy_of(hurt), breakage=counting), read_data=True)
    assert counting.operations > 6
    for number in range(1, counting.operations + 1):
        inner = copy_of(hurt)
        with pytest.raises(KilledError):
            mend(FaultyStorage(inner, breakage=Breakage(Fault.KILL, number, CHANGES)), read_data=True)
        # In one process the dead of a test would be taken for alive.
        for name in [name for name in inner.objects if name.startswith("sessions/")]:
            del inner.objects[name]
        yield number, inner

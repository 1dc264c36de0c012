"""A repair that is killed at any step leaves everything restorable, and is just run again."""

from collections.abc import Callable
from pathlib import Path

import pytest

from repositories.engine.format.kinds import COPIES
from repositories.engine.storage.faults import Fault, FaultyStorage, KilledError
from repositories.engine.storage.memory import MemoryStorage
from tests.engine.repair.hurting import (
    SMALL,
    copy_of,
    flip,
    mend,
    packs,
    require_whole,
)


def hurt_packs(storage: MemoryStorage) -> None:
    """Hurt packs, so that no chunk is lost, and one copy of everything small."""
    flip(storage, packs(storage, 1)[0], -1)
    flip(storage, packs(storage, 2)[0], -1)
    for name in [name for name in storage.objects if name.startswith(COPIES)]:
        flip(storage, name, -1)


def hurt_index(storage: MemoryStorage) -> None:
    for name in [name for name in storage.objects if "index/" in name]:
        flip(storage, name, -1)


class EveryStep(FaultyStorage):
    """Breaks at removals, too."""

    def delete(self, name: str) -> None:
        self._breaks()
        super().delete(name)


@pytest.mark.parametrize("hurt", [hurt_packs, hurt_index])
def test_a_repair_killed_at_any_step_leaves_everything_restorable(
    small: MemoryStorage, tmp_path: Path, hurt: Callable[[MemoryStorage], None]
) -> None:
    hurt(small)
    require_whole(small, tmp_path / "before", SMALL)
    counting = EveryStep(copy_of(small))
    assert mend(counting, read_data=True).exit_code == 0
    assert counting.writes > 10
    for number in range(1, counting.writes + 1):
        inner = copy_of(small)
        with pytest.raises(KilledError):
            mend(EveryStep(inner, Fault.KILL, number), read_data=True)
        require_whole(inner, tmp_path / f"out{number}", SMALL)
        assert mend(inner, read_data=True).exit_code == 0

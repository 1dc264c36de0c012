"""When checkpoints of a running backup are put: soon at first, then rarely (2.15)."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pytest

from repositories.engine.backup.checkpoints import Checkpoints
from repositories.engine.backup.options import BackupOptions, Hooks
from repositories.engine.backup.pulse import Pulse
from repositories.engine.backup.session import BackupSession
from repositories.engine.repository import open_repository
from repositories.engine.storage.faults import Fault, FaultyStorage, KilledError
from repositories.engine.storage.memory import MemoryStorage
from tests.engine.backup.interruptions import SIZE, TOTAL, HurryingClock, build_files, require_restorable
from tests.engine.repositories import PASSWORD, LaterClock, back_up_tree, make_repository


@dataclass(slots=True)
class Watch:
    """A clock that is set by hand, and a session that notes when a checkpoint comes."""

    seconds: float = 1000.0
    put: list[float] = field(default_factory=list)

    def now_ns(self) -> int:
        return int(self.seconds * 1e9)

    def monotonic(self) -> float:
        return self.seconds

    def checkpoint(self, root: bytes, **_: Any) -> None:
        self.put.append(self.seconds - 1000.0)

    def flush(self) -> None:
        self.checkpoint(b"")


def checkpoints_of(seconds: int, *, root: bytes | None = b"root", reads: bool = True, **options: float) -> list[float]:
    """Return after how many seconds a backup that reads all the time put its checkpoints."""
    watch = Watch()
    pulse = Pulse(Hooks(clock=watch))
    order = BackupOptions("backup", "run", **options)  # type: ignore[arg-type]
    checkpoints = Checkpoints(cast(BackupSession, watch), watch, pulse, order)
    checkpoints.hold(lambda: root)
    for _ in range(seconds):
        watch.seconds += 1.0
        pulse.bytes_read += 10 if reads else 0
        pulse.entry()
        pulse.beat()
    return watch.put


@pytest.mark.parametrize("root", [b"root", None])
def test_the_first_comes_after_half_a_minute_and_the_intervals_double(root: bytes | None) -> None:
    """2.15: a kill costs half of the time so far, never more than the longest interval. Chunks alone are kept alike."""
    put = checkpoints_of(3000, root=root)
    assert put == [30, 60, 120, 240, 480, 960, 1560, 2160, 2760]
    for earlier, later in zip([15.0, *put], put, strict=False):
        assert later - earlier <= min(earlier, 600)


def test_what_is_asked_for_is_the_longest_interval() -> None:
    assert checkpoints_of(50, checkpoint_seconds=10.0) == [10, 20, 30, 40, 50]
    assert checkpoints_of(4, checkpoint_seconds=0.0) == [1, 2, 3, 4]
    assert checkpoints_of(200, checkpoint_seconds=45.0, first_checkpoint_seconds=20.0) == [20, 40, 80, 125, 170]


def test_who_reads_nothing_puts_none() -> None:
    assert checkpoints_of(3000, reads=False) == []


class SlowClock(LaterClock):
    """Some seconds pass with each look at it."""

    def __init__(self) -> None:
        super().__init__()
        self._hurrying = HurryingClock()

    def monotonic(self) -> float:
        return self._hurrying.monotonic() * 10


def test_a_first_backup_that_is_killed_in_its_first_minutes_is_gone_on_with(tmp_path: Path) -> None:
    """2.15: what lies on the medium is of use, although the longest interval has not passed."""
    source = tmp_path / "source"
    build_files(source)
    storage = MemoryStorage()
    make_repository(storage)
    kept = dict(storage.objects)
    counting = FaultyStorage(storage)
    clock = SlowClock()
    back_up_tree(open_repository(counting, PASSWORD), source, clock=clock)
    assert clock.monotonic() < 600
    storage.objects.clear()
    storage.objects.update(kept)
    killed = open_repository(FaultyStorage(storage, Fault.KILL, counting.writes - 2), PASSWORD)
    with pytest.raises(KilledError):
        back_up_tree(killed, source, clock=SlowClock())
    repository = open_repository(storage, PASSWORD)
    assert back_up_tree(repository, source).bytes_read <= TOTAL - 3 * SIZE
    require_restorable(repository, source, tmp_path / "out")

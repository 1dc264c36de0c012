"""A medium that keeps what it was after each change, and whoever looked at it then with all that was seen before."""

from collections.abc import Callable
from dataclasses import dataclass, field

from repositories.engine.errors import IntegrityError
from repositories.engine.format.collection import MarkRecord, SweepRecord
from repositories.engine.format.kinds import ObjectKind
from repositories.engine.format.records import encode
from repositories.engine.high_water import HighWater, merge
from repositories.engine.manifest.backups import list_backups
from repositories.engine.manifest.withheld import withheld
from repositories.engine.objects.store import ObjectStore
from repositories.engine.repository import Repository, open_repository
from repositories.engine.rollback import judge, read_high_water
from repositories.engine.storage.memory import MemoryStorage
from tests.engine.repositories import PASSWORD, make_repository


class Recording(MemoryStorage):
    """Keeps its objects as they were after each put and deletion; `interpose` lets something happen before one."""

    def __init__(self) -> None:
        super().__init__()
        self.states: list[dict[str, bytes]] = []
        self._prefix = ""
        self._act: Callable[[], object] | None = None

    def interpose(self, prefix: str, act: Callable[[], object]) -> None:
        """Call `act` once, before the next put below a prefix."""
        self._prefix, self._act = prefix, act

    def put(self, name: str, data: bytes | memoryview, *, overwrite: bool = False) -> None:
        """Store, and keep what the medium is then."""
        if self._act is not None and name.startswith(self._prefix):
            act, self._act = self._act, None
            act()
        super().put(name, data, overwrite=overwrite)
        self._keep()

    def delete(self, name: str) -> None:
        """Remove, and keep what the medium is then."""
        super().delete(name)
        self._keep()

    def _keep(self) -> None:
        with self._lock:
            self.states.append(dict(self.objects))


def recorded() -> Recording:
    """Return a medium with a new repository; what follows is recorded."""
    storage = Recording()
    make_repository(storage)
    storage.states.clear()
    return storage


def medium(objects: dict[str, bytes]) -> MemoryStorage:
    """Return a medium of its own with these objects."""
    storage = MemoryStorage()
    storage.objects.update(objects)
    return storage


@dataclass
class Observer:
    """One machine, or one control plane, with its memory."""

    remembered: HighWater = field(default_factory=HighWater)

    def look(self, storage: MemoryStorage) -> str:
        """Look as each command does; return why this is an earlier state, empty if it is none."""
        repository = open_repository(storage, PASSWORD)
        return self.judge(repository, read_high_water(repository, self.remembered))

    def judge(self, repository: Repository, now: HighWater) -> str:
        """Return the judgement; what was no earlier state is remembered."""
        reason = judge(repository, self.remembered, now)
        if not reason:
            self.remembered = merge(self.remembered, now)
        return reason


def require_no_alarm(states: list[dict[str, bytes]]) -> None:
    """Whoever looked at any of these states, and at some or all before it, takes none that follows for an earlier one,
    and misses no backup that is named.

    Opening may finish what a process left, so that each look has a copy of its own. What cannot be read is left to the
    operation to tell, and adds nothing to the memory.
    """
    faithful = Observer()
    memories: dict[HighWater, int] = {}
    for at, objects in enumerate(states):
        repository = open_repository(medium(objects), PASSWORD)
        try:
            now = read_high_water(repository, HighWater())
        except IntegrityError:
            continue
        assert not withheld(repository, list_backups(repository, deleted=True)), at
        for remembered, since in memories.items():
            shown = read_high_water(repository, remembered)
            assert judge(repository, remembered, shown) == "", (since, at, objects.keys() ^ states[at - 1].keys())
        assert faithful.judge(repository, read_high_water(repository, faithful.remembered)) == "", at
        memories.setdefault(now, at)
        memories.setdefault(faithful.remembered, at)
    assert len(memories) > 1


def mark(store: ObjectStore, number: int) -> bytes:
    """Put a mark as a prune that then dies; return its id."""
    return store.put(ObjectKind.MARK, encode(MarkRecord(number, bytes(16), 1, b"")))


def sweep(store: ObjectStore, number: int) -> bytes:
    """Put a sweep that accepts all there is; return its id."""
    kept = b"".join(sorted(store.ids(ObjectKind.MANIFEST)))
    segments = b"".join(sorted(store.ids(ObjectKind.INDEX)))
    return store.put(ObjectKind.SWEEP, encode(SweepRecord(number, bytes(16), 1, kept, b"", segments, b"")))

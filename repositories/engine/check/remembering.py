"""Writes what a check found into the repository, while it goes on: good packs and hurt backups with the time, damage.

Owns when it is written: a check that is killed loses at most about half of its time, and never more than 10 minutes.
Nothing is written without a finding, or onto a medium that cannot be written to. Damage that is recorded makes the next
backup store those chunks again, if the source still has them (engine.md, section 3); it is withdrawn when the pack is
read whole later.
"""

import contextlib
from collections.abc import Iterable, Mapping, Sequence

from repositories.engine.check.ledger import Ledger, read_results
from repositories.engine.check.packs import ids_of
from repositories.engine.check.report import PackResult
from repositories.engine.clock import Clock
from repositories.engine.errors import EngineError, StorageFullError, StorageReadOnlyError
from repositories.engine.format.kinds import ObjectKind
from repositories.engine.format.records import Record, encode
from repositories.engine.format.verification import CheckedRecord, DamageRecord
from repositories.engine.objects.store import ObjectStore
from repositories.engine.sessions.fences import join_ids
from repositories.engine.sessions.views import damaged_chunks, read_hurt

_RAREST_SECONDS = 600.0
_LAST_NS = 2**63 - 1


class Memory:
    """Takes results and records them; one thread. `possible` turns False when the medium takes no records.

    The first record is put after `seconds`, each further one after twice as long as the one before.
    """

    def __init__(self, store: ObjectStore, ledger: Ledger, clock: Clock, seconds: float) -> None:
        self._store = store
        self._clock = clock
        self._seconds = seconds
        self._records_of: Mapping[bytes, Sequence[bytes]] = ledger.damage_of()
        self._known = damaged_chunks(ledger.damage.values())
        self._good: list[bytes] = []
        self._damage: list[DamageRecord] = []
        self._begin()
        self.possible = True
        self.healed = 0

    def take(self, result: PackResult) -> None:
        """Take the result of one pack; record what has gathered when it is time."""
        pack_id = result.pack.pack_id
        if result.failure is None:
            self._good.append(pack_id)
            self._withdraw(pack_id)
        elif result.bad and not self._is_known(pack_id, result.bad):
            self._add_damage(result)
        if self._clock.monotonic() >= self._due:
            self._seconds = min(self._seconds * 2, _RAREST_SECONDS)
            self.record()

    def record(self) -> None:
        """Record what has gathered. Raises the storage's errors, but for a medium that is full or only readable."""
        # What a failed put leaves here is tried again when the check ends.
        while self._damage:
            self._put(ObjectKind.DAMAGE, self._damage[0])
            del self._damage[0]
        if self._good:
            # The time before the first of them was read: nothing is said to have been good later than it was seen.
            self._put(ObjectKind.VERIFIED, CheckedRecord(self._since_ns, join_ids(self._good), None))
            self._good = []
        self._begin()

    def finish(self, hurt: Iterable[str]) -> bool:
        """Record the rest, and the manifests (hex ids) that are hurt; return whether everything could be recorded."""
        self.record()
        hurt_now = frozenset(map(bytes.fromhex, hurt))
        if self.possible and hurt_now != read_hurt(self._store):
            # Later than all that was said before, also by a machine whose clock is ahead: the newest word counts.
            self._put(ObjectKind.VERIFIED, CheckedRecord(self._newest_told() + 1, b"", join_ids(hurt_now)))
        return self.possible

    def save(self) -> None:
        """Record what has gathered before the check ends with an error, which must not be hidden by another one."""
        with contextlib.suppress(EngineError):
            self.record()

    def _put(self, kind: ObjectKind, record: Record) -> None:
        if not self.possible:
            return
        try:
            self._store.put(kind, encode(record))
        except (StorageReadOnlyError, StorageFullError):
            self.possible = False

    def _newest_told(self) -> int:
        """Return a time at or after which no record says which backups are hurt; never before now."""
        times = [record.checked_ns for record in read_results(self._store).values() if record.hurt is not None]
        return max([self._clock.now_ns() - 1, *(time for time in times if time < _LAST_NS)])

    def _begin(self) -> None:
        self._since_ns = self._clock.now_ns()
        self._due = self._clock.monotonic() + self._seconds

    def _withdraw(self, pack_id: bytes) -> None:
        standing = self._records_of.get(pack_id, ())
        if standing:
            reason = "a later check read the whole pack, and it is good"
            self._damage.append(DamageRecord(self._clock.now_ns(), pack_id, b"", reason, join_ids(standing)))
            self.healed += 1

    def _add_damage(self, result: PackResult) -> None:
        bad = set(result.bad)
        chunks = b"" if bad.issuperset(ids_of(result.pack)) else b"".join(sorted(bad))
        self._damage.append(DamageRecord(self._clock.now_ns(), result.pack.pack_id, chunks, result.failure or ""))

    def _is_known(self, pack_id: bytes, bad: Sequence[bytes]) -> bool:
        known = self._known.get(pack_id)
        return known is not None and (not known or known.issuperset(bad))

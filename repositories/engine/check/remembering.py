"""Writes what a check found into the repository, while it goes on: good packs and hurt backups with the time, damage.

Owns when it is written: a check that is killed keeps all but the last minutes. Nothing is written without a finding, or
onto a medium that cannot be written to. Damage that is recorded makes the next backup store those chunks again, if the
source still has them (engine.md, section 3); it is withdrawn when the pack is read whole later.
"""

import contextlib
from collections.abc import Iterable, Mapping, Sequence

from repositories.engine.check.ledger import Ledger
from repositories.engine.check.packs import ids_of
from repositories.engine.check.report import PackResult
from repositories.engine.clock import Clock
from repositories.engine.errors import EngineError, StorageFullError, StorageReadOnlyError
from repositories.engine.format.kinds import ObjectKind
from repositories.engine.format.records import encode
from repositories.engine.format.verification import CheckedRecord, DamageRecord
from repositories.engine.objects.store import ObjectStore
from repositories.engine.sessions.fences import join_ids
from repositories.engine.sessions.views import damaged_chunks, read_hurt

_RAREST_SECONDS = 600.0


class Memory:
    """Takes results and records them; one thread. `possible` turns False when the medium takes no records."""

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
        self._record(None)

    def finish(self, hurt: Iterable[str]) -> bool:
        """Record the rest, and the manifests (hex ids) that are hurt; return whether everything could be recorded."""
        hurt_now = frozenset(map(bytes.fromhex, hurt))
        changed = self.possible and hurt_now != read_hurt(self._store)
        self._record(join_ids(hurt_now) if changed or self._good else None)
        return self.possible

    def save(self) -> None:
        """Record what has gathered before the check ends with an error, which must not be hidden by another one."""
        with contextlib.suppress(EngineError):
            self.record()

    def _record(self, hurt: bytes | None) -> None:
        # The time before the first of them was read: nothing is claimed to have been good later than it was seen.
        good, damage, since = join_ids(self._good), self._damage, self._since_ns
        self._good, self._damage = [], []
        self._begin()
        if not self.possible:
            return
        try:
            for record in damage:
                self._store.put(ObjectKind.DAMAGE, encode(record))
            if good or hurt is not None:
                self._store.put(ObjectKind.VERIFIED, encode(CheckedRecord(since, good, hurt)))
        except (StorageReadOnlyError, StorageFullError):
            self.possible = False

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

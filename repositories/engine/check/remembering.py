"""Writes what a check found into the repository: good packs and hurt backups with the time, and damage.

Owns when nothing is written: no new finding, or a medium that cannot be written to. Damage that is recorded makes
the next backup store those chunks again, if the source still has them (engine.md, section 3).
"""

from collections.abc import Iterable, Mapping, Sequence

from repositories.engine.check.packs import PackResult, ids_of
from repositories.engine.errors import StorageFullError, StorageReadOnlyError
from repositories.engine.format.kinds import ObjectKind
from repositories.engine.format.records import encode
from repositories.engine.format.verification import CheckedRecord, DamageRecord
from repositories.engine.objects.store import ObjectStore
from repositories.engine.sessions.fences import join_ids
from repositories.engine.sessions.views import read_damage, read_hurt


def remember(store: ObjectStore, results: Sequence[PackResult], hurt: Iterable[str], now_ns: int) -> bool:
    """Record results, and the manifests (hex ids) that are hurt; return whether that could be done."""
    good = join_ids([result.pack.pack_id for result in results if result.failure is None])
    hurt_now = frozenset(map(bytes.fromhex, hurt))
    try:
        if good or hurt_now != read_hurt(store):
            store.put(ObjectKind.VERIFIED, encode(CheckedRecord(now_ns, good, join_ids(hurt_now))))
        _remember_damage(store, results, now_ns)
    except (StorageReadOnlyError, StorageFullError):
        return False
    return True


def _remember_damage(store: ObjectStore, results: Sequence[PackResult], now_ns: int) -> None:
    damaged = [result for result in results if result.bad]
    known: Mapping[bytes, frozenset[bytes]] = read_damage(store) if damaged else {}
    for result in damaged:
        if _is_known(known.get(result.pack.pack_id), result.bad):
            continue
        bad = set(result.bad)
        chunks = b"" if bad.issuperset(ids_of(result.pack)) else b"".join(sorted(bad))
        record = DamageRecord(now_ns, result.pack.pack_id, chunks, result.failure or "")
        store.put(ObjectKind.DAMAGE, encode(record))


def _is_known(known: frozenset[bytes] | None, bad: Sequence[bytes]) -> bool:
    return known is not None and (not known or known.issuperset(bad))

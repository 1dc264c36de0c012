"""Writes what a check found into the repository: good packs with the time, and damage.

Owns when nothing is written: no new finding, or a medium that cannot be written to. Damage that is recorded makes
the next backup store those chunks again, if the source still has them (engine.md, section 3).
"""

from collections.abc import Sequence

from repositories.engine.check.packs import PackResult
from repositories.engine.errors import StorageFullError, StorageReadOnlyError
from repositories.engine.format.kinds import ObjectKind
from repositories.engine.format.records import encode
from repositories.engine.format.verification import DamageRecord, VerifiedRecord
from repositories.engine.repository import Repository
from repositories.engine.sessions.views import read_damage


def remember(repository: Repository, results: Sequence[PackResult], now_ns: int) -> bool:
    """Record results; return whether that could be done."""
    known = read_damage(repository.store)
    good = sorted(result.pack.pack_id for result in results if result.failure is None)
    try:
        if good:
            repository.store.put(ObjectKind.VERIFIED, encode(VerifiedRecord(now_ns, b"".join(good))))
        for result in results:
            if not result.bad or _is_known(known.get(result.pack.pack_id), result.bad):
                continue
            record = DamageRecord(now_ns, result.pack.pack_id, b"".join(sorted(set(result.bad))), result.failure or "")
            repository.store.put(ObjectKind.DAMAGE, encode(record))
    except (StorageReadOnlyError, StorageFullError):
        return False
    return True


def _is_known(known: frozenset[bytes] | None, bad: Sequence[bytes]) -> bool:
    return known is not None and (not known or known.issuperset(bad))

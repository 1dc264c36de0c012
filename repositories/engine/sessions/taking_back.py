"""A manifest that its writer takes back, since a prune or a rotation passed by before it was settled.

Owns the two steps. Another backup may have found the manifest meanwhile and name it as one of its heads for ever: the
tombstone tells a check that it is gone on purpose.
"""

from repositories.engine.format.kinds import ObjectKind
from repositories.engine.format.notes import TombstoneRecord
from repositories.engine.format.records import encode
from repositories.engine.objects.store import ObjectStore

REASON = "taken back by its writer: a prune or a key rotation passed by"


def take_back(store: ObjectStore, manifest_id: bytes, now_ns: int, reason: str = REASON) -> None:
    """Remove a manifest that shall not count; the tombstone first. Raises the storage's errors."""
    store.put(ObjectKind.TOMBSTONE, encode(TombstoneRecord((manifest_id,), now_ns, reason)))
    store.remove(ObjectKind.MANIFEST, manifest_id)

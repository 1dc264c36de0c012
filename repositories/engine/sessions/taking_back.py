"""Manifests: put whole or told to be gone.

Owns the puts of a manifest, and the two steps by which its writer takes one back, since a prune or a rotation passed by
before it was settled, or since the medium had no room for its second copy. Another backup may have found the manifest
meanwhile and name it as one of its heads for ever: the tombstone tells a check that it is gone on purpose.
"""

from repositories.engine.format.kinds import ObjectKind
from repositories.engine.format.notes import TombstoneRecord
from repositories.engine.format.records import encode
from repositories.engine.objects.store import ObjectStore

REASON = "taken back by its writer: a prune or a key rotation passed by"
NO_ROOM = "taken back by its writer: the medium refused its second copy"


def put_manifest(store: ObjectStore, payload: bytes, now_ns: int) -> bytes:
    """Put a manifest; return its id. Raises the storage's errors.

    With a medium that refuses the second copy the first goes, and a tombstone comes: before, if there is room for it,
    else in the room that is free then. Only on a medium that refuses even that nothing tells why it is gone.
    """
    manifest_id = store.new_id()
    return store.put(ObjectKind.MANIFEST, payload, manifest_id, bury=lambda: _bury(store, manifest_id, now_ns, NO_ROOM))


def take_back(store: ObjectStore, manifest_id: bytes, now_ns: int, reason: str = REASON) -> None:
    """Remove a manifest that shall not count; the tombstone first. Raises the storage's errors."""
    _bury(store, manifest_id, now_ns, reason)
    store.remove(ObjectKind.MANIFEST, manifest_id)


def _bury(store: ObjectStore, manifest_id: bytes, now_ns: int, reason: str) -> bytes:
    return store.put(ObjectKind.TOMBSTONE, encode(TombstoneRecord((manifest_id,), now_ns, reason)))

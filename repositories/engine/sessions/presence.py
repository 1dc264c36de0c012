"""Which of the packs that the index names are not on the medium as they were put.

Owns one listing of the packs and the comparison; what follows from it is the session's.
"""

from collections.abc import Iterable

from repositories.engine.format.kinds import DIRECTORIES, ObjectKind, sizes_by_id
from repositories.engine.storage.base import Storage


def pack_sizes(storage: Storage) -> dict[bytes, int]:
    """Return the size of every pack on the medium by id: names and sizes of one listing, nothing is read."""
    sizes: dict[bytes, int] = {}
    for portion in storage.sizes(DIRECTORIES[ObjectKind.PACK] + "/"):
        sizes.update(sizes_by_id(portion))
    return sizes


def absent_packs(storage: Storage, *named: Iterable[tuple[bytes, int]]) -> frozenset[bytes]:
    """Return the ids of those `named` packs (id, length) that are missing or do not have their length.

    `named` must have been read from the index before: a pack is durable before an index segment names it, so that
    what another writer puts meanwhile is never taken for lost.
    """
    sizes = pack_sizes(storage)
    return frozenset(pack_id for some in named for pack_id, length in some if sizes.get(pack_id) != length)

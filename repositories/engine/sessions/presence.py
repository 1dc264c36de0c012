"""Which of the packs that the index names are not on the medium as they were put.

Owns one listing of the packs and the comparison; what follows from it is the session's. Where there are very many packs
and a listing looks at each of them, each is looked at when it is first relied on instead.
"""

from collections.abc import Iterable
from typing import Final

from repositories.engine.errors import ObjectMissingError
from repositories.engine.format.kinds import DIRECTORIES, ObjectKind, object_name, sizes_by_id
from repositories.engine.index.catalogue import LiveIndex
from repositories.engine.index.lookup import ChunkIndex
from repositories.engine.objects.store import ObjectStore
from repositories.engine.sessions.views import read_damage
from repositories.engine.storage.base import Storage

MANY: Final = 20_000
"""So many are listed when a session begins, in 50 ms on a medium near by."""
_PACKS: Final = DIRECTORIES[ObjectKind.PACK] + "/"


def pack_sizes(storage: Storage) -> dict[bytes, int]:
    """Return the size of every pack on the medium by id: names and sizes of one listing, nothing is read."""
    sizes: dict[bytes, int] = {}
    for portion in storage.sizes(_PACKS):
        sizes.update(sizes_by_id(portion))
    return sizes


def absent_packs(storage: Storage, *named: Iterable[tuple[bytes, int]]) -> frozenset[bytes]:
    """Return the ids of those `named` packs (id, length) that are missing or do not have their length.

    `named` must have been read from the index before: a pack is durable before an index segment names it, so that
    what another writer puts meanwhile is never taken for lost.
    """
    sizes = pack_sizes(storage)
    return frozenset(pack_id for some in named for pack_id, length in some if sizes.get(pack_id) != length)


def usable_index(store: ObjectStore, known: LiveIndex, marked: frozenset[bytes]) -> tuple[frozenset[bytes], ChunkIndex]:
    """Return the packs that are absent, and an index in which nothing that lies in them, or in `marked`, is present.

    Of very many packs on a medium near by none is looked at yet: the index looks at each when it is first used.
    """
    if store.storage.looks_are_cheap and known.count() > MANY:
        index = known.index(marked, read_damage(store))
        index.look_when_used(lambda pack_id, length: _is_there(store.storage, pack_id, length))
        return frozenset(), index
    absent, damage = store.both(lambda: absent_packs(store.storage, known.lengths()), lambda: read_damage(store))
    return absent, known.index(marked | absent, damage)


def _is_there(storage: Storage, pack_id: bytes, length: int) -> bool:
    """Tell whether a pack is on the medium as it was put."""
    try:
        return storage.size(object_name(ObjectKind.PACK, pack_id)) == length
    except ObjectMissingError:
        return False

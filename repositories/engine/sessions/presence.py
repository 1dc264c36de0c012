"""Which of the packs that the index names are not on the medium as they were put.

Owns one listing of the packs and the comparison; what follows from it is the session's. Where there are very many packs
and each size takes a look of its own, names are compared at once, and each size when the pack is first relied on.
"""

from collections.abc import Iterable
from typing import Final

from repositories.engine.errors import ObjectMissingError
from repositories.engine.format.kinds import DIRECTORIES, ObjectKind, object_name, sizes_by_id
from repositories.engine.index.catalogue import LiveIndex
from repositories.engine.index.lookup import ChunkIndex, IsThere
from repositories.engine.objects.store import ObjectStore
from repositories.engine.sessions.views import read_damage
from repositories.engine.storage.base import Storage

MANY: Final = 20_000
"""Packs whose sizes are looked at when a session begins: 50 ms on a medium near by."""
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

    Of very many packs those that are cut are not among the former: the index asks when one is first used.
    """
    (absent, is_there), damage = store.both(
        lambda: surely_absent(store.storage, known, MANY), lambda: read_damage(store)
    )
    index = known.index(marked | absent, damage)
    if is_there is not None:
        index.look_when_used(is_there)
    return absent, index


def surely_absent(storage: Storage, known: LiveIndex, many: int) -> tuple[frozenset[bytes], IsThere | None]:
    """Return what `absent_packs` does, and None; or of more than `many` packs those whose names are missing.

    Then the second value tells of each of the others whether it is there: it must be asked before one is relied on.
    """
    portions = storage.names(_PACKS) if known.count() > many else None
    if portions is None:
        return absent_packs(storage, known.lengths()), None
    missing = set(known.names())
    for names in portions:
        missing.difference_update(names)

    def is_there(pack_id: bytes, length: int) -> bool:
        try:
            return storage.size(object_name(ObjectKind.PACK, pack_id)) == length
        except ObjectMissingError:
            return False

    return frozenset(map(bytes.fromhex, missing)), is_there

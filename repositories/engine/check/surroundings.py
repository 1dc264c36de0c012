"""What lies on the medium beside what a check has looked at: packs in no index, what was set aside, what is not ours.

Owns one look at the end of a check, and telling names of the format from others. Nothing there is read.
"""

import contextlib
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from repositories.engine.errors import RepositoryError
from repositories.engine.format.headers import parse_object_header
from repositories.engine.format.kinds import COPIES, RESERVE_NAME, WRITTEN_TWICE, ObjectKind, is_name_of
from repositories.engine.prune.compact import IndexedPack
from repositories.engine.repository import Repository
from repositories.engine.sessions.presence import pack_sizes
from repositories.engine.sessions.views import read_swept_packs
from repositories.engine.storage.base import Storage

ASIDE: Final = "aside/"
_UNREAD: Final = (ASIDE, "tmp/")
_STRAYS_NAMED: Final = 10


@dataclass(frozen=True, slots=True)
class Count:
    """How many objects, and their bytes."""

    count: int = 0
    bytes: int = 0


@dataclass(frozen=True, slots=True)
class Surroundings:
    """`unlisted` packs are in no index: nobody has read them. `retired` are packs under keys from before a rotation.

    `strays` are files that are none of the format's; the first 10 are named. Where something bars the way to them
    (`lost+found`), those before it are told. `vanished` packs were there when the check began. `swept` ones are gone
    rightly: a prune took them away meanwhile.
    """

    unlisted: Count = Count()
    retired: Count = Count()
    aside: Count = Count()
    strays: int = 0
    stray_names: tuple[str, ...] = ()
    vanished: tuple[bytes, ...] = ()
    swept: frozenset[bytes] = frozenset()


def look_around(repository: Repository, packs: Collection[IndexedPack], missed: Collection[bytes]) -> Surroundings:
    """Look at the medium. `packs` are those of the index, `missed` those that were gone before."""
    # The packs first: whatever is gone by now and was swept, the newest sweep names.
    sizes = pack_sizes(repository.storage)
    gone = {pack.pack_id for pack in packs if pack.pack_id not in sizes}
    swept = gone & read_swept_packs(repository.store) if gone else frozenset()
    named = {pack.pack_id for pack in packs}
    epoch = repository.keyring.current_epoch
    older = [pack.length for pack in packs if parse_object_header(pack.header).epoch != epoch]
    strays, names = _strays(repository.storage)
    return Surroundings(
        unlisted=_count([size for pack_id, size in sizes.items() if pack_id not in named]),
        retired=_count(older),
        aside=_count([stored.size for stored in repository.storage.list(ASIDE)]),
        strays=strays,
        stray_names=names,
        vanished=tuple(sorted(gone - swept - set(missed))),
        swept=frozenset(swept),
    )


def _count(sizes: list[int]) -> Count:
    return Count(len(sizes), sum(sizes))


def _strays(storage: Storage) -> tuple[int, tuple[str, ...]]:
    count = 0
    names: list[str] = []
    with contextlib.suppress(RepositoryError):
        for stored in storage.list(""):
            if stored.name == RESERVE_NAME or stored.name.startswith(_UNREAD) or _is_ours(stored.name):
                continue
            count += 1
            if len(names) < _STRAYS_NAMED:
                names.append(stored.name)
    return count, tuple(names)


def _is_ours(name: str) -> bool:
    primary = name.removeprefix(COPIES)
    kinds = ObjectKind if primary == name else WRITTEN_TWICE
    return any(is_name_of(kind, primary) for kind in kinds)

"""Packs that no readable index segment names, found by their own directories: what is left when the index is hurt.

Owns the reading of directories and the rule which of these packs count. An index is completed at most once in its life,
and only when something was looked for in vain.
"""

import threading
from collections.abc import Callable, Collection, Iterable
from concurrent.futures import ThreadPoolExecutor

import msgspec

from repositories.engine.display import show_count
from repositories.engine.errors import IntegrityError, ObjectMissingError, UnsupportedFormatError
from repositories.engine.format.headers import parse_object_header
from repositories.engine.format.kinds import DIRECTORIES, ObjectKind, object_id_of
from repositories.engine.index.lookup import ChunkIndex
from repositories.engine.objects.store import ObjectStore
from repositories.engine.packs.directory import HASH_UNKNOWN, PackRecord
from repositories.engine.packs.reader import PackReader
from repositories.engine.storage.base import StoredObject

_READERS = 4
Tell = Callable[[str], None]
TakesPack = Callable[[PackRecord], bool]


class Unnamed(msgspec.Struct, frozen=True):
    """Packs in no index: those whose directory opens, and the ids of those without one that does."""

    packs: tuple[PackRecord, ...] = ()
    without: tuple[bytes, ...] = ()


def read_unnamed(store: ObjectStore, packs: PackReader, named: Callable[[], Collection[bytes]]) -> Unnamed:
    """Read the directories of all packs on the medium that are not `named`. Raises errors of the medium.

    `named` is asked after the packs were listed: what is put meanwhile is never taken for lost.
    """
    names = list(store.storage.list(DIRECTORIES[ObjectKind.PACK] + "/"))
    found: list[PackRecord] = []
    without: list[bytes] = []
    with ThreadPoolExecutor(_READERS, "syncova-directories") as pool:
        for pack_id, record in pool.map(lambda each: (each[0], _record(packs, *each)), _others(names, named())):
            if record is not None:
                found.append(record)
            else:
                without.append(pack_id)
    return Unnamed(tuple(found), tuple(without))


def is_current(store: ObjectStore, pack: PackRecord) -> bool:
    """Tell whether a pack was sealed by the epoch's key that is in use: only such a pack counts without an index.

    What an older key sealed may come from someone who knows a retired password.
    """
    return parse_object_header(pack.header).epoch == store.keyring.current_epoch


def _others(names: Iterable[StoredObject], named: Collection[bytes]) -> list[tuple[bytes, int]]:
    listed = [(object_id_of(stored.name), stored.size) for stored in names]
    return [(pack_id, size) for pack_id, size in listed if pack_id is not None and pack_id not in named]


def _record(packs: PackReader, pack_id: bytes, size: int) -> PackRecord | None:
    try:
        header, directory = packs.read_directory(pack_id)
    except (IntegrityError, ObjectMissingError, UnsupportedFormatError):
        return None
    return PackRecord(pack_id, size, HASH_UNKNOWN, directory.pack_class, header, directory.blocks)


def _unheard(_: str) -> None:
    pass


class IndexRecovery(msgspec.Struct):
    """Completes one index when it is asked to. Threads: `run` may be called by any; all wait for the first one.

    `takes` says which packs count. `tell` gets one line for people when what was found here was needed. `newer` yields
    the packs that segments name now: those put since the index was built are not lost, and stay unknown to it.
    """

    store: ObjectStore
    packs: PackReader
    index: ChunkIndex
    takes: TakesPack
    tell: Tell = _unheard
    newer: Callable[[], Iterable[PackRecord]] = tuple
    found: tuple[PackRecord, ...] = ()
    needed: bool = False
    _done: bool = False
    _lock: threading.Lock = msgspec.field(default_factory=threading.Lock)

    def run(self) -> bool:
        """Add the packs that no index names, the first time; return whether there are any that count."""
        with self._lock:
            if not self._done:
                unnamed = read_unnamed(self.store, self.packs, self._named)
                self.found = tuple(pack for pack in unnamed.packs if self.takes(pack))
                self.index.add(self.found)
                self._done = True
        return bool(self.found)

    def _named(self) -> Collection[bytes]:
        return self.index.packs().keys() | {pack.pack_id for pack in self.newer()}

    def among(self, packs: frozenset[bytes]) -> tuple[PackRecord, ...]:
        """Return those of `packs` that were found here."""
        return tuple(pack for pack in self.found if pack.pack_id in packs)

    def note_need(self) -> None:
        """Take note that something was found here alone; told once."""
        if not self.needed:
            self.needed = True
            self.tell(
                f"the index is damaged: {show_count(len(self.found), 'pack')} that it does not name were found by "
                "their own directories; run syncova-repo repair"
            )

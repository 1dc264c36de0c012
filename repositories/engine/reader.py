"""Reading chunks: from id to verified content.

Owns the path index → pack → block → chunk and its small cache of decoded blocks, which lets go first of those that were
read to the end; of threads that want the same block one decodes it. Every chunk is authenticated and re-hashed before
anyone sees it.
"""

import collections
import itertools
import threading
from collections.abc import Callable, Iterable, Iterator

from repositories.engine.errors import EngineError, IntegrityError, ObjectMissingError
from repositories.engine.ids import ChunkKind
from repositories.engine.index.lookup import ChunkIndex, Location
from repositories.engine.index.recovery import IndexRecovery
from repositories.engine.keys.keyring import Keyring
from repositories.engine.limits import MIB
from repositories.engine.packs.blocks import DecodedBlock
from repositories.engine.packs.reader import PackReader

_CACHE_BYTES = 24 * MIB
_CACHE_BYTES_APART = 12 * MIB
_Key = tuple[bytes, int]


class _Decoding:
    """A block that one thread decodes while others wait for `done`; `block` is still None then if that failed."""

    __slots__ = ("block", "done")

    def __init__(self) -> None:
        self.block: DecodedBlock | None = None
        self.done = threading.Event()


class ChunkReader:
    """Reads chunks through one index. Safe in several threads."""

    def __init__(
        self,
        index: ChunkIndex,
        packs: PackReader,
        keyring: Keyring,
        cache_bytes: int = _CACHE_BYTES,
        failed: Callable[[bytes], None] = lambda pack_id: None,
        recovery: IndexRecovery | None = None,
    ) -> None:
        """`failed` is told of each pack that does not give back a chunk which it should hold.

        `recovery` completes the index the first time that a chunk is not found there.
        """
        self._failed = failed
        self.recovery = recovery
        self._index = index
        self._packs = packs
        self._keyring = keyring
        self._cache: collections.OrderedDict[_Key, DecodedBlock] = collections.OrderedDict()
        self._unread: dict[_Key, int] = {}
        self._decoding: dict[_Key, _Decoding] = {}
        self._cache_bytes = cache_bytes
        self._cached = 0
        self._lock = threading.Lock()

    @property
    def index(self) -> ChunkIndex:
        """Return the index this reader looks into."""
        return self._index

    def apart(self) -> "ChunkReader":
        """Return a reader over the same index for a process that was just forked: it shares no lock with this one.

        It keeps little, tells nobody of packs that fail, and looks for no chunk that the index does not name.
        """
        return ChunkReader(self._index, self._packs.apart(), self._keyring, _CACHE_BYTES_APART)

    def keep_little(self) -> None:
        """Let go of the blocks that are kept, and keep few from now on: others will read most of them."""
        with self._lock:
            self._cache_bytes = _CACHE_BYTES_APART
            self._cache.clear()
            self._unread.clear()
            self._cached = 0

    def locate(self, kind: ChunkKind, chunk_id: bytes) -> Location | None:
        """Return where a chunk lies, or None if no index names it."""
        location = self._index.locate(kind, chunk_id)
        return location if location is not None else next(self._recovered(kind, chunk_id), None)

    def _recovered(self, kind: ChunkKind, chunk_id: bytes) -> Iterator[Location]:
        """Yield the places of a chunk that the index does not name, if directories of packs do."""
        if self.recovery is not None and self.recovery.run():
            for location in self._index.locations(kind, chunk_id):
                self.recovery.note_need()
                yield location

    def read(self, kind: ChunkKind, chunk_id: bytes) -> bytes:
        """Return a chunk's content, from whichever place is whole. Raises IntegrityError or ObjectMissingError."""
        failure: EngineError | None = None
        best = self.locate(kind, chunk_id)
        others = (each for each in self._index.locations(kind, chunk_id) if each != best)
        places: Iterator[Location] = others if best is None else itertools.chain((best,), others)
        for location in places:
            try:
                return bytes(self.extract(self.read_block(location), kind, chunk_id, location))
            except (IntegrityError, ObjectMissingError) as error:
                failure = error
                self._failed(location.pack)
        raise failure or ObjectMissingError(
            f"chunk {chunk_id.hex()} is in no index", hint="run check to see which backups are affected"
        )

    def read_block(self, location: Location) -> DecodedBlock:
        """Return the whole decoded block a location lies in: authenticated, its chunks not yet re-hashed."""
        key = (location.pack, location.block)
        while True:
            with self._lock:
                block = self._cache.get(key)
                if block is not None:
                    self._cache.move_to_end(key)
                    return block
                decoding = self._decoding.get(key)
                if decoding is None:
                    own = self._decoding[key] = _Decoding()
                    break
            decoding.done.wait()
            if decoding.block is not None:
                return decoding.block
            # What failed there may have been that thread's own; each failure ends one thread's waiting.
        return self._decode(key, own, location)

    def _decode(self, key: _Key, own: _Decoding, location: Location) -> DecodedBlock:
        """Decode a block for all who wait for `own`, and keep it."""
        try:
            block = own.block = self._packs.read_block(location.place)
        finally:
            with self._lock:
                del self._decoding[key]
                if own.block is not None:
                    self._keep(key, own.block)
            own.done.set()
        return block

    def _keep(self, key: _Key, block: DecodedBlock) -> None:
        self._cache[key] = block
        self._unread[key] = len(block.table)
        self._cached += len(block.content)
        while self._cached > self._cache_bytes and len(self._cache) > 1:
            oldest = next(iter(self._cache))
            # What lies at the border of two windows is wanted again, however long that takes.
            gone = next((each for each in self._cache if not self._unread[each]), oldest)
            self._cached -= len(self._cache.pop(gone).content)
            del self._unread[gone]

    @property
    def far(self) -> bool:
        """Tell whether the medium is so far away that announcing what will be read helps."""
        return self._packs.far

    def expect(self, locations: Iterable[Location]) -> None:
        """Let the blocks of these places be fetched ahead; those at hand or being decoded are not."""
        with self._lock:
            at_hand = self._cache.keys() | self._decoding.keys()
            wanted = [each for each in locations if (each.pack, each.block) not in at_hand]
        self._packs.expect(dict.fromkeys(each.place for each in wanted))

    def give_up(self) -> None:
        """Let nothing be fetched ahead any more: who has expected it will not come."""
        self._packs.give_up()

    def extract(self, block: DecodedBlock, kind: ChunkKind, chunk_id: bytes, location: Location) -> memoryview:
        """Return one chunk of a decoded block, re-hashed. Raises IntegrityError."""
        content = memoryview(block.content)[location.offset : location.offset + location.length]
        if self._keyring.chunk_id(kind, content) != chunk_id:
            raise IntegrityError(
                f"chunk {chunk_id.hex()} does not have the content of its id", hint="run check --read-data"
            )
        key = (location.pack, location.block)
        with self._lock:
            if self._unread.get(key):
                self._unread[key] -= 1
        return content

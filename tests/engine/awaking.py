"""A medium on which a prune that slept puts its sweep at an awkward moment."""

from collections.abc import Iterator

from repositories.engine.format.collection import SweepRecord
from repositories.engine.format.kinds import COPIES, ObjectKind, object_name
from repositories.engine.format.records import encode
from repositories.engine.ids import ChunkKind
from repositories.engine.objects.store import ObjectStore
from repositories.engine.repository import Repository
from repositories.engine.sessions.fences import join_ids
from repositories.engine.storage.base import StoredObject
from repositories.engine.storage.memory import MemoryStorage


class Awaking(MemoryStorage):
    """Shows a prepared sweep from one listing of index segments on: whoever has read the sweeps before knows nothing.

    `awakes_at`: how many listings before, 0 for the first once a sweep is prepared.
    """

    def __init__(self, awakes_at: int = 0) -> None:
        super().__init__()
        self.sweep: dict[str, bytes] = {}
        self.left = awakes_at
        self.awoke = False

    def list(self, prefix: str) -> Iterator[StoredObject]:
        """Let the prune go on at its moment, then list."""
        if self.sweep and prefix == "index/":
            self.left -= 1
            if self.left < 0 and not self.awoke:
                self.awoke = True
                self.objects.update(self.sweep)
        return super().list(prefix)


def prepare_sweep(storage: Awaking, store: ObjectStore, number: int, void: bytes, packs: bytes = b"") -> None:
    """Prepare a sweep that accepts all manifests and all segments but one, and takes `packs`."""
    manifests, segments = frozenset(store.ids(ObjectKind.MANIFEST)), frozenset(store.ids(ObjectKind.INDEX)) - {void}
    record = SweepRecord(number, store.new_id(), 1, join_ids(manifests), b"", join_ids(segments), packs)
    name = object_name(ObjectKind.SWEEP, store.put(ObjectKind.SWEEP, encode(record)))
    storage.sweep = {each: storage.objects.pop(each) for each in (name, COPIES + name)}


def put_loose(repository: Repository) -> bytes:
    """List a pack that no backup uses in a segment of its own; return the segment's id."""
    before = frozenset(repository.store.ids(ObjectKind.INDEX))
    with repository.begin_write() as session:
        session.put(ChunkKind.DATA, b"what no backup uses")
        session.flush()
    (segment_id,) = frozenset(repository.store.ids(ObjectKind.INDEX)) - before
    return segment_id

"""The front door: create and open repositories, list backups, begin sessions, read chunks.

Owns the Repository object that all operations work through. Outside the lower engine nothing below this module (and
ids, errors, limits, clock) is imported.
"""

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping

import msgspec

from repositories.engine.chunking.cutter import Chunker, cutter
from repositories.engine.clock import SYSTEM_CLOCK, Clock
from repositories.engine.creation import CreateOptions, make_repository
from repositories.engine.errors import EngineError, UnsupportedFormatError
from repositories.engine.format.commits import CheckpointRecord, CopiedFrom, CopiedManifestRecord, ManifestRecord
from repositories.engine.format.config import Config
from repositories.engine.format.kinds import ObjectKind, object_name
from repositories.engine.format.records import decode
from repositories.engine.ids import Randomness, system_randomness
from repositories.engine.index.catalogue import Catalogue, packs_of
from repositories.engine.index.kept_index import index_file
from repositories.engine.index.lookup import Location
from repositories.engine.index.recovery import IndexRecovery
from repositories.engine.keys.keyring import Keyring
from repositories.engine.keys.slots import Slot
from repositories.engine.objects.key_slots import list_slots
from repositories.engine.objects.store import ObjectStore, WholeObjects, steadily
from repositories.engine.opening import unlock
from repositories.engine.packs.directory import PackRecord
from repositories.engine.packs.reader import PackReader
from repositories.engine.reader import ChunkReader
from repositories.engine.retention.deleted import Notes, NotesReader
from repositories.engine.sessions.checkpoints import read_checkpoints
from repositories.engine.sessions.options import WriteOptions
from repositories.engine.sessions.read import ReadSession, read_index
from repositories.engine.sessions.views import accepted_by_newest_sweep, read_hurt, read_newest_sweep
from repositories.engine.sessions.write import WriteSession as StoreWriteSession
from repositories.engine.storage.base import Storage, StoredObject

__all__ = [
    "Checkpoints",
    "ChunkReader",
    "CreateOptions",
    "CreatedRepository",
    "Location",
    "ReadSession",
    "Repository",
    "StoredManifest",
    "WriteOptions",
    "WriteSession",
    "create_repository",
    "open_repository",
]


class StoredManifest(msgspec.Struct, frozen=True):
    """A manifest or checkpoint: `root` is the canonical bytes as committed, `object_id` hex as commit returned it.

    `deleted`: a tombstone names it and no hold keeps it; it is there until the next prune. `copied`: it is a copy, and
    `received_ns` is when the original was received.
    """

    object_id: str
    name: str
    root: bytes
    received_ns: int
    fence: int
    generation: int
    deleted: bool = False
    copied: CopiedFrom | None = None


class Checkpoints(msgspec.Struct, frozen=True):
    """Checkpoints of unfinished backups, oldest first: those that count, those that a prune made void.

    `damaged` names the objects that cannot be read.
    """

    counted: list[StoredManifest]
    void: list[StoredManifest]
    damaged: list[str]


class WriteSession(StoreWriteSession):
    """A write session of an opened repository: what it is compared with and cut by is reached through it."""

    def __init__(self, repository: "Repository", options: WriteOptions) -> None:
        """Put the lease, then read marks, damage and index. Raises the storage's errors."""
        super().__init__(repository.store, repository.catalogue, repository.clock, options)
        self.repository = repository
        self._recovery.tell = repository.warn
        self._recovery.newer = lambda: packs_of(repository.catalogue.live(accepted_by_newest_sweep(repository.store)))
        try:
            if repository.catalogue.lost() and self._recovery.run():
                self._recovery.note_need()
        except BaseException:
            self.close()
            raise

    def list_packs(self, packs: Iterable[PackRecord]) -> None:
        """List packs that no segment names in the next one that is put: for repairs."""
        self._index.add(packs := tuple(packs))
        self._unindexed.extend(packs)

    def reader(self) -> ChunkReader:
        """Return a reader over the session's own index, which need not be built a second time."""
        packs, keyring = self.repository.pack_reader, self.repository.keyring
        return ChunkReader(self._index, packs, keyring, failed=self.distrust, recovery=self._recovery)


class Repository:
    """An opened repository. Safe in several threads; sessions and readers made from it are independent.

    `warn` gets lines for people that a reader or session has to tell; whoever opened the repository sets it, and
    `fence_seen`, the highest number of a prune that was seen in it before.
    """

    def __init__(
        self, store: ObjectStore, config: Config, clock: Clock, unknown_write_features: tuple[str, ...] = ()
    ) -> None:
        self.store = store
        self.config = config
        self.clock = clock
        self.id = config.repository_id.hex()
        self.unknown_write_features = unknown_write_features
        self.warn: Callable[[str], None] = _unheard
        self.refuse_writing: EngineError | None = None
        self.fence_seen = 0
        self.catalogue = Catalogue(store)
        self.pack_reader = PackReader(store)
        self._notes = NotesReader(store)
        self._manifests: dict[bytes, CopiedManifestRecord] = {}
        self._checkpoints: dict[bytes, CheckpointRecord] = {}
        self._damaged: tuple[bytes, ...] = ()
        self._lock = threading.Lock()

    @property
    def storage(self) -> Storage:
        """Return the storage."""
        return self.store.storage

    @property
    def keyring(self) -> Keyring:
        """Return the keyring."""
        return self.store.keyring

    def keep_in(self, directory: str) -> None:
        """Let this machine keep the index below `directory`, so that it need not be read again the next time."""
        self.catalogue = Catalogue(self.store, index_file(directory, self.store))

    def backups(self, *, deleted: bool = False) -> list[StoredManifest]:
        """Return the manifests that count (fence rule), oldest first by the time they were received.

        Those that are deleted are left out unless `deleted`: they are there until the next prune. One that is damaged
        in both copies is left out, and named by `damaged_manifests`: show that beside the list.
        """
        manifests = self._read_manifests()
        # Sweeps and tombstones last: those that came after the listing speak of each listed manifest.
        sweep, gone = self.store.both(
            lambda: read_newest_sweep(self.store), lambda: self._notes.deleted(self.clock.now_ns())
        )
        with self._lock:
            self._damaged = tuple(each for each in self._damaged if each not in gone)
        found = [
            _stored(ObjectKind.MANIFEST, manifest_id, record, deleted=manifest_id in gone)
            for manifest_id, record in manifests.items()
            if (deleted or manifest_id not in gone) and sweep.accepts_manifest(manifest_id, record.fence)
        ]
        return sorted(found, key=lambda each: (each.received_ns, each.name))

    def notes(self) -> Notes:
        """Return what is said about backups after the fact: deletions, holds, tags, notes."""
        return self._notes.read()

    def lay_aside(self, manifest_id: str) -> None:
        """Count a manifest (id as hex) that `backups` returned among the damaged ones: its root is none."""
        with self._lock:
            self._damaged = (*self._damaged, bytes.fromhex(manifest_id))

    def damaged_manifests(self) -> list[str]:
        """Return the names of manifests that the last `backups` could not read in either copy, or were laid aside."""
        return [object_name(ObjectKind.MANIFEST, manifest_id) for manifest_id in self._damaged]

    def hurt_manifests(self) -> frozenset[str]:
        """Return the manifests (ids as hex) of which the last check could not have restored everything."""
        return frozenset(manifest_id.hex() for manifest_id in read_hurt(self.store))

    def checkpoints(self) -> Checkpoints:
        """Return the checkpoints of unfinished backups; each is read once in this object's life."""
        with self._lock:
            listed = read_checkpoints(self.store, self._checkpoints)
            self._checkpoints = {**listed.counted, **listed.void}
        names = [object_name(ObjectKind.CHECKPOINT, each) for each in listed.damaged]
        return Checkpoints(_in_order(listed.counted), _in_order(listed.void), names)

    def reader(self) -> ChunkReader:
        """Return a reader over the index as it is listed now; what that lacks is looked for in packs' directories.

        There a pack of any epoch counts: each chunk is hashed again, and only what counts can have named its id.
        """
        index = read_index(self.store, self.catalogue)
        recovery = IndexRecovery(self.store, self.pack_reader, index, lambda _: True, self.warn)
        return ChunkReader(index, self.pack_reader, self.keyring, recovery=recovery)

    def chunker(self) -> Chunker:
        """Return a chunker of the parameters in use, for one thread."""
        return cutter(self.keyring)

    def begin_write(self, options: WriteOptions | None = None) -> WriteSession:
        """Begin a write session. Raises UnsupportedFormatError if this program must not write here."""
        self.require_writable()
        return WriteSession(self, options or WriteOptions())

    def require_writable(self) -> None:
        """Raise UnsupportedFormatError, or what whoever opened the repository has against writing here."""
        if self.refuse_writing is not None:
            raise self.refuse_writing
        if self.unknown_write_features:
            raise UnsupportedFormatError(
                f"the repository uses {', '.join(self.unknown_write_features)}, not known here: it can only be read",
                hint="use a newer Syncova to write",
            )

    def begin_read(self) -> ReadSession:
        """Begin a session that keeps a prune from taking packs away; close it when done."""
        return ReadSession(self.store, self.clock)

    def object_names(self, prefix: str = "") -> Iterator[StoredObject]:
        """Yield everything on the medium below a prefix (ends with a slash, or empty)."""
        return self.storage.list(prefix)

    def slots(self) -> tuple[list[Slot], int]:
        """Return the key slots of the newest generation, and how many are damaged."""
        return list_slots(self.storage, self.config.repository_id, self.keyring.generation)

    def _read_manifests(self) -> dict[bytes, CopiedManifestRecord]:
        """Return all manifests on the medium; each is read once in this object's life."""
        with self._lock:
            listed = steadily(self._list_manifests)
            self._manifests, self._damaged = listed.found, listed.damaged
            return listed.found

    def _list_manifests(self) -> WholeObjects[CopiedManifestRecord]:
        return self.store.read_whole(
            ObjectKind.MANIFEST, self._manifests, lambda payload: decode(payload, CopiedManifestRecord)
        )


class CreatedRepository(msgspec.Struct, frozen=True):
    """A new repository, opened, and its recovery code, which is shown once and stored nowhere."""

    repository: Repository
    recovery_code: str

    def __repr__(self) -> str:
        return f"CreatedRepository({self.repository!r})"


def create_repository(storage: Storage, options: CreateOptions) -> CreatedRepository:
    """Make and open a repository. Raises RepositoryExistsError, ConfigurationError, the storage's errors."""
    made = make_repository(storage, options)
    return CreatedRepository(Repository(made.store, made.config, options.clock), made.recovery_code)


def open_repository(
    storage: Storage, secret: bytes, *, clock: Clock = SYSTEM_CLOCK, randomness: Randomness = system_randomness
) -> Repository:
    """Open a repository with a password or the recovery code.

    Raises RepositoryNotFoundError, WrongKeyError, UnsupportedFormatError, IntegrityError.
    """
    opened = unlock(storage, secret, randomness)
    return Repository(opened.store, opened.config, clock, opened.unknown_write_features)


def _unheard(_: str) -> None:
    pass


def _in_order(records: Mapping[bytes, CheckpointRecord]) -> list[StoredManifest]:
    found = [_stored(ObjectKind.CHECKPOINT, object_id, record) for object_id, record in records.items()]
    return sorted(found, key=lambda each: (each.received_ns, each.name))


def _stored(
    kind: ObjectKind, object_id: bytes, record: ManifestRecord | CheckpointRecord, *, deleted: bool = False
) -> StoredManifest:
    return StoredManifest(
        object_id=object_id.hex(),
        name=object_name(kind, object_id),
        root=record.root,
        received_ns=record.received_ns,
        fence=record.fence,
        generation=record.generation,
        deleted=deleted,
        copied=record.copied if isinstance(record, CopiedManifestRecord) else None,
    )

"""The keyring: epoch keys, which rotation changes, and life-long secrets, which it does not.

Owns the keyring record and what is derived from it: chunk ids, the current epoch key, the chunker in use. The secrets
never leave this module but through the methods below, and never enter a message.
"""

import blake3
import msgspec

from repositories.engine.errors import IntegrityError
from repositories.engine.format.records import Record
from repositories.engine.ids import ChunkKind, Randomness
from repositories.engine.limits import KIB, MIB

KEY_LENGTH = 32
CHUNKER_FASTCDC = 1


class SecretRecord(Record, frozen=True):
    """A record that holds secrets: it never shows its fields."""

    def __repr__(self) -> str:
        """Return the name alone: messages and logs must not hold keys."""
        return f"<{type(self).__name__}>"


class EpochKey(SecretRecord, frozen=True):
    """The key under which objects of one epoch are sealed."""

    epoch: int
    key: bytes
    created_ns: int


class ChunkIdKey(SecretRecord, frozen=True):
    """The BLAKE3 key of the ids of one kind of chunk in one domain."""

    domain: int
    kind: int
    key: bytes


class ChunkerRecord(SecretRecord, frozen=True):
    """A numbered chunker: sizes in bytes, the normalization level, and the secret that decides where it cuts."""

    number: int
    algorithm: int
    min_size: int
    average: int
    max_size: int
    normalization: int
    key: bytes
    domain: int = 0


class KeyringRecord(SecretRecord, frozen=True):
    """What `keyrings/<generation>/<id>` seals."""

    repository_id: bytes
    generation: int
    created_ns: int
    epochs: tuple[EpochKey, ...]
    current_epoch: int
    chunk_id_keys: tuple[ChunkIdKey, ...]
    chunkers: tuple[ChunkerRecord, ...]
    current_chunker: int
    padding: bool
    read_features: tuple[str, ...] = ()
    write_features: tuple[str, ...] = ()
    inventory_id: bytes | None = None
    inventory_hash: bytes | None = None


class Keyring(msgspec.Struct, frozen=True):
    """An opened keyring. Immutable; safe in several threads."""

    record: KeyringRecord
    _epochs: dict[int, bytes]
    _chunk_keys: dict[int, bytes]

    def __repr__(self) -> str:
        return "Keyring()"

    @property
    def generation(self) -> int:
        """Return the generation this keyring belongs to."""
        return self.record.generation

    @property
    def current_epoch(self) -> int:
        """Return the epoch under which new objects are sealed."""
        return self.record.current_epoch

    def epoch_key(self, epoch: int) -> bytes:
        """Return the key of an epoch. Raises IntegrityError for one that this keyring does not hold."""
        key = self._epochs.get(epoch)
        if key is None:
            raise IntegrityError(
                f"an object belongs to key epoch {epoch}, which this keyring does not hold",
                hint="run it again if the keys were just rotated, else run check",
            )
        return key

    def chunk_id(self, kind: ChunkKind, data: bytes | bytearray | memoryview) -> bytes:
        """Return the keyed 32-byte id of a chunk."""
        return blake3.blake3(data, key=self._chunk_keys[kind]).digest()

    def machine_key(self, purpose: str) -> bytes:
        """Return the key of what one machine keeps of the repository for `purpose`; a rotation of the keys ends it.

        Nobody can make it who does not hold the repository's newest key.
        """
        secret = self.epoch_key(self.current_epoch) + self.record.repository_id
        return blake3.blake3(secret, derive_key_context=f"syncova/1 kept on a machine: {purpose}").digest()

    def chunker(self) -> ChunkerRecord:
        """Return the chunker in use. Raises IntegrityError if the keyring names one that it does not list."""
        for chunker in self.record.chunkers:
            if chunker.number == self.record.current_chunker:
                return chunker
        raise IntegrityError("the keyring names a chunker that it does not hold", hint="use a newer Syncova")


def open_keyring(record: KeyringRecord) -> Keyring:
    """Return the usable keyring of a record. Raises IntegrityError if keys are missing or of the wrong length."""
    epochs = {entry.epoch: entry.key for entry in record.epochs}
    chunk_keys = {entry.kind: entry.key for entry in record.chunk_id_keys if entry.domain == 0}
    keys = [*epochs.values(), *chunk_keys.values(), *(chunker.key for chunker in record.chunkers)]
    complete = record.current_epoch in epochs and all(kind in chunk_keys for kind in ChunkKind)
    if not complete or any(len(key) != KEY_LENGTH for key in keys):
        raise IntegrityError("the keyring is incomplete", hint="run check")
    return Keyring(record, epochs, chunk_keys)


def new_keyring_record(repository_id: bytes, now_ns: int, randomness: Randomness, *, padding: bool) -> KeyringRecord:
    """Return the first keyring of a new repository."""
    return KeyringRecord(
        repository_id=repository_id,
        generation=1,
        created_ns=now_ns,
        epochs=(EpochKey(1, randomness(KEY_LENGTH), now_ns),),
        current_epoch=1,
        chunk_id_keys=tuple(ChunkIdKey(0, kind, randomness(KEY_LENGTH)) for kind in ChunkKind),
        chunkers=(ChunkerRecord(1, CHUNKER_FASTCDC, 256 * KIB, 1 * MIB, 4 * MIB, 1, randomness(KEY_LENGTH)),),
        current_chunker=1,
        padding=padding,
    )


def related_record(record: KeyringRecord, other: Keyring) -> KeyringRecord:
    """Return a new repository's keyring with the life-long secrets of another: chunk-id keys and chunkers.

    What seals stays its own: neither repository's password opens anything of the other.
    """
    secrets = other.record
    return msgspec.structs.replace(
        record,
        chunk_id_keys=secrets.chunk_id_keys,
        chunkers=secrets.chunkers,
        current_chunker=secrets.current_chunker,
    )

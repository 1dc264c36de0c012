"""The object store: sealed records by kind and id.

Owns which key opens an object, and the acceptance of objects from older key epochs. Knows the fields of no record.
"""

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import blake3
import msgspec

from repositories.engine.codec.envelopes import (
    SealingKey,
    decode_record,
    new_header,
    open_record,
    seal_record,
    unseal_record,
)
from repositories.engine.codec.sealing import ObjectSeal, derive_seal
from repositories.engine.constant_time import equal
from repositories.engine.errors import (
    EngineError,
    IntegrityError,
    ObjectMissingError,
    RetiredKeyError,
    UnsupportedFormatError,
)
from repositories.engine.format.headers import ObjectHeader, parse_object_header
from repositories.engine.format.kinds import ObjectKind, object_id_of, object_name
from repositories.engine.ids import Randomness, new_object_id
from repositories.engine.keys.keyring import Keyring
from repositories.engine.objects.pairs import delete_all, list_names, put_all, read_either
from repositories.engine.objects.side_by_side import both, side_by_side
from repositories.engine.storage.base import Storage

_T = TypeVar("_T")
_A = TypeVar("_A")
_B = TypeVar("_B")
_UNTRUSTED = frozenset({ObjectKind.SESSION, ObjectKind.KEY_CHANGE})


class WholeObjects(msgspec.Struct, Generic[_T], frozen=True):
    """Parsed objects by id, and the ids of those that no copy of could be read."""

    found: dict[bytes, _T]
    damaged: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class ObjectStore:
    """Sealed objects of one opened repository. Safe in several threads.

    `inventory` maps (kind, object id) of older epochs' objects to the BLAKE3 of their bytes; empty before any rotation.
    `passed_by` are the sessions that were open at a rotation, as the inventory names them.
    """

    storage: Storage
    repository_id: bytes
    keyring: Keyring
    randomness: Randomness
    inventory: Mapping[tuple[int, bytes], bytes] = field(default_factory=dict)
    passed_by: frozenset[bytes] = frozenset()
    kept: dict[bytes, Any] = field(default_factory=dict, repr=False, compare=False)
    """Records that were read, by id, of kinds that are listed again and again; an object never changes."""
    past_sweeps: Callable[[EngineError], None] | None = field(default=None, repr=False, compare=False)
    """For who only looks: told of a lost sweep, which is then looked past. Without it that is refused."""

    def new_id(self) -> bytes:
        """Return a fresh random object id."""
        return new_object_id(self.randomness)

    def sealing_key(self) -> SealingKey:
        """Return the secret that new objects are sealed with."""
        epoch = self.keyring.current_epoch
        return SealingKey(self.repository_id, epoch, self.keyring.epoch_key(epoch), self.keyring.record.padding)

    def header_for(self, kind: ObjectKind, object_id: bytes) -> ObjectHeader:
        """Return the header of a new object."""
        return new_header(kind, object_id, self.keyring.current_epoch, self.randomness)

    def seal_of(self, header: ObjectHeader) -> ObjectSeal:
        """Return the seal of the object that `header` begins."""
        return derive_seal(self.keyring.epoch_key(header.epoch), header, self.repository_id)

    def put(
        self,
        kind: ObjectKind,
        payload: bytes,
        object_id: bytes | None = None,
        group: str = "",
        bury: Callable[[], object] | None = None,
    ) -> bytes:
        """Seal and put a record, twice for the kinds that are; return its id. Nothing stays visible on an error.

        `bury` as in put_all: it says that what was visible for a moment was taken back.
        """
        object_id = object_id or self.new_id()
        data = seal_record(self.sealing_key(), self.header_for(kind, object_id), payload)
        put_all(self.storage, kind, object_name(kind, object_id, group), data, bury=bury)
        return object_id

    def replace(self, kind: ObjectKind, payload: bytes, object_id: bytes) -> None:
        """Seal and put a record over an earlier one: for a process's own lease only."""
        data = seal_record(self.sealing_key(), self.header_for(kind, object_id), payload)
        put_all(self.storage, kind, object_name(kind, object_id), data, overwrite=True)

    def read(self, kind: ObjectKind, object_id: bytes, group: str = "") -> bytes:
        """Return a record's payload, from either copy. Raises ObjectMissingError or IntegrityError."""

        def parse(data: bytes) -> bytes:
            return self.open(kind, object_id, data)

        return read_either(self.storage, kind, object_name(kind, object_id, group), parse)

    def read_large(self, kind: ObjectKind, object_id: bytes) -> bytes:
        """Return what `read` does; of its sealed, compressed and plain form at most two are in memory at once."""

        def unseal(data: bytes) -> bytes:
            plain = unseal_record(self.repository_id, self.keyring.epoch_key, (kind, object_id), data)
            self._require_accepted(kind, object_id, data)
            return plain

        return decode_record(kind, read_either(self.storage, kind, object_name(kind, object_id), unseal))

    def open(self, kind: ObjectKind, object_id: bytes, data: bytes) -> bytes:
        """Return the payload of an object's bytes, if its epoch is current or the inventory names it."""
        payload = open_record(self.repository_id, self.keyring.epoch_key, (kind, object_id), data)
        self._require_accepted(kind, object_id, data)
        return payload

    def names(self, kind: ObjectKind) -> list[str]:
        """Return the primary names of all objects of a kind, in text order."""
        return list(list_names(self.storage, kind))

    def ids(self, kind: ObjectKind) -> list[bytes]:
        """Return the ids of all objects of a kind, in the order of their names."""
        return [object_id for name in self.names(kind) if (object_id := object_id_of(name)) is not None]

    def remove(self, kind: ObjectKind, object_id: bytes, group: str = "") -> None:
        """Remove an object under all its names."""
        delete_all(self.storage, kind, object_name(kind, object_id, group))

    def read_all(self, kind: ObjectKind) -> dict[bytes, bytes]:
        """Return the payloads of all objects of a kind that count, by id.

        Raises ObjectMissingError if one vanishes between listing and reading, IntegrityError if one is damaged; those
        that a retired key sealed are left out, as if they were not there.
        """
        found: dict[bytes, bytes] = {}
        for object_id in self.ids(kind):
            with contextlib.suppress(RetiredKeyError):
                found[object_id] = self.read(kind, object_id)
        return found

    def read_whole(self, kind: ObjectKind, known: Mapping[bytes, _T], parse: Callable[[bytes], _T]) -> WholeObjects[_T]:
        """Return the parsed objects of a kind that count, and the ids of those that are damaged in every copy.

        What is in `known` is not read again. An object that was torn when it was put (a power cut on a medium that
        does not keep its promises) must not make all others unreadable; check reports it. Where one vanishes between
        its listing and its reading (busy writers replace many), the kind is listed again and only new ones are read.
        """
        seen = dict(known)
        return steadily(lambda: self._read_listed(kind, seen, parse))

    def both(self, first: Callable[[], _A], second: Callable[[], _B]) -> tuple[_A, _B]:
        """Return what two looks return that need nothing of each other: at once where the medium is far away."""
        return both(first, second, self.storage.reads_at_once)

    def _read_listed(self, kind: ObjectKind, seen: dict[bytes, _T], parse: Callable[[bytes], _T]) -> WholeObjects[_T]:
        """Read what is listed now and not among `seen`, which gains what was read."""

        def read(object_id: bytes) -> _T | EngineError:
            try:
                return parse(self.read(kind, object_id))
            except (IntegrityError, UnsupportedFormatError) as error:
                return error

        ids = self.ids(kind)
        new = [object_id for object_id in ids if object_id not in seen]
        damaged: list[bytes] = []
        for object_id, outcome in zip(new, side_by_side(read, new, self.storage.reads_at_once), strict=True):
            if not isinstance(outcome, EngineError):
                seen[object_id] = outcome
            elif not isinstance(outcome, RetiredKeyError):
                damaged.append(object_id)
        return WholeObjects({each: seen[each] for each in ids if each in seen}, tuple(damaged))

    def _require_accepted(self, kind: ObjectKind, object_id: bytes, data: bytes) -> None:
        """Refuse what an older epoch's key sealed after the rotation, unless the inventory names these bytes.

        Leases and announcements are no matter of trust: one of an older epoch only makes others wait.
        """
        if kind in _UNTRUSTED or parse_object_header(data).epoch == self.keyring.current_epoch:
            return
        expected = self.inventory.get((kind, object_id), b"")
        if not equal(expected, blake3.blake3(data).digest()):
            raise RetiredKeyError(
                f"{object_name(kind, object_id)} was sealed with a retired key and is in no inventory",
                hint="run check; someone may have used an old password",
            )


def steadily(read: Callable[[], _T], tries: int = 8) -> _T:
    """Return what `read` returns, trying again when an object vanished between its listing and its reading.

    Each look may meet another writer that merges segments or a prune that sweeps, so that a few are not enough.
    """
    for _ in range(tries - 1):
        with contextlib.suppress(ObjectMissingError):
            return read()
    return read()

"""What a retired key has sealed and no inventory lists: nothing of it counts, but it explains what happened.

Owns reading it all the same. Nobody may take anything from it for granted: who has an ended password can write it.
"""

import contextlib
from collections.abc import Iterator
from typing import TypeVar

from repositories.engine.codec.envelopes import open_record
from repositories.engine.errors import IntegrityError, ObjectMissingError, RetiredKeyError, UnsupportedFormatError
from repositories.engine.format.headers import OBJECT_HEADER_LENGTH, parse_object_header
from repositories.engine.format.kinds import ObjectKind, names_of, object_name
from repositories.engine.format.records import Record, decode
from repositories.engine.objects.pairs import read_either
from repositories.engine.objects.store import ObjectStore

_UNREADABLE = (ObjectMissingError, IntegrityError, UnsupportedFormatError)
_R = TypeVar("_R", bound=Record)


def read_retired(store: ObjectStore, kind: ObjectKind, object_id: bytes, record_type: type[_R]) -> _R | None:
    """Return such an object's record; None for one that counts, is gone, or cannot be read."""

    def parse(data: bytes) -> _R | None:
        try:
            store.open(kind, object_id, data)
        except RetiredKeyError:
            payload = open_record(store.repository_id, store.keyring.epoch_key, (kind, object_id), data)
            return decode(payload, record_type)
        return None

    with contextlib.suppress(*_UNREADABLE):
        return read_either(store.storage, kind, object_name(kind, object_id), parse)
    return None


def retired_records(store: ObjectStore, kind: ObjectKind, record_type: type[_R]) -> Iterator[_R]:
    """Yield the records of all such objects of a kind."""
    for object_id in store.ids(kind):
        record = read_retired(store, kind, object_id, record_type)
        if record is not None:
            yield record


def unlisted_ids(store: ObjectStore, kind: ObjectKind) -> Iterator[bytes]:
    """Yield the ids of a kind that the inventory does not name and whose headers tell an older epoch."""
    for object_id in store.ids(kind):
        if (kind, object_id) not in store.inventory and _is_older(store, kind, object_id):
            yield object_id


def _is_older(store: ObjectStore, kind: ObjectKind, object_id: bytes) -> bool:
    for name in names_of(kind, object_name(kind, object_id)):
        with contextlib.suppress(*_UNREADABLE):
            head = store.storage.get(name, 0, OBJECT_HEADER_LENGTH)
            return parse_object_header(head).epoch != store.keyring.current_epoch
    return False

"""Reading records for a repair: those that are whole, and the names of those that were and are not.

Owns nothing but that difference. One that was torn in its put never counted, and is none of the lost.
"""

from typing import TypeVar

from repositories.engine.format.kinds import ObjectKind
from repositories.engine.format.records import Record, decode
from repositories.engine.objects.store import ObjectStore, steadily
from repositories.engine.objects.torn import was_torn

_R = TypeVar("_R", bound=Record)


def whole_records(store: ObjectStore, kind: ObjectKind, record_type: type[_R]) -> dict[bytes, _R]:
    """Return the records of a kind that count and can be read, by id. Raises the storage's errors."""
    return steadily(lambda: store.read_whole(kind, {}, lambda payload: decode(payload, record_type))).found


def lost_ids(store: ObjectStore, kind: ObjectKind) -> tuple[bytes, ...]:
    """Return the ids of those of a kind that were whole once and of which no copy can be read now."""
    damaged = steadily(lambda: store.read_whole(kind, {}, bytes)).damaged
    return tuple(each for each in damaged if not was_torn(store.storage, kind, each))

"""Objects whose put never ended: a medium that does not keep its promises lost power in the middle of one.

Owns telling them from damaged ones. Of what was cut nobody ever heard that it was put: it counts as never put. What has
the length that it declares, or lies there in two copies, was whole once.
"""

from typing import Final

from repositories.engine.errors import IntegrityError, ObjectMissingError, UnsupportedFormatError
from repositories.engine.format.clear import is_cut_clear
from repositories.engine.format.headers import OBJECT_HEADER_LENGTH, PART_HEADER_LENGTH, parse_part_header
from repositories.engine.format.kinds import ObjectKind, names_of, object_name
from repositories.engine.objects.pairs import get_bounded
from repositories.engine.storage.base import Storage

_CLEAR: Final = frozenset({ObjectKind.CONFIG, ObjectKind.SLOT, ObjectKind.INTENT})


def was_torn(storage: Storage, kind: ObjectKind, object_id: bytes) -> bool:
    """Tell whether the sealed record of this name is the beginning of one, and there is no second copy.

    The first copy is put before the second: without one, its put did not return. Raises the storage's errors other
    than that of a missing object.
    """
    first, *others = names_of(kind, object_name(kind, object_id))
    for copy in others:
        try:
            storage.size(copy)
        except ObjectMissingError:
            continue
        return False
    try:
        return is_cut(kind, get_bounded(storage, kind, first))
    except (ObjectMissingError, IntegrityError):
        return False


def is_cut(kind: ObjectKind, data: bytes) -> bool:
    """Tell whether these bytes of an object that is no pack are the beginning of one, and not all of it."""
    if kind in _CLEAR:
        return is_cut_clear(data)
    if len(data) < OBJECT_HEADER_LENGTH + PART_HEADER_LENGTH:
        return True
    try:
        header = parse_part_header(data, OBJECT_HEADER_LENGTH)
    except (IntegrityError, UnsupportedFormatError):
        return False
    return len(data) < OBJECT_HEADER_LENGTH + PART_HEADER_LENGTH + header.length

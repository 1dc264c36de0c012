"""The reserve: room that only a deletion may spend, so that a medium which is full can be cleaned.

Owns whether it is there, and whole. Its bytes mean nothing: only its length counts.
"""

from typing import Final

from repositories.engine.errors import ObjectMissingError
from repositories.engine.format.kinds import RESERVE_NAME
from repositories.engine.prune.reserve import RESERVE_BYTES
from repositories.engine.storage.base import Storage

PRESENT: Final = "present"
MISSING: Final = "missing"
SHORT: Final = "short"


def state_of_reserve(storage: Storage) -> str:
    """Return `present`, `missing`, or `short` for one that was cut. Raises errors of the medium."""
    try:
        return PRESENT if storage.size(RESERVE_NAME) >= RESERVE_BYTES else SHORT
    except ObjectMissingError:
        return MISSING

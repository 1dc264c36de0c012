"""The numbers of prunes that were ever told, by whatever is left of them: the next one's is above all.

Owns the rule (docs/repository-format.md, section 7). A mark that the medium lost is told of by the fences of those who
saw it; a session that took its number for its fence would not notice another mark of that number.
"""

import re
from collections.abc import Iterable
from typing import Final

from repositories.engine.storage.base import Storage

STRIDE: Final = 1_000_000
"""More prunes than any repository sees between two of its objects that tell a number."""
_ASIDE: Final = "aside/"
_NUMBERED: Final = re.compile("^aside/(?:[^/]+/)?(?:copies/)?(?:marks|sweeps)/([^/]+)$")


def numbered_aside(storage: Storage) -> list[str]:
    """Return the ids of the marks and sweeps that a repair has set aside, one for each copy of them that lies there."""
    matches = (_NUMBERED.match(stored.name) for stored in storage.list(_ASIDE))
    return [match.group(1) for match in matches if match is not None]


def highest_told(storage: Storage, told: Iterable[int]) -> int:
    """Return a number that no prune has been above, by the numbers and fences that were `told` and what lies aside.

    A repair's number is more than a stride for each that it set aside. Where nothing is as high its own mark is lost.
    """
    highest = max(told, default=0)
    aside = numbered_aside(storage)
    is_lost = bool(aside) and highest < STRIDE * (1 + len(set(aside)))
    return highest + STRIDE * (2 + len(aside)) if is_lost else highest

"""Which tombstones one new tombstone can stand for, and which of those that undo another say nothing any more. Pure.

Owns the rule. A repository that forgets daily would have thousands of tombstones after some years, each of which is
read by every command; what they tell, that a manifest is gone on purpose, must stay for ever.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final

from repositories.engine.format.notes import TombstoneRecord
from repositories.engine.retention.standing import deletions

SEVERAL: Final = 16
"""So many tombstones are merged at once; fewer are left alone."""
FULL: Final = 2**17
"""One tombstone names at most so many manifests: 2.4 MB. One that names half of that is merged no more."""


@dataclass(frozen=True, slots=True)
class Merger:
    """A tombstone that names `manifests` says all that those with the ids `replaced` say."""

    manifests: tuple[bytes, ...]
    replaced: frozenset[bytes]


def mergeable(tombstones: Mapping[bytes, TombstoneRecord], there: Collection[bytes]) -> Merger | None:
    """Return what may be merged now, or None. `there` are all manifests on the medium, listed after the tombstones.

    Merged are those of which every manifest is gone and every deletion in force: a manifest that is gone though its
    deletion was undone was lost, and must go on to look so.
    """
    settled = deletions(tombstones).keys() - set(there)
    named: set[bytes] = set()
    replaced: list[bytes] = []
    for tombstone_id in sorted(tombstones):
        record = tombstones[tombstone_id]
        if record.undoes is not None or len(record.manifests) >= FULL // 2 or not settled.issuperset(record.manifests):
            continue
        if len(named) + len(record.manifests) > FULL:
            break
        named.update(record.manifests)
        replaced.append(tombstone_id)
    return Merger(tuple(sorted(named)), frozenset(replaced)) if len(replaced) >= SEVERAL else None


def idle(tombstones: Mapping[bytes, TombstoneRecord], on_medium: Collection[bytes]) -> frozenset[bytes]:
    """Return the tombstones that undo one which is gone.

    `on_medium` are the ids of all tombstones, also of those that cannot be read, listed after these were: what is
    undone was put before what undoes it, so that a listing which shows the second alone may have missed the first.
    """
    return frozenset(
        tombstone_id
        for tombstone_id, record in tombstones.items()
        if record.undoes is not None and record.undoes not in on_medium
    )

"""Reading the checkpoints of unfinished backups: which count, which a sweep made void, which are damaged.

Owns the listing; the rule is in fences.py. What a checkpoint's root means is the manifest layer's.
"""

from collections.abc import Mapping

import msgspec

from repositories.engine.format.commits import CheckpointRecord
from repositories.engine.format.kinds import ObjectKind
from repositories.engine.format.records import decode
from repositories.engine.objects.store import ObjectStore, steadily
from repositories.engine.sessions.views import read_newest_sweep


class ListedCheckpoints(msgspec.Struct, frozen=True):
    """All checkpoints of a repository by id: those that count, those that no longer do, the ids of unreadable ones."""

    counted: Mapping[bytes, CheckpointRecord]
    void: Mapping[bytes, CheckpointRecord]
    damaged: tuple[bytes, ...]


def read_checkpoints(store: ObjectStore, known: Mapping[bytes, CheckpointRecord]) -> ListedCheckpoints:
    """Return the checkpoints on the medium; what is in `known` is not read again. Raises the storage's errors."""
    listed = steadily(
        lambda: store.read_whole(ObjectKind.CHECKPOINT, known, lambda payload: decode(payload, CheckpointRecord))
    )
    # Sweeps last: a sweep that came after the listing says of each listed checkpoint whether it still counts.
    sweep = read_newest_sweep(store)
    counted = {each: record for each, record in listed.found.items() if sweep.accepts_checkpoint(each, record.fence)}
    void = {each: record for each, record in listed.found.items() if each not in counted}
    return ListedCheckpoints(counted, void, listed.damaged)

"""Earlier tries of a backup that were broken off: which checkpoints to look into, and how far each had come.

Owns the choice. A checkpoint is a place to look and nothing else: no parent, no link of a chain. Whether one of its
entries may be taken over is decided by the same comparison as for a parent's.
"""

from collections.abc import Callable

import msgspec

from repositories.engine.backup.options import SourceSpec
from repositories.engine.backup.parent import Lineage
from repositories.engine.backup.session import BackupSession, StoredCheckpoints
from repositories.engine.errors import IntegrityError, ObjectMissingError
from repositories.engine.ids import ChunkKind
from repositories.engine.manifest.backups import AcceptedManifest
from repositories.engine.manifest.chunks import ChunkSource
from repositories.engine.manifest.entries import StreamRef
from repositories.engine.manifest.entry_reader import last_key
from repositories.engine.manifest.root import BackupRoot
from repositories.engine.manifest.unfinished import age_of, readable_tries, source_of

Key = tuple[bytes, bytes]
_MOST_TRIES = 32
_MOST_PLACES = 4
_MOST_OF_ONE = 3


class Unfinished(msgspec.Struct, frozen=True):
    """What one earlier try had written when its checkpoint was put; `reached` is the key of its last entry."""

    received_ns: int
    pages: StreamRef
    reached: Key


class _Candidate(msgspec.Struct, frozen=True):
    received_ns: int
    root: BackupRoot
    pages: StreamRef


def unfinished_of(checkpoints: StoredCheckpoints, source: SourceSpec) -> list[tuple[AcceptedManifest, BackupRoot]]:
    """Return the checkpoints of this source that count, newest first."""
    found = [(each, root) for each, root in readable_tries(checkpoints.counted) if _is_of(root, source)]
    return sorted(found, key=age_of, reverse=True)


def choose_unfinished(
    session: BackupSession,
    checkpoints: StoredCheckpoints,
    source: SourceSpec,
    lineage: Lineage,
    gave_up: Callable[[int, str], None],
) -> list[Unfinished]:
    """Return the places to look into before the parent, newest first.

    They are newer than the parent, and each but the first reaches further than those before it: a try that went on from
    a checkpoint and was broken off early must not make the rest be read again. `gave_up` is told the time of a
    checkpoint that cannot be read, and why; an older one of the same try then stands in for it.
    """
    reader = session.reader()
    chosen: list[Unfinished] = []
    done: set[str] = set()
    for candidate in _candidates(session, checkpoints, source, lineage):
        if candidate.root.backup_id in done or len(done) == _MOST_TRIES:
            continue
        reached = _reached(reader, candidate, gave_up)
        if reached is None:
            continue
        done.add(candidate.root.backup_id)
        if not chosen or reached > chosen[-1].reached:
            chosen.append(Unfinished(candidate.received_ns, candidate.pages, reached))
    # The last one reaches furthest: it saves more than what lies between.
    return chosen if len(chosen) <= _MOST_PLACES else chosen[: _MOST_PLACES - 1] + chosen[-1:]


def void_of(checkpoints: StoredCheckpoints, source: SourceSpec, lineage: Lineage) -> int:
    """Return how many checkpoints would have been looked into, had no prune made them void."""
    return sum(_is_of(root, source) and _is_newer(root, lineage) for _, root in readable_tries(checkpoints.void))


def _candidates(
    session: BackupSession, checkpoints: StoredCheckpoints, source: SourceSpec, lineage: Lineage
) -> list[_Candidate]:
    """The newest few of each try; one that another writer put since the session began is not in its index."""
    found: list[_Candidate] = []
    taken: dict[str, int] = {}
    for stored, root in unfinished_of(checkpoints, source):
        seen = taken.get(root.backup_id, 0)
        if root.pages is None or seen == _MOST_OF_ONE or not _is_newer(root, lineage):
            continue
        if session.has(ChunkKind.PAGE, root.pages.id):
            taken[root.backup_id] = seen + 1
            found.append(_Candidate(stored.received_ns, root, root.pages))
    return found


def _reached(reader: ChunkSource, candidate: _Candidate, gave_up: Callable[[int, str], None]) -> Key | None:
    try:
        return last_key(reader, candidate.pages)
    except (IntegrityError, ObjectMissingError) as error:
        gave_up(candidate.received_ns, error.message)
        return None


def _is_of(root: BackupRoot, source: SourceSpec) -> bool:
    return source_of(root) == (source.name, source.type, source.path)


def _is_newer(root: BackupRoot, lineage: Lineage) -> bool:
    """A try takes the number that its backup would have had; a parent that was named must be the one of that try."""
    if lineage.parent is None:
        return True
    if lineage.named and root.lineage.parent_manifest != bytes.fromhex(lineage.parent.manifest_id):
        return False
    return root.lineage.sequence > lineage.parent.root.lineage.sequence

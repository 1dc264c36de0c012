"""The roots of checkpoints: whose they are, and which sources have a backup that was never finished.

Owns their order. What a new backup makes of them is the backup's business; which of them count is the session's.
"""

from collections.abc import Iterator, Sequence

from repositories.engine.errors import IntegrityError
from repositories.engine.manifest.backups import AcceptedManifest, Backup
from repositories.engine.manifest.root import BackupRoot, decode_root

Try = tuple[AcceptedManifest, BackupRoot]
SourceKey = tuple[str, str, bytes]


def readable_tries(checkpoints: Sequence[AcceptedManifest]) -> Iterator[Try]:
    """Yield the checkpoints whose roots can be read; what another one says is nobody's loss."""
    for each in checkpoints:
        try:
            yield each, decode_root(each.root)
        except IntegrityError:
            continue


def source_of(root: BackupRoot) -> SourceKey:
    """Return what a checkpoint must have in common with the backup that goes on from it: name, type and id."""
    return root.source.name, root.source.type, root.source.id


def age_of(each: Try) -> tuple[int, int]:
    """Return what orders checkpoints of one source: the number its backup would have had, then the time."""
    return each[1].lineage.sequence, each[0].received_ns


def newest_unfinished(checkpoints: Sequence[AcceptedManifest], backups: Sequence[Backup]) -> list[Try]:
    """Return the newest of these checkpoints of each source that has no backup since, oldest first.

    Its backup was broken off, or still runs.
    """
    newest: dict[SourceKey, Try] = {}
    for each in sorted(readable_tries(checkpoints), key=age_of):
        newest[source_of(each[1])] = each
    for backup in backups:
        found = newest.get(source_of(backup.root))
        if found is not None and found[1].lineage.sequence <= backup.root.lineage.sequence:
            del newest[source_of(backup.root)]
    return sorted(newest.values(), key=lambda each: each[0].received_ns)

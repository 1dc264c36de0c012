"""What the policy must know of each backup, gathered from the repository.

Owns the gathering: tags and holds from the annotations, whether a backup is good from its figures and the last check.
"""

from collections.abc import Iterable

from repositories.engine.manifest.backups import Backup
from repositories.engine.repository import Repository
from repositories.engine.retention.deleted import Notes
from repositories.engine.retention.policy import Facts, Hold
from repositories.engine.retention.standing import tags_of


def gather(repository: Repository, backups: Iterable[Backup], notes: Notes, now_ns: int) -> dict[str, Facts]:
    """Return the facts about `backups` by manifest id."""
    hurt = repository.hurt_manifests()
    return {backup.manifest_id: _facts(backup, notes, now_ns, hurt) for backup in backups}


def _facts(backup: Backup, notes: Notes, now_ns: int, hurt: frozenset[str]) -> Facts:
    manifest_id = bytes.fromhex(backup.manifest_id)
    return Facts(
        manifest_id=backup.manifest_id,
        source=backup.source_name,
        received_ns=backup.received_ns,
        sequence=backup.root.lineage.sequence,
        good=not backup.root.statistics.skipped and backup.manifest_id not in hurt,
        tags=frozenset(tags_of(backup.root.origin.tags, notes.of(manifest_id))),
        holds=tuple(Hold(each.text, each.expires_ns) for each in notes.holds(manifest_id, now_ns)),
    )

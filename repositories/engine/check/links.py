"""Checks that no backup was taken away unseen: others name it, holds and tags, and the inventory of a rotation.

Owns the report; what is compared is in manifest/withheld.py.
"""

from collections.abc import Sequence

from repositories.engine.check.report import Findings
from repositories.engine.format.kinds import ObjectKind, object_name
from repositories.engine.manifest.backups import Backup
from repositories.engine.manifest.withheld import withheld
from repositories.engine.repository import Repository


def check_links(repository: Repository, backups: Sequence[Backup], findings: Findings) -> None:
    """Report manifests that are named and that are neither there nor deleted by a tombstone."""
    for manifest_id, naming in sorted(withheld(repository, backups).items()):
        findings.add(
            "manifest",
            object_name(ObjectKind.MANIFEST, manifest_id),
            f"{naming} names it, but it is neither there nor deleted: that backup is lost or withheld",
        )

"""Refuses to prune while a backup is named that is neither there nor deleted.

Owns the refusal; what is compared is in manifest/withheld.py. What such a backup needs is used by nobody else, perhaps:
whoever has its manifest may bring that back, until a prune has taken the rest.
"""

from collections.abc import Mapping

from repositories.engine.display import show_count
from repositories.engine.errors import BackupUnreadableError
from repositories.engine.format.kinds import ObjectKind, object_name
from repositories.engine.manifest.withheld import missing
from repositories.engine.objects.store import ObjectStore


def require_all_there(store: ObjectStore, named: Mapping[bytes, str]) -> None:
    """Raise BackupUnreadableError if any of `named`, which was read before, is lost or withheld."""
    lost = missing(store, named)
    if not lost:
        return
    first = min(lost)
    name = object_name(ObjectKind.MANIFEST, first)
    more = f" (and {show_count(len(lost) - 1, 'other backup')})" if len(lost) > 1 else ""
    raise BackupUnreadableError(
        f"{name} is lost or withheld{more}: {lost[first]} names it, but it is neither there nor deleted; "
        "nothing was deleted",
        hint="bring both files of it back from a copy of the repository; if there is none, and a machine calls this an "
        f"earlier state: syncova-repo check LOCATION --accept-rollback; then forget {name}, then prune again",
    )

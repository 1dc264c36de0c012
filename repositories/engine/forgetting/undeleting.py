"""Brings deleted backups back, as long as no prune has taken them.

Owns which backups are meant. How deletions are undone is in returning.py.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from repositories.engine.display import show_count, show_text
from repositories.engine.errors import BackupNotFoundError, ConfigurationError
from repositories.engine.forgetting.returning import take_back
from repositories.engine.forgetting.room import keeping
from repositories.engine.forgetting.wording import require_text
from repositories.engine.manifest.backups import Backup, is_named, is_pruned, list_backups
from repositories.engine.repository import Repository


@dataclass(frozen=True, slots=True)
class UndeleteResult:
    """What is back, what somebody has deleted again meanwhile, and what was taken before it could be brought back.

    `uncertain`: a prune is under way and may have decided before, or a writer has not ended and may take back what it
    has put; list tells when these have ended.
    """

    back: tuple[Backup, ...]
    still_deleted: tuple[Backup, ...]
    gone: tuple[Backup, ...]
    uncertain: bool


@keeping()
def undelete(
    repository: Repository, ids: Sequence[str], *, everything: bool = False, source: str | None = None, reason: str = ""
) -> UndeleteResult:
    """Bring back the named backups, or `everything` that is deleted (of one source).

    Raises BackupNotFoundError for a name that fits no deleted backup or several, ConfigurationError for a call without
    any.
    """
    require_text(reason, "the reason")
    if bool(ids) == everything:
        raise ConfigurationError("it is not said which backups", hint="name deleted backups, or give --all")
    listed = list_backups(repository, deleted=True)
    known = [each for each in listed if source in (None, each.source_name)]
    deleted = [each for each in known if each.deleted]
    chosen = deleted if everything else [_find(repository, known, each) for each in ids]
    chosen = list({each.manifest_id: each for each in chosen}.values())
    returned = take_back(repository, [each.manifest_id for each in chosen], reason or "undeleted")
    there = [each for each in chosen if each.manifest_id not in returned.gone]
    return UndeleteResult(
        back=tuple(each for each in there if each.manifest_id in returned.back),
        still_deleted=tuple(each for each in there if each.manifest_id not in returned.back),
        gone=tuple(each for each in chosen if each.manifest_id in returned.gone),
        uncertain=returned.uncertain,
    )


def _find(repository: Repository, known: Sequence[Backup], selector: str) -> Backup:
    matching = [each for each in known if each.deleted and is_named(each, selector)]
    exact = [each for each in matching if selector in (each.id, each.short_id, each.manifest_id)]
    chosen = exact or matching
    if len(chosen) == 1:
        return chosen[0]
    if chosen:
        several = ", ".join(each.short_id for each in chosen[:5])
        raise BackupNotFoundError(
            f"{show_text(selector)} fits {show_count(len(chosen), 'deleted backup')}: {several}",
            hint="give more of the id",
        )
    if any(is_named(each, selector) for each in known):
        raise BackupNotFoundError(f"backup {show_text(selector)} is not deleted", hint="list shows what is there")
    if is_pruned(repository, selector):
        raise BackupNotFoundError(
            f"the backup of manifest {selector} was deleted, and is gone for good: nothing brings it back",
            hint="list --deleted shows those that can be brought back",
        )
    raise BackupNotFoundError(
        f"no deleted backup is named {show_text(selector)}",
        hint="list --deleted shows those that can be brought back; what a prune has taken is gone for good",
    )

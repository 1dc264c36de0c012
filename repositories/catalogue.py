"""The catalogue of backups (H3): found by manifest, job, source and time, and rebuilt from the repository alone (A9).

Owns the rows of `backups` beside the worker's report of a commit. What a repository lists is foreign text: a backup
that no row can hold is told and left out, and stops no other.
"""

import datetime as dt
import uuid
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, fields
from functools import partial
from typing import Any, Final

from django.db import DataError, IntegrityError, transaction
from django.db.models import QuerySet

from repositories.identifiers import new_id
from repositories.models import Backup

_BATCH: Final = 1000


@dataclass(frozen=True, slots=True)
class ListedBackup:
    """One backup as its repository lists it; `source_id` is the source that the database knows by what was read."""

    backup_id: str
    manifest_id: str
    chain: str
    mode: str
    parent: str | None
    run_id: uuid.UUID | None
    source_id: uuid.UUID | None
    source_name: str
    source_type: str
    host: str
    trigger: str
    scheduled_for: dt.datetime | None
    received_at: dt.datetime
    logical_bytes: int
    bytes_read: int
    bytes_stored: int
    files: int
    skipped: int
    warnings: int


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """What rebuilding a repository's catalogue did; `refused` are the ids of backups that no row can hold.

    `gone` are the backups whose rows were removed, each with the run that had made it (None: no control plane's).
    """

    added: int
    kept: int
    gone: tuple[tuple[str, uuid.UUID | None], ...]
    refused: tuple[str, ...]

    @property
    def removed(self) -> int:
        """How many rows were removed."""
        return len(self.gone)


# What a row takes from the repository, whatever it said before.
_TRUTH: Final = tuple(each.name for each in fields(ListedBackup) if each.name not in {"received_at", "source_id"})


def backups_by_manifest(manifest_id: str) -> QuerySet[Backup]:
    """Return the backups with a manifest, in whatever repositories they lie."""
    return Backup.objects.filter(manifest_id=manifest_id).order_by("-created_at", "-id")


def catalogued(repository_id: uuid.UUID) -> dict[str, str]:
    """Return the backups that have a row now, with their manifests; ask before the medium, whose list is older."""
    return dict(Backup.objects.filter(repository_id=repository_id).values_list("backup_id", "manifest_id"))


def catalogue_rebuild(
    *, repository_id: uuid.UUID, listed: Sequence[ListedBackup], gone: Collection[str], now: dt.datetime
) -> Rebuilt:
    """Make the rows of a repository say what it lists, in one transaction: missing ones are added, `gone` removed.

    `gone` are backups that had a row before the list was made and are not in it: any other row that it lacks is of a
    backup that was completed meanwhile. A row that is there keeps its id, and what only the database knows (its task
    run, its job).
    """
    # A copy that was made twice lies there under one id: the first one is as good as the other.
    wanted: dict[str, ListedBackup] = {}
    for each in listed:
        wanted.setdefault(each.backup_id, each)
    with transaction.atomic():
        rows = {row.backup_id: row for row in Backup.objects.select_for_update().filter(repository_id=repository_id)}
        removed = _remove([row for name, row in rows.items() if name in gone and name not in wanted])
        new = [_row(repository_id, each, now) for backup_id, each in wanted.items() if backup_id not in rows]
        unadded = _add(new)
        unkept = [each.backup_id for each in wanted.values() if not _brought_up(rows.get(each.backup_id), each)]
    return Rebuilt(len(new) - len(unadded), len(rows) - len(removed), removed, (*unadded, *unkept))


def _row(repository_id: uuid.UUID, listed: ListedBackup, now: dt.datetime) -> Backup:
    received = min(listed.received_at, now)
    return Backup(
        id=new_id(received),
        repository_id=repository_id,
        source_id=listed.source_id,
        created_at=received,
        **_truth(listed),
    )


def _truth(listed: ListedBackup) -> dict[str, Any]:
    return {name: getattr(listed, name) for name in _TRUTH}


def _add(rows: Sequence[Backup]) -> list[str]:
    """Insert rows, many at once; return the backup ids of those that the database refuses."""
    refused: list[str] = []
    for start in range(0, len(rows), _BATCH):
        batch = rows[start : start + _BATCH]
        if not _saved(partial(Backup.objects.bulk_create, batch)):
            refused += [row.backup_id for row in batch if not _saved(row.save)]
    return refused


def _brought_up(row: Backup | None, listed: ListedBackup) -> bool:
    """Bring a row that is there up to what the repository says; False: no row can hold that."""
    values = _truth(listed)
    if row is not None and row.source_id is None:
        values["source_id"] = listed.source_id
    if row is None or all(getattr(row, name) == value for name, value in values.items()):
        return True
    return _saved(partial(Backup.objects.filter(pk=row.pk).update, **values))


def _saved(write: Callable[[], object]) -> bool:
    try:
        with transaction.atomic():
            write()
    except (IntegrityError, DataError, ValueError, OverflowError):
        return False
    return True


def _remove(rows: Sequence[Backup]) -> tuple[tuple[str, uuid.UUID | None], ...]:
    for start in range(0, len(rows), _BATCH):
        Backup.objects.filter(pk__in=[row.pk for row in rows[start : start + _BATCH]]).delete()
    return tuple((row.backup_id, row.run_id) for row in rows)

"""The backups of a repository: list them, find one by what a person types, and look inside.

Owns selection. Works on the repository's front door alone; needs no database (engine.md, 1.4).
"""

from collections.abc import Iterator, Sequence
from typing import Protocol

import msgspec

from repositories.engine.display import show_count, show_text, show_time
from repositories.engine.errors import BackupDeletedError, BackupNotFoundError, IntegrityError
from repositories.engine.format.commits import CopiedFrom
from repositories.engine.ids import SHORT_ID_LENGTH, short_id
from repositories.engine.manifest.chunks import ChunkSource
from repositories.engine.manifest.entries import Entry
from repositories.engine.manifest.entry_reader import read_directory, read_listings
from repositories.engine.manifest.order import join
from repositories.engine.manifest.root import BackupRoot, decode_root
from repositories.engine.retention.deleted import Notes

LATEST = "latest"
_SHORTEST_PART = 4
_NAMED_SOURCES = 5


class AcceptedManifest(Protocol):
    """A manifest object that counts: `root` is as the backup wrote it, the rest as the repository received it."""

    @property
    def object_id(self) -> str:
        """Id of the manifest, 32 hex digits."""

    @property
    def root(self) -> bytes:
        """The canonical bytes of the root."""

    @property
    def received_ns(self) -> int:
        """When the repository took it, by the writer's clock."""

    @property
    def deleted(self) -> bool:
        """Whether it is deleted, and only there until the next prune."""

    @property
    def copied(self) -> CopiedFrom | None:
        """Of what it is a copy, if it is one."""


class BackupStore(Protocol):
    """The part of a repository that reading backups needs."""

    def backups(self, *, deleted: bool = False) -> Sequence[AcceptedManifest]:
        """Return the accepted manifests, oldest first; the deleted ones too if asked for."""

    def notes(self) -> Notes:
        """Return what is said about backups after the fact."""

    def lay_aside(self, manifest_id: str) -> None:
        """Count a manifest among the damaged ones."""

    def damaged_manifests(self) -> Sequence[str]:
        """Return the names of manifests that cannot be read, or were laid aside."""

    def reader(self) -> ChunkSource:
        """Return what reads chunks."""


class Backup(msgspec.Struct, frozen=True):
    """A committed backup; of a copy, `received_ns` is when the original was received."""

    manifest_id: str
    received_ns: int
    root: BackupRoot
    deleted: bool = False
    copied: CopiedFrom | None = None

    @property
    def id(self) -> str:
        """The backup id (A8)."""
        return self.root.backup_id

    @property
    def short_id(self) -> str:
        """Eight characters to type instead."""
        return short_id(self.root.backup_id)

    @property
    def source_name(self) -> str:
        """The name of its source."""
        return self.root.source.name


def list_backups(repository: BackupStore, *, deleted: bool = False) -> list[Backup]:
    """Return all backups, oldest first (by sequence, then receipt); with `deleted` also those that are deleted.

    One bad root must not keep anybody from all others: it is laid aside, and `damaged_manifests` names it.
    """
    backups: list[Backup] = []
    for stored in repository.backups(deleted=deleted):
        try:
            root = decode_root(stored.root)
            backups.append(Backup(stored.object_id, stored.received_ns, root, stored.deleted, stored.copied))
        except IntegrityError:
            repository.lay_aside(stored.object_id)
    backups.sort(key=lambda backup: (backup.root.lineage.sequence, backup.received_ns, backup.manifest_id))
    return backups


def find_backup(
    repository: BackupStore, selector: str, source: str | None = None, *, at_ns: int | None = None
) -> Backup:
    """Return the backup that `selector` names: a (short) id, a unique part of one, or `latest`.

    `source` restricts to one source's backups; `at_ns` to those received at or before that time. Raises
    BackupNotFoundError, also when several match, BackupDeletedError, and IntegrityError when it may be one that cannot
    be read.
    """
    try:
        return _find(repository, selector, source, at_ns)
    except BackupNotFoundError as error:
        damaged = repository.damaged_manifests()
        if not damaged or isinstance(error, BackupDeletedError):
            raise
        raise IntegrityError(
            f"{error.message}; {show_count(len(damaged), 'manifest')} cannot be read, the first is {damaged[0]}",
            hint="it may be among those: check tells more; list shows the backups that are left",
        ) from error


def _find(repository: BackupStore, selector: str, source: str | None, at_ns: int | None) -> Backup:
    listed = list_backups(repository)
    backups = [backup for backup in listed if source is None or backup.source_name == source]
    if source is not None and listed and not backups and selector == LATEST:
        raise _no_such_source(source, listed)
    if at_ns is not None:
        backups = [backup for backup in backups if backup.received_ns <= at_ns]
    if selector == LATEST:
        return _newest(backups, source)
    matching = [backup for backup in backups if is_named(backup, selector)]
    exact = [backup for backup in matching if selector in (backup.id, backup.short_id, backup.manifest_id)]
    chosen = exact or matching
    if len(chosen) == 1:
        return chosen[0]
    if chosen:
        several = ", ".join(backup.short_id for backup in chosen[:5])
        raise BackupNotFoundError(f"{selector!r} fits {len(chosen)} backups: {several}", hint="give more of the id")
    _refuse_deleted(repository, selector)
    if is_pruned(repository, selector):
        raise BackupNotFoundError(
            f"the backup of manifest {selector} was deleted, and is gone for good",
            hint="list shows the backups that are left",
        )
    raise BackupNotFoundError(
        f"no backup is named {selector!r}",
        hint="list shows the backups of this repository; one that was deleted and pruned is gone for good",
    )


def is_pruned(repository: BackupStore, selector: str) -> bool:
    """Tell whether a deletion names the manifest: of one that is no longer there, nothing else is known."""
    return any(selector == each.hex() for each in repository.notes().deletions)


def _refuse_deleted(repository: BackupStore, selector: str) -> None:
    gone = [each for each in list_backups(repository, deleted=True) if each.deleted and is_named(each, selector)]
    if gone:
        deletion = repository.notes().deletions[bytes.fromhex(gone[-1].manifest_id)][-1]
        why = f" ({show_text(deletion.reason)})" if deletion.reason else ""
        raise BackupDeletedError(
            f"backup {gone[-1].short_id} was deleted on {show_time(deletion.created_ns)}{why}",
            hint="undelete brings it back until the next prune",
        )


def _no_such_source(source: str, backups: Sequence[Backup]) -> BackupNotFoundError:
    """Return what names the sources that there are: by the place alone, or with a host before it, nobody can guess."""
    names = sorted({backup.source_name for backup in backups})
    shown = ", ".join(repr(name[:80]) for name in names[:_NAMED_SOURCES])
    more = f" and {len(names) - _NAMED_SOURCES} more" if len(names) > _NAMED_SOURCES else ""
    return BackupNotFoundError(
        f"there is no backup of source {source!r}, only of {shown}{more}",
        hint="name the source as list shows it",
    )


def _newest(backups: list[Backup], source: str | None) -> Backup:
    if not backups:
        of = f" of source {source!r}" if source is not None else ""
        raise BackupNotFoundError(f"there is no backup{of}", hint="list shows the backups of this repository")
    return backups[-1]


def is_named(backup: Backup, selector: str) -> bool:
    """Return whether `selector` is a part of the backup's id by which a person may mean it."""
    if len(selector) < _SHORTEST_PART:
        return False
    return (
        selector in backup.id
        or backup.manifest_id.startswith(selector)
        or (len(selector) <= SHORT_ID_LENGTH and backup.short_id.startswith(selector))
    )


def list_directory(repository: BackupStore, backup: Backup, directory: bytes) -> Iterator[Entry]:
    """Yield the entries of one directory (relative to the source, "" = its root) in name order."""
    return read_directory(repository.reader(), backup.root.pages, directory)


def walk_entries(repository: BackupStore, backup: Backup) -> Iterator[tuple[bytes, Entry]]:
    """Yield (path relative to the source, entry) of everything in a backup, in manifest order."""
    for listing in read_listings(repository.reader(), backup.root.pages):
        for entry, _ in listing.entries:
            yield join(listing.directory, entry.name), entry

"""The backup that a new one is compared with: which one it is, and its entries beside the walk.

Owns choice of the parent and the cursor over its pages, or over those of an earlier try. Pages that cannot be read are
given up: what they knew is then read again, nothing is lost.
"""

from collections.abc import Callable, Iterator

import msgspec

from repositories.engine.errors import BackupExistsError, BackupNotFoundError, IntegrityError, ObjectMissingError
from repositories.engine.ids import short_id
from repositories.engine.manifest.backups import Backup, find_backup, list_backups
from repositories.engine.manifest.backups import BackupStore as Store
from repositories.engine.manifest.chunks import ChunkSource
from repositories.engine.manifest.entries import StreamRef
from repositories.engine.manifest.known_pages import Found, KnownListing, read_known
from repositories.engine.manifest.order import directory_key
from repositories.engine.manifest.pages_ahead import Ahead

_HIGHEST_SEQUENCE = 2**62
"""A forged number must not make the next one impossible to store."""


class Lineage(msgspec.Struct, frozen=True):
    """What the new backup stands on: its parent, the next sequence number, the heads that nothing links yet.

    `previous` is the newest backup of the source, which may be no parent: its pages may not be readable. `named` says
    that the parent was asked for.
    """

    parent: Backup | None
    previous: Backup | None
    sequence: int
    heads: tuple[bytes, ...]
    named: bool = False


def choose_lineage(
    store: Store, names: tuple[str, str], wanted: str | None, usable: Callable[[Backup], bool], most_heads: int
) -> Lineage:
    """Return the lineage of a new backup; the parent is `wanted`, else the newest `usable` backup of the source.

    `names` are the new backup's id and its source's name. Raises BackupNotFoundError when `wanted` is no backup of this
    source, BackupExistsError when there is a backup of this id.

    A deleted backup keeps its id, its number and its place among the heads, but is no parent: what it alone holds is
    read again.
    """
    backup_id, source_name = names
    backups = list_backups(store, deleted=True)
    if any(backup.id == backup_id for backup in backups):
        raise BackupExistsError(
            f"backup {short_id(backup_id)} of source {source_name!r} is in the repository already",
            hint="a run backs up each source once; start a new run for another backup",
        )
    parent: Backup | None
    same_source = [each for each in reversed(backups) if each.source_name == source_name and not each.deleted]
    if wanted is not None:
        parent = find_backup(store, wanted)
        if parent.source_name != source_name:
            raise BackupNotFoundError(
                f"backup {parent.short_id} is of source {parent.source_name!r}, not of {source_name!r}",
                hint="name a backup of the same source as parent",
            )
    else:
        parent = next(filter(usable, same_source), None)
    linked = {head for backup in backups for head in backup.root.lineage.heads}
    heads = [identity for backup in backups if (identity := bytes.fromhex(backup.manifest_id)) not in linked]
    highest = max((backup.root.lineage.sequence for backup in backups), default=0)
    previous = same_source[0] if same_source else None
    return Lineage(
        parent, previous, min(highest, _HIGHEST_SEQUENCE) + 1, tuple(heads[-most_heads:]), wanted is not None
    )


class EntryCursor:
    """Gives the entries below `pages` in the order of the walk: `enter` a directory, then `find` ascending names.

    `gave_up` is told once why the rest cannot be read, `ahead` of the pages that come next.
    """

    def __init__(
        self,
        source: ChunkSource,
        pages: StreamRef | None,
        gave_up: Callable[[str], None],
        ahead: Ahead | None = None,
    ) -> None:
        self._gave_up = gave_up
        self._listings: Iterator[KnownListing] | None = None
        if pages is not None:
            self._listings = read_known(source, pages, ahead)
        self._current: KnownListing | None = None
        self._position = 0
        self._wanted = b""
        self._started = False

    @property
    def is_of_something(self) -> bool:
        """Whether there are pages that may be read."""
        return self._listings is not None or self._current is not None

    def enter(self, directory: bytes) -> None:
        """Go on to a directory; directories must come in manifest order."""
        if self._listings is None and self._current is None:
            return
        self._wanted = directory_key(directory)
        if not self._started:
            self._started = True
            self._advance()
        while self._current is not None and self._current.key < self._wanted:
            self._advance()

    def find(self, name: bytes) -> Found | None:
        """Return the parent's entry of this name in the entered directory, and where it stands."""
        while (current := self._current) is not None and current.key == self._wanted:
            names, position = current.names, self._position
            end = len(names)
            while position < end and names[position] < name:
                position += 1
            self._position = position
            if position < end:
                if names[position] != name:
                    return None
                return current.entries[position], current.page, current.begin + position
            self._advance()
        return None

    def _advance(self) -> None:
        self._current = None
        self._position = 0
        if self._listings is None:
            return
        try:
            self._current = next(self._listings, None)
        except (IntegrityError, ObjectMissingError) as error:
            self._listings = None
            self._gave_up(error.message)

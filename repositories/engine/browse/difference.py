"""What differs between two backups, or between the same part of both.

Owns what counts as a difference: content, target, type and device on one side, metadata on the other. Reads only pages
that are not the same in both; memory is two pages per level.
"""

import enum
from collections.abc import Iterator
from dataclasses import dataclass, field

from repositories.engine.browse.looking import entry_at
from repositories.engine.browse.page_cursor import PageCursor
from repositories.engine.errors import ConfigurationError
from repositories.engine.manifest.backups import Backup
from repositories.engine.manifest.chunks import ChunkSource
from repositories.engine.manifest.entries import Entry, EntryType
from repositories.engine.manifest.order import join


class Aspect(enum.StrEnum):
    """What of an object differs. The first four are what it is, the others what is said about it."""

    TYPE = "type"
    CONTENT = "content"
    TARGET = "target"
    DEVICE = "device"
    MODE = "mode"
    OWNER = "owner"
    MTIME = "mtime"
    XATTRS = "xattrs"
    HARD_LINK = "hard_link"


SUBSTANCE = frozenset({Aspect.TYPE, Aspect.CONTENT, Aspect.TARGET, Aspect.DEVICE})


@dataclass(frozen=True, slots=True)
class Change:
    """One path that differs: `before` None is added, `after` None removed, else `aspects` says what changed."""

    path: bytes
    before: Entry | None
    after: Entry | None
    aspects: tuple[Aspect, ...] = ()

    @property
    def only_metadata(self) -> bool:
        """Whether it is the same object with the same content, otherwise described."""
        return bool(self.aspects) and SUBSTANCE.isdisjoint(self.aspects)


@dataclass(slots=True)
class Summary:
    """Figures over all changes. Bytes are sizes of files, however many names they have."""

    added: int = 0
    removed: int = 0
    changed: int = 0
    metadata_only: int = 0
    added_bytes: int = 0
    removed_bytes: int = 0
    aspects: dict[str, int] = field(default_factory=dict)

    def count(self, change: Change) -> None:
        """Take one change into account."""
        if change.before is None:
            self.added += 1
        elif change.after is None:
            self.removed += 1
        elif change.only_metadata:
            self.metadata_only += 1
        else:
            self.changed += 1
        for aspect in change.aspects:
            self.aspects[aspect] = self.aspects.get(aspect, 0) + 1
        if not change.only_metadata:
            self.added_bytes += _bytes(change.after)
            self.removed_bytes += _bytes(change.before)


def differences(source: ChunkSource, before: Backup, after: Backup, path: bytes = b"") -> Iterator[Change]:
    """Yield what differs at `path` (relative to both sources, "" for all) and below it, in manifest order.

    Raises ConfigurationError when the path is in neither backup, IntegrityError.
    """
    old, new = _at(source, before, path), _at(source, after, path)
    if path and old is None and new is None:
        entry_at(source, after, path)
    yield from _compared(path, old, new)
    sides = (PageCursor(source, before.root.pages, path), PageCursor(source, after.root.pages, path))
    yield from _walk(*sides)


def _at(source: ChunkSource, backup: Backup, path: bytes) -> Entry | None:
    try:
        return entry_at(source, backup, path)
    except ConfigurationError:
        return None


def _walk(old: PageCursor, new: PageCursor) -> Iterator[Change]:
    while True:
        if old.skip_with(new):
            continue
        left, right = old.key(), new.key()
        if left is None and right is None:
            return
        if left is not None and (right is None or left < right):
            if not old.open_page():
                yield _lone(old, gone=True)
        elif left != right:
            if not new.open_page():
                yield _lone(new, gone=False)
        else:
            yield from _both(old, new)


def _both(old: PageCursor, new: PageCursor) -> Iterator[Change]:
    """Go on where both stand before the same key: into the higher page, until one page is skipped or entries meet."""
    if old.level < 0 and new.level < 0:
        directory, entry = old.take()
        yield from _compared(join(directory, entry.name), entry, new.take()[1])
    else:
        (old if old.level >= new.level else new).open_page()


def _lone(side: PageCursor, *, gone: bool) -> Change:
    directory, entry = side.take()
    path = join(directory, entry.name)
    return Change(path, entry, None) if gone else Change(path, None, entry)


def _compared(path: bytes, before: Entry | None, after: Entry | None) -> Iterator[Change]:
    if before is None or after is None:
        if before is not after:
            yield Change(path, before, after)
        return
    aspects = tuple(_aspects(before, after))
    if aspects:
        yield Change(path, before, after, aspects)


def _aspects(before: Entry, after: Entry) -> Iterator[Aspect]:
    if before.type != after.type:
        yield Aspect.TYPE
    elif before.type == EntryType.FILE and _content(before) != _content(after):
        yield Aspect.CONTENT
    if before.type == after.type and before.target != after.target:
        yield Aspect.TARGET
    if before.type == after.type and before.device != after.device:
        yield Aspect.DEVICE
    told = (
        (Aspect.MODE, before.mode & 0o7777 != after.mode & 0o7777),
        (Aspect.OWNER, (before.uid, before.gid) != (after.uid, after.gid)),
        (Aspect.MTIME, before.mtime_ns != after.mtime_ns),
        (Aspect.XATTRS, (before.xattrs or ()) != (after.xattrs or ())),
        # Numbers of groups differ from walk to walk; whether there are other names does not.
        (Aspect.HARD_LINK, (before.link_group is None) != (after.link_group is None)),
    )
    yield from (aspect for aspect, differs in told if differs)


def _content(entry: Entry) -> tuple[object, ...]:
    return entry.size, entry.extents or (), entry.stream and entry.stream.id


def _bytes(entry: Entry | None) -> int:
    return entry.size if entry is not None and entry.type == EntryType.FILE else 0

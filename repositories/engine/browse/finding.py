"""`find` over one backup or all: for each path the versions of it, and the backups that hold each.

Owns what makes two entries one version. Backups are read side by side in the order of their keys, so that nothing but
the present path is held, and pages that they share are read once.
"""

import heapq
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from repositories.engine.browse.criteria import Criteria, matcher
from repositories.engine.browse.shared_pages import Match, SharedPages
from repositories.engine.manifest.backups import Backup
from repositories.engine.manifest.chunks import ChunkSource
from repositories.engine.manifest.entries import Entry, StreamRef
from repositories.engine.manifest.order import join


@dataclass(frozen=True, slots=True)
class Version:
    """One state of a path, and the backups (oldest first) that hold it. `entry` is the oldest one's."""

    entry: Entry
    backups: tuple[Backup, ...]


@dataclass(frozen=True, slots=True)
class Found:
    """A path relative to its source, and its versions in the order of their first backups."""

    source_name: str
    path: bytes
    versions: tuple[Version, ...]


class Search:
    """Finds in `backups` (oldest first) what `wanted` describes. Read `results` to its end, then `unread`."""

    def __init__(self, source: ChunkSource, backups: Sequence[Backup], wanted: Criteria) -> None:
        self.unread: list[tuple[Backup, int]] = []
        """Backups of which pages cannot be read, and how many entries those held."""
        self._source = source
        self._backups = backups
        self._wanted = wanted

    def results(self) -> Iterator[Found]:
        """Yield what is found, by source and path. Raises IntegrityError for a manifest out of order."""
        for name in sorted({backup.source_name for backup in self._backups}):
            yield from self._of_source(name, [backup for backup in self._backups if backup.source_name == name])

    def _of_source(self, name: str, backups: list[Backup]) -> Iterator[Found]:
        # One source's backups may have been made of different places: what an absolute pattern means then differs.
        for _, placed in itertools.groupby(sorted(backups, key=_place), key=_place):
            yield from self._side_by_side(name, list(placed))

    def _side_by_side(self, name: str, backups: list[Backup]) -> Iterator[Found]:
        pages = SharedPages(self._source, matcher(self._wanted, backups[0].root.source.id))
        holders: dict[bytes, list[Backup]] = {}
        tops: dict[bytes, StreamRef] = {}
        for backup in backups:
            top = backup.root.pages
            if top is not None:
                tops[top.id] = top
                holders.setdefault(top.id, []).append(backup)
        streams = [_tagged(pages.stream(top), top.id) for top in tops.values()]
        merged = heapq.merge(*streams, key=lambda each: each[0][0])
        for key, same in itertools.groupby(merged, key=lambda each: each[0][0]):
            path = join(key[0].replace(b"\0", b"/"), key[1])
            yield Found(name, path, _versions((match[1], holders[top]) for match, top in same))
        self.unread += [(backup, count) for top, count in pages.lost.items() for backup in holders[top]]


def _place(backup: Backup) -> bytes:
    return backup.root.source.id


def _tagged(matches: Iterator[Match], top: bytes) -> Iterator[tuple[Match, bytes]]:
    return ((match, top) for match in matches)


def _versions(held: Iterator[tuple[Entry, list[Backup]]]) -> tuple[Version, ...]:
    states: dict[tuple[object, ...], tuple[Entry, list[Backup]]] = {}
    for entry, backups in held:
        states.setdefault(_state(entry), (entry, []))[1].extend(backups)
    versions = [Version(entry, tuple(sorted(backups, key=_sequence))) for entry, backups in states.values()]
    return tuple(sorted(versions, key=lambda version: _sequence(version.backups[0])))


def _sequence(backup: Backup) -> tuple[int, int, str]:
    return backup.root.lineage.sequence, backup.received_ns, backup.manifest_id


def _state(entry: Entry) -> tuple[object, ...]:
    content = (entry.extents, entry.stream and entry.stream.id, entry.target, entry.device)
    return (entry.type, entry.mode, entry.uid, entry.gid, entry.size, entry.mtime, *content)

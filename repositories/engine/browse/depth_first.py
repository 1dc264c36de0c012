"""Entries in the order of an archive: each directory directly before all that lies in it.

Owns that order. A manifest lists a directory whole before what lies below its subdirectories; whoever unpacks an
archive gives a directory its time and mode when the next member lies elsewhere. Refuses what has no directory above it:
nothing may be put below a link. Memory: the subdirectories of the directories on the way.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from repositories.engine.errors import IntegrityError
from repositories.engine.manifest.entries import Entry, EntryType, decode_entry
from repositories.engine.manifest.entry_reader import Listing
from repositories.engine.manifest.order import is_within, join

Placed = tuple[bytes, Entry]


@dataclass(slots=True)
class _Level:
    path: bytes
    waiting: deque[tuple[bytes, bytes]] = field(default_factory=deque)
    links: set[bytes] = field(default_factory=set)


class DepthFirst:
    """Reorders the listings of `top` and below. `gaps` tells whether pages were lost: then a parent may be missing."""

    def __init__(self, top: bytes, gaps: Callable[[], bool]) -> None:
        self._levels = [_Level(top)]
        self._gaps = gaps

    def run(self, listings: Iterable[Listing]) -> Iterator[Placed]:
        """Yield (path, entry) of everything but `top` itself. Raises IntegrityError."""
        for listing in listings:
            yield from self._go(listing.directory)
            level = self._levels[-1]
            for entry, raw in listing.entries:
                if entry.type == EntryType.DIRECTORY:
                    level.waiting.append((entry.name, bytes(raw)))
                    continue
                if entry.type == EntryType.LINK:
                    level.links.add(entry.name)
                yield join(level.path, entry.name), entry
        while self._levels:
            yield from self._leave()

    def _go(self, directory: bytes) -> Iterator[Placed]:
        while not is_within(directory, self._levels[-1].path):
            yield from self._leave()
        above = self._levels[-1].path
        if directory == above:
            return
        for name in directory[len(above) + 1 if above else 0 :].split(b"/"):
            yield from self._enter(name)

    def _enter(self, name: bytes) -> Iterator[Placed]:
        level = self._levels[-1]
        while level.waiting and level.waiting[0][0] < name:
            yield self._next(level)
        path = join(level.path, name)
        if level.waiting and level.waiting[0][0] == name:
            yield self._next(level)
        elif name in level.links or not self._gaps():
            raise IntegrityError("a manifest lists what lies below something that is no directory")
        self._levels.append(_Level(path))

    def _leave(self) -> Iterator[Placed]:
        level = self._levels.pop()
        while level.waiting:
            yield self._next(level)

    def _next(self, level: _Level) -> Placed:
        name, raw = level.waiting.popleft()
        return join(level.path, name), decode_entry(raw)

"""Every directory that a restore covers, with the names that the backup holds in it.

Owns where deleting may look: the directories at and below the restored paths, never those above. Empty directories
come too, although a manifest has no listing of them.
"""

import heapq
import itertools
from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from repositories.engine.manifest.entries import EntryType
from repositories.engine.manifest.order import directory_key, is_within, join
from repositories.engine.restore.selection import Selected


@dataclass(frozen=True, slots=True)
class Covered:
    """A directory of the backup; `top` is the restored path that it lies in, "" for all of the source."""

    path: bytes
    top: bytes
    names: AbstractSet[bytes]


def covered(selection: Iterable[Selected], paths: tuple[bytes, ...], *, single_file: bool) -> Iterator[Covered]:
    """Yield the covered directories, each once and whole, parents before children.

    `paths` are the restored ones, none below another, () = everything. A backup of a single file covers no directory.
    """
    tops = paths or (b"",)
    for path, names in _directories(selection, waiting=[(b"", b"")] if b"" in tops else []):
        # The others are only the way to something restored.
        top = next((top for top in tops if is_within(path, top)), None)
        if top is not None and not (single_file and not path):
            yield Covered(path, top, names)


def _directories(
    selection: Iterable[Selected], waiting: list[tuple[bytes, bytes]]
) -> Iterator[tuple[bytes, set[bytes]]]:
    """Yield each directory with its names. `waiting` are those known to exist, whose listing may or may not come."""
    for directory, parts in itertools.groupby(selection, key=lambda selected: selected.directory):
        names: set[bytes] = set()
        for selected in parts:
            for entry, _ in selected.entries:
                names.add(entry.name)
                if entry.type == EntryType.DIRECTORY and entry.name not in selected.above:
                    path = join(directory, entry.name)
                    heapq.heappush(waiting, (directory_key(path), path))
        yield from _passed(waiting, directory)
        yield directory, names
    yield from ((path, set()) for _, path in sorted(waiting))


def _passed(waiting: list[tuple[bytes, bytes]], directory: bytes) -> Iterator[tuple[bytes, set[bytes]]]:
    """Yield the directories before this one: no listing of theirs will come, so they are empty."""
    key = directory_key(directory)
    while waiting and waiting[0][0] <= key:
        path = heapq.heappop(waiting)[1]
        if path != directory:
            yield path, set()

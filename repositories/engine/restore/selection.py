"""Which part of a backup is restored: everything, or some paths with the directories above them.

Owns the reading order of a partial restore: manifest order, and only the pages that hold what is wanted.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Final

import msgspec

from repositories.engine.display import show_path
from repositories.engine.errors import ConfigurationError
from repositories.engine.manifest.entries import Entry, EntryType, StreamRef, encode
from repositories.engine.manifest.entry_reader import Listing, Lost, read_below, read_directory, read_listings
from repositories.engine.manifest.near_listings import NearListings
from repositories.engine.manifest.order import directory_key, is_within, join, split
from repositories.engine.manifest.pages_ahead import pages_ahead
from repositories.engine.manifest.ways_ahead import WaysAhead
from repositories.engine.restore.chunks import AnyChunks

_DIRECTORY: Final = EntryType.DIRECTORY


@dataclass(frozen=True, slots=True)
class Selected:
    """A part of a listing. `above` names the entries that are only the way to something selected.

    `partial`: its directory, too, is only the way to what is selected in it.
    """

    directory: bytes
    entries: list[tuple[Entry, msgspec.Raw]]
    above: frozenset[bytes] = frozenset()
    partial: bool = False


def normalise(paths: tuple[bytes, ...], source: bytes) -> tuple[bytes, ...]:
    """Return paths relative to the source, sorted, none below another; () = everything. Raises ConfigurationError."""
    found: set[bytes] = set()
    for path in paths:
        if path.startswith(b"/"):
            inside = source.rstrip(b"/") + b"/"
            relative = path[len(inside) :] if path.startswith(inside) else b"" if path + b"/" == inside else path[1:]
        else:
            relative = path
        parts = [part for part in relative.split(b"/") if part not in (b"", b".")]
        if b".." in parts or b"\0" in relative:
            raise ConfigurationError(f"{show_path(path)} is no path within a backup", hint="give it without ..")
        found.add(b"/".join(parts))
    return tuple(path for path in sorted(found) if not any(path != other and is_within(path, other) for other in found))


def read_selected(source: AnyChunks, top: StreamRef | None, paths: tuple[bytes, ...], lost: Lost) -> Iterator[Selected]:
    """Yield what is selected, in manifest order. Raises ConfigurationError when a path is not in the backup.

    `lost` is told of pages that cannot be read; what they held is left out.
    """
    if not paths or paths == (b"",):
        yield from _below(read_listings(source, top, lost=lost, ahead=pages_ahead(source)))
        return
    steps = _ways(source, top, paths)
    ranges = {directory_key(path): path for path in _directories(steps.values()).intersection(paths)}
    ways = WaysAhead(source, top, ranges.values())
    for key in sorted({*steps, *ranges}):
        if key in steps:
            yield steps[key]
        if key in ranges:
            ways.reach(ranges[key])
            yield from _below(read_below(source, top, ranges[key], lost, pages_ahead(source)))


def _below(listings: Iterator[Listing]) -> Iterator[Selected]:
    return (Selected(listing.directory, listing.entries) for listing in listings)


def _directories(steps: Iterable[Selected]) -> set[bytes]:
    """Return the paths of those that are directories: nothing lies below others."""
    return {join(each.directory, entry.name) for each in steps for entry, _ in each.entries if entry.type == _DIRECTORY}


def _reading(source: AnyChunks, top: StreamRef | None) -> Callable[[bytes], Iterator[Entry]]:
    """Return what reads one directory after the other: far away what lies between them is not read."""
    if not source.far:
        return NearListings(source, top).entries_of
    return partial(read_directory, source, top, ahead=pages_ahead(source))


def _ways(source: AnyChunks, top: StreamRef | None, paths: tuple[bytes, ...]) -> dict[bytes, Selected]:
    """Return the parts of the listings that lead to the paths, by directory key."""
    wanted: dict[bytes, set[bytes]] = {}
    ends: dict[bytes, set[bytes]] = {}
    for path in paths:
        directory, name = split(path)
        ends.setdefault(directory, set()).add(name)
        rest = path
        while rest:
            rest, name = split(rest)
            wanted.setdefault(rest, set()).add(name)
    steps: dict[bytes, Selected] = {}
    ways = WaysAhead(source, top, wanted)
    entries_of = _reading(source, top)
    for directory in sorted(wanted, key=directory_key):
        ways.reach(directory)
        names = wanted[directory]
        entries = [(entry, msgspec.Raw(encode(entry))) for entry in entries_of(directory) if entry.name in names]
        missing = names - {entry.name for entry, _ in entries}
        if missing:
            path = directory + b"/" + min(missing) if directory else min(missing)
            raise ConfigurationError(
                f"{show_path(path)} is not in the backup",
                hint="ls shows what a backup holds; paths are from its source on",
            )
        above = frozenset(names - ends.get(directory, set()))
        steps[directory_key(directory)] = Selected(directory, entries, above, partial=True)
    return steps

"""Reads the names in one directory of a backup and nothing else of the entries, page by page.

Owns no rule: pages, order and names are held to the same as where whole entries are read, but many at once, since a
directory may have a million.
"""

import operator
from collections.abc import Iterator

import msgspec

from repositories.engine.errors import IntegrityError
from repositories.engine.ids import ChunkKind
from repositories.engine.manifest.chunks import ChunkSource
from repositories.engine.manifest.entries import StreamRef, check_names
from repositories.engine.manifest.entry_reader import check_directory, list_leaves
from repositories.engine.manifest.order import directory_key
from repositories.engine.manifest.page_order import Key, check_count, check_first_name
from repositories.engine.manifest.pages import PageRef, decode_names


class PageNames(msgspec.Struct, frozen=True):
    """What a page holds: the keys of its first and last entry, and the names that lie in the wanted directory."""

    first: Key
    last: Key
    names: list[bytes]


def read_names(source: ChunkSource, top: StreamRef | None, directory: bytes) -> Iterator[list[bytes]]:
    """Yield the names in a directory in order, some at once, reading only the pages that hold them.

    Raises IntegrityError as `read_directory` does, but for what an entry says besides its name.
    """
    if top is None:
        return
    wanted = directory_key(directory)
    last: Key | None = None
    for page in list_leaves(source, top, (wanted, b"")):
        found = names_in_page(source, page, wanted)
        check_follows(last, found.first)
        last = found.last
        if found.names:
            yield found.names
        if last[0] > wanted:
            return


def wide_directory(source: ChunkSource, top: StreamRef | None, directory: bytes, enough: int) -> list[PageRef]:
    """Return what the lists say of the pages that may hold names of a directory, none where they hold too few entries.

    Raises IntegrityError.
    """
    if top is None or top.count < enough:
        return []
    wanted = directory_key(directory)
    # What begins in the next directory holds nothing of this one.
    pages = list(list_leaves(source, top, (wanted, b""), end=wanted + b"\0"))
    return pages if sum(page.count for page in pages) >= enough else []


def names_in_page(source: ChunkSource, page: PageRef, wanted: bytes) -> PageNames:
    """Return what a page holds of the directory with the key `wanted`.

    Raises IntegrityError, also where the page is not as the list above it says, and ObjectMissingError.
    """
    first: Key | None = None
    last: Key | None = None
    wanted_names: list[bytes] = []
    seen = 0
    for listed, names in decode_names(source.read(ChunkKind.PAGE, page.id)):
        if last is None:
            check_first_name(page, listed, names[0])
            first = directory_key(listed), names[0]
        last = _follow(last, listed, names)
        seen += len(names)
        if last[0] == wanted:
            wanted_names = wanted_names + names if wanted_names else names
    check_count(page, seen)
    if first is None or last is None:
        raise IntegrityError("a manifest page is empty")
    return PageNames(first, last, wanted_names)


def check_follows(last: Key | None, first: Key) -> None:
    """Raise IntegrityError unless a page that begins with `first` may follow one that ends with `last`."""
    if last is not None and first <= last:
        raise IntegrityError(f"a manifest lists names from {first[1][:80]!r} on twice or out of order")


def _follow(last: Key | None, directory: bytes, names: list[bytes]) -> Key:
    """Return the last key of a group that follows `last`; raises IntegrityError where it cannot follow."""
    key = directory_key(directory)
    if last is not None and key < last[0]:
        raise IntegrityError(f"a manifest lists directory {directory[:80]!r} out of order")
    check_directory(directory)
    before = last[1] if last is not None and key == last[0] else b""
    if names[0] <= before or not all(map(operator.lt, names, names[1:])):
        raise IntegrityError(f"a manifest lists names in directory {directory[:80]!r} twice or out of order")
    check_names(names)
    return key, names[-1]

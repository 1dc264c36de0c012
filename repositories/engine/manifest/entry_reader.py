"""Reads the entries of a backup back, in order, from any key on.

Owns the checks that a reader must not leave to the writer: levels, counts, order, uniqueness, names. A hostile
or damaged manifest ends in IntegrityError, never in disorder. Memory: one page per level.
"""

from collections.abc import Callable, Iterator

import msgspec

from repositories.engine.errors import IntegrityError, ObjectMissingError
from repositories.engine.ids import ChunkKind
from repositories.engine.manifest.chunks import ChunkSource
from repositories.engine.manifest.entries import Entry, StreamRef, decode_entry
from repositories.engine.manifest.order import directory_key, is_within, join, split
from repositories.engine.manifest.page_order import Key, PageOrder, check_count, check_first, check_list
from repositories.engine.manifest.pages import LEVEL_LIMIT, PageRef, decode_leaf, decode_list
from repositories.engine.manifest.pages_ahead import PAGES_AHEAD, Ahead

_NO_COMPONENTS = frozenset({b"", b".", b".."})
Lost = Callable[[bytes, int], None]
"""Told of a page that cannot be read: the path of its first entry ("" if unknown), and how many entries it held."""


class Listing(msgspec.Struct, frozen=True):
    """A part of one directory's listing, as one page holds it; the same directory may come again."""

    directory: bytes
    entries: list[tuple[Entry, msgspec.Raw]]


def read_listings(
    source: ChunkSource,
    top: StreamRef | None,
    start: bytes | None = None,
    *,
    lost: Lost | None = None,
    ahead: Ahead | None = None,
) -> Iterator[Listing]:
    """Yield the listings in order; with `start`, pages that lie wholly before that directory are not read.

    Listings before `start` may still come out of the first page. Raises IntegrityError on any disorder, and for a
    page that cannot be read unless `lost` takes it. `ahead` is told of the pages that will be read.
    """
    yield from _listings(source, top, (directory_key(start), b"") if start is not None else None, lost, ahead)


def _listings(
    source: ChunkSource,
    top: StreamRef | None,
    start: Key | None,
    lost: Lost | None,
    ahead: Ahead | None = None,
    end: bytes | None = None,
) -> Iterator[Listing]:
    if top is None:
        return
    last: Key = (b"", b"")
    begun = False
    for data, page in read_leaves(source, top, start, lost, ahead, end):
        seen = 0
        for directory, entries in decoded_listings(data):
            if not seen:
                check_first(page, directory, entries[0][0])
            last = check_order(last, directory, entries, begun=begun)
            begun = True
            seen += len(entries)
            yield Listing(directory, entries)
        check_count(page, seen)


def decoded_listings(data: bytes) -> Iterator[tuple[bytes, list[tuple[Entry, msgspec.Raw]]]]:
    """Yield (directory, entries) of a leaf, each entry checked by itself. Raises IntegrityError."""
    for directory, raws in decode_leaf(data):
        yield directory, [(decode_entry(raw), raw) for raw in raws]


def read_directory(
    source: ChunkSource, top: StreamRef | None, directory: bytes, ahead: Ahead | None = None, *, after: bytes = b""
) -> Iterator[Entry]:
    """Yield the entries of one directory whose names come after `after`, reading only the pages that hold them.

    `ahead` is told of those.
    """
    wanted = directory_key(directory)
    for listing in _listings(source, top, (wanted, after), None, ahead, wanted + b"\0"):
        key = directory_key(listing.directory)
        if key > wanted:
            return
        if key == wanted:
            yield from (entry for entry, _ in listing.entries if entry.name > after)


def read_entry(source: ChunkSource, top: StreamRef | None, path: bytes) -> Entry | None:
    """Return the entry at a path that is not the root's, or None; reads one leaf and the lists that lead to it."""
    directory, name = split(path)
    wanted = (directory_key(directory), name)
    for listing in _listings(source, top, wanted, None):
        key = directory_key(listing.directory)
        for entry, _ in listing.entries if key == wanted[0] else ():
            if entry.name == name:
                return entry
        if key > wanted[0] or (key == wanted[0] and listing.entries[-1][0].name > name):
            return None
    return None


def read_below(
    source: ChunkSource,
    top: StreamRef | None,
    directory: bytes,
    lost: Lost | None = None,
    ahead: Ahead | None = None,
) -> Iterator[Listing]:
    """Yield the listings of one directory and of all below it. `ahead` is told of the pages that will be read."""
    wanted = directory_key(directory)
    # No component holds NUL: what lies below sorts before this.
    end = wanted + b"\1" if directory else None
    for listing in _listings(source, top, (wanted, b""), lost, ahead, end):
        if is_within(listing.directory, directory):
            yield listing
        elif directory_key(listing.directory) > wanted:
            return


def last_key(source: ChunkSource, top: StreamRef) -> Key:
    """Return the key of the last entry, reading one page per level: (key of its directory, name)."""
    page, level = top.id, top.level
    if not 0 <= level <= LEVEL_LIMIT:
        raise IntegrityError(f"a manifest claims {level} levels of pages")
    while level > 0:
        page, level = decode_list(source.read(ChunkKind.PAGE, page), level)[-1].id, level - 1
    groups = list(decode_leaf(source.read(ChunkKind.PAGE, page)))
    if not groups:
        raise IntegrityError("a manifest page is empty")
    directory, raws = groups[-1]
    return directory_key(directory), decode_entry(raws[-1]).name


def page_ids(source: ChunkSource, top: StreamRef | None, known: Callable[[bytes], bool]) -> Iterator[tuple[bytes, int]]:
    """Yield (id, level) of the pages below `top`, lists first; what lies below a known page is left out."""
    stack = [(top.id, top.level)] if top is not None else []
    while stack:
        page, level = stack.pop()
        if known(page):
            continue
        yield page, level
        if level > 0:
            refs = decode_list(source.read(ChunkKind.PAGE, page), level)
            stack.extend((ref.id, level - 1) for ref in reversed(refs))


def check_order(last: Key, directory: bytes, entries: list[tuple[Entry, msgspec.Raw]], *, begun: bool) -> Key:
    """Return the last key of a group that follows `last`; raises IntegrityError where it cannot follow."""
    key = directory_key(directory)
    if begun and key < last[0]:
        raise IntegrityError(f"a manifest lists directory {directory[:80]!r} out of order")
    check_directory(directory)
    name = last[1] if begun and key == last[0] else b""
    for entry, _ in entries:
        if entry.name <= name:
            raise IntegrityError(f"a manifest lists {entry.name[:80]!r} twice or out of order")
        name = entry.name
    return key, name


def check_directory(directory: bytes) -> None:
    """Refuse what cannot be a path relative to a source."""
    if not directory:
        return
    if b"\0" in directory or not _NO_COMPONENTS.isdisjoint(directory.split(b"/")):
        raise IntegrityError(f"a manifest names a directory {directory[:80]!r}, which cannot be a path")


def read_leaves(
    source: ChunkSource,
    top: StreamRef,
    start: Key | None,
    lost: Lost | None = None,
    ahead: Ahead | None = None,
    end: bytes | None = None,
) -> Iterator[tuple[bytes, PageRef]]:
    """Yield the leaves in order with what their lists say of them, as `list_leaves` lists them."""
    for page in list_leaves(source, top, start, lost, ahead, end):
        data = _read_unless_lost(source, page, lost)
        if data is not None:
            yield data, page


def list_leaves(
    source: ChunkSource,
    top: StreamRef,
    start: Key | None,
    lost: Lost | None = None,
    ahead: Ahead | None = None,
    end: bytes | None = None,
) -> Iterator[PageRef]:
    """Yield what the lists say of the leaves, in order, before any of them is read.

    With `start`, without those that come before it; with `end`, the key of a directory, without those that begin there
    or later.
    """
    if not 0 <= top.level <= LEVEL_LIMIT:
        raise IntegrityError(f"a manifest claims {top.level} levels of pages")
    stack: list[tuple[PageRef, int]] = [(PageRef(top.id, top.count, top.length), top.level)]
    order = PageOrder()
    while stack:
        page, level = stack.pop()
        order.enter(page, leaf=level == 0)
        if ahead is not None:
            ahead([page.id, *(each.id for each, _ in reversed(stack[-PAGES_AHEAD:]))])
        if level == 0:
            yield page
            continue
        data = _read_unless_lost(source, page, lost)
        if data is None:
            order.lost(page)
            continue
        refs = decode_list(data, level)
        check_list(page, refs, len(stack))
        stack.extend((ref, level - 1) for ref in reversed(_until(_from(refs, start), end)))


def _read_unless_lost(source: ChunkSource, page: PageRef, lost: Lost | None) -> bytes | None:
    try:
        return source.read(ChunkKind.PAGE, page.id)
    except (IntegrityError, ObjectMissingError):
        if lost is None:
            raise
        lost(join(page.directory or b"", page.name or b""), page.count)
        return None


def _from(refs: list[PageRef], start: Key | None) -> list[PageRef]:
    """Leave out the pages whose successor begins at `start` or before it: all they hold comes earlier."""
    if start is None:
        return refs
    first = 0
    for index, ref in enumerate(refs[1:], start=1):
        if (directory_key(ref.directory or b""), ref.name or b"") <= start:
            first = index
    return refs[first:]


def _until(refs: list[PageRef], end: bytes | None) -> list[PageRef]:
    """Leave out the pages that begin in a directory whose key is `end` or comes later."""
    if end is None:
        return refs
    return refs[: next((at for at, ref in enumerate(refs) if directory_key(ref.directory or b"") >= end), len(refs))]

"""The bytes of a page: leaves with groups of entries, leaves with stream records, and lists of pages.

Owns encoding, decoding and the limits of one page. Order across pages is the business of writer and reader.
"""

from collections.abc import Iterator
from typing import Final, TypeVar

import msgspec

from repositories.engine.errors import IntegrityError
from repositories.engine.format.records import UNDECODABLE, Hash
from repositories.engine.manifest.entries import PATH_LIMIT, Count, Entry, Length, encode

PAGE_MIN: Final = 32 * 1024
PAGE_TARGET_MAX: Final = 256 * 1024
PAGE_LIMIT: Final = 1024 * 1024
CUT_MASK: Final = 0xFF
LEVEL_LIMIT: Final = 64
PENDING_LIMIT: Final = 2**17
"""Pages that a reader has been told of and has not read yet: a thousand times what a writer makes it hold."""


class PageRef(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """One page in a list of pages: its id, the items and content bytes below it, and its first key."""

    id: Hash
    count: Count
    length: Length
    directory: bytes | None = None
    name: bytes | None = None


class Group(msgspec.Struct, array_like=True, frozen=True):
    """Entries of one directory; its path shares `shared` leading bytes with the group before in this page."""

    shared: int
    suffix: bytes
    entries: list[msgspec.Raw]


class _Named(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """The beginning of an entry; what follows the name is passed over."""

    type: int
    name: bytes


class _NamedGroup(msgspec.Struct, array_like=True, frozen=True):
    shared: int
    suffix: bytes
    entries: list[_Named]


class _EntryGroup(msgspec.Struct, array_like=True, frozen=True):
    shared: int
    suffix: bytes
    entries: list[Entry]


_Item = TypeVar("_Item")
_AnyGroup = TypeVar("_AnyGroup", Group, _NamedGroup, _EntryGroup)


class _Page(msgspec.Struct, array_like=True, frozen=True):
    level: int
    body: msgspec.Raw


_page_decoder: Final = msgspec.msgpack.Decoder(_Page)
_groups_decoder: Final = msgspec.msgpack.Decoder(list[Group])
_names_decoder: Final = msgspec.msgpack.Decoder(list[_NamedGroup])
_entries_decoder: Final = msgspec.msgpack.Decoder(list[_EntryGroup])
_refs_decoder: Final = msgspec.msgpack.Decoder(list[PageRef])
_records_decoder: Final = msgspec.msgpack.Decoder(list[msgspec.Raw])


def hits(keyed_hash: bytes) -> bool:
    """Return whether a page ends behind the item with this keyed hash: one in 256 does."""
    return keyed_hash[0] & CUT_MASK == 0


def encode_leaf(groups: list[Group]) -> bytes:
    """Return a leaf of entries."""
    return encode((0, groups))


def encode_records(records: list[msgspec.Raw]) -> bytes:
    """Return a leaf of a stream."""
    return encode((0, records))


def encode_list(level: int, refs: list[PageRef]) -> bytes:
    """Return a list of pages; `level` counts from the leaves, which are 0."""
    return encode((level, refs))


def shared_prefix(previous: bytes, directory: bytes) -> int:
    """Return how many leading bytes two paths share."""
    end = min(len(previous), len(directory))
    if previous[:end] == directory[:end]:
        return end
    low, high = 0, end
    while high - low > 1:
        middle = (low + high) // 2
        if previous[low:middle] == directory[low:middle]:
            low = middle
        else:
            high = middle
    return low


def _body(data: bytes, level: int) -> msgspec.Raw:
    if len(data) > PAGE_LIMIT:
        raise IntegrityError(f"a manifest page has {len(data)} bytes; {PAGE_LIMIT} is the limit")
    page = _page_decoder.decode(data)
    if page.level != level:
        raise IntegrityError(f"a manifest page says level {page.level} where {level} belongs")
    return page.body


def decode_leaf(data: bytes) -> Iterator[tuple[bytes, list[msgspec.Raw]]]:
    """Yield (directory, raw entries) of a leaf; raises IntegrityError."""
    for directory, group in _directories(_decode(_groups_decoder, data, 0)):
        yield directory, group.entries


def decode_entries(data: bytes) -> Iterator[tuple[bytes, list[Entry]]]:
    """Yield (directory, entries) of a leaf, decoded all at once: their names and values are not looked at else.

    Raises IntegrityError.
    """
    for directory, group in _directories(_decode(_entries_decoder, data, 0)):
        yield directory, group.entries


def decode_names(data: bytes) -> Iterator[tuple[bytes, list[bytes]]]:
    """Yield (directory, names of entries) of a leaf, whose entries are not looked at else; raises IntegrityError."""
    for directory, group in _directories(_decode(_names_decoder, data, 0)):
        yield directory, [entry.name for entry in group.entries]


def _directories(groups: list[_AnyGroup]) -> Iterator[tuple[bytes, _AnyGroup]]:
    previous = b""
    for group in groups:
        if not 0 <= group.shared <= len(previous) or not group.entries:
            raise IntegrityError("a manifest page has an impossible group")
        previous = previous[: group.shared] + group.suffix
        if len(previous) > PATH_LIMIT:
            raise IntegrityError("a manifest page has a directory path that is too long")
        yield previous, group


def decode_list(data: bytes, level: int) -> list[PageRef]:
    """Return the pages that a list names; raises IntegrityError. Fewer than one is impossible."""
    refs = _decode(_refs_decoder, data, level)
    if not refs:
        raise IntegrityError("a manifest page is empty")
    return refs


def decode_records(data: bytes) -> list[msgspec.Raw]:
    """Return the raw records of a stream leaf; raises IntegrityError."""
    return _decode(_records_decoder, data, 0)


def _decode(decoder: "msgspec.msgpack.Decoder[list[_Item]]", data: bytes, level: int) -> list[_Item]:
    try:
        return decoder.decode(_body(data, level))
    except UNDECODABLE as error:
        raise IntegrityError(f"a manifest page cannot be decoded: {error}") from error

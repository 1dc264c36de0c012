"""Reads the names in one directory of a backup and nothing else of the entries, page by page.

Owns no rule: pages, order and names are held to the same as where whole entries are read, but many at once, since a
directory may have a million.
"""

import operator
from collections.abc import Iterator

from repositories.engine.errors import IntegrityError
from repositories.engine.manifest.chunks import ChunkSource
from repositories.engine.manifest.entries import StreamRef, check_names
from repositories.engine.manifest.entry_reader import check_directory, read_leaves
from repositories.engine.manifest.order import directory_key
from repositories.engine.manifest.page_order import Key, check_count, check_first_name
from repositories.engine.manifest.pages import decode_names


def read_names(source: ChunkSource, top: StreamRef | None, directory: bytes) -> Iterator[list[bytes]]:
    """Yield the names in a directory in order, some at once, reading only the pages that hold them.

    Raises IntegrityError as `read_directory` does, but for what an entry says besides its name.
    """
    if top is None:
        return
    wanted = directory_key(directory)
    last: Key | None = None
    for data, page in read_leaves(source, top, (wanted, b"")):
        seen = 0
        for listed, names in decode_names(data):
            if not seen:
                check_first_name(page, listed, names[0])
            last = _follow(last, listed, names)
            seen += len(names)
            if last[0] > wanted:
                return
            if last[0] == wanted:
                yield names
        check_count(page, seen)


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

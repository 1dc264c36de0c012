"""Announces the pages that lead to some directories of a backup, before they are looked for one after the other.

Owns the look at the lists of pages, level by level: far away each of them would else cost a round trip for each
directory. A hint: what cannot be read here, the look itself will tell.
"""

from bisect import bisect_left
from collections.abc import Iterable, Sequence

from repositories.engine.errors import IntegrityError, ObjectMissingError
from repositories.engine.ids import ChunkKind
from repositories.engine.manifest.entries import StreamRef
from repositories.engine.manifest.order import directory_key
from repositories.engine.manifest.pages import LEVEL_LIMIT, PageRef, decode_list
from repositories.engine.manifest.pages_ahead import PAGES_AHEAD, AnyPages, pages_ahead


class WaysAhead:
    """Knows the leaves in which some directories begin. Used by one thread. Memory: a key and an id for each."""

    def __init__(self, source: AnyPages, top: StreamRef | None, directories: Iterable[bytes]) -> None:
        """Read the lists that lead to the directories, if `source` is far away."""
        self._announce = pages_ahead(source)
        self._keys: list[bytes] = []
        self._leaves: list[bytes] = []
        if self._announce is not None and top is not None and 0 <= top.level <= LEVEL_LIMIT:
            self._find(source, top, sorted(map(directory_key, directories)))

    def reach(self, directory: bytes) -> None:
        """This directory is looked for now, those that come later in the order of manifests afterwards."""
        if self._announce is not None:
            begin = bisect_left(self._keys, directory_key(directory))
            self._announce(self._leaves[begin : begin + PAGES_AHEAD])

    def _find(self, source: AnyPages, top: StreamRef, keys: list[bytes]) -> None:
        pages = [(key, top.id) for key in keys]
        for level in range(top.level, 0, -1):
            self._tell(pages)
            try:
                pages = _below(source, pages, level)
            except (IntegrityError, ObjectMissingError):
                return
        self._keys, self._leaves = [key for key, _ in pages], [page for _, page in pages]

    def _tell(self, pages: Sequence[tuple[bytes, bytes]]) -> None:
        if self._announce is not None:
            self._announce(page for _, page in pages[:PAGES_AHEAD])


def _below(source: AnyPages, pages: Sequence[tuple[bytes, bytes]], level: int) -> list[tuple[bytes, bytes]]:
    """Return for each key the page one level deeper in which its directory begins."""
    found: list[tuple[bytes, bytes]] = []
    refs: list[PageRef] = []
    firsts: list[bytes] = []
    read = b""
    for key, page in pages:
        if page != read:
            refs, read = decode_list(source.read(ChunkKind.PAGE, page), level), page
            firsts = [directory_key(ref.directory or b"") for ref in refs]
        found.append((key, refs[max(bisect_left(firsts, key) - 1, 0)].id))
    return found

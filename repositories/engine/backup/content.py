"""Reads the content of regular files into chunks.

Owns reading: fstat before and after, three tries for what changes, holes, zeros, small files in one read. A failed
read is an OSError (the source's fault); a failed put is an EngineError (the repository's), and the two never mix.
"""

import os
from collections.abc import Callable

from repositories.engine.backup.begun import WORTH_KEEPING, Begun, InHand
from repositories.engine.backup.capture import Content, store_xattrs
from repositories.engine.backup.extents import ExtentCollector
from repositories.engine.backup.session import BackupSession, Cutter
from repositories.engine.clock import Clock
from repositories.engine.errors import IntegrityError, ObjectMissingError
from repositories.engine.ids import ChunkKind
from repositories.engine.metadata.extended import read_xattrs
from repositories.engine.source.directory import ReadAhead
from repositories.engine.source.files import may_have_holes, open_regular, segments, unchanged_since

TRIES = 3
_READ_SIZE = 1024 * 1024
_SIZELESS_LIMIT = 64 * 1024 * 1024


class SegmentReader:
    """A stretch of an open file as a stream; counts what it gives. Raises OSError."""

    def __init__(self, descriptor: int, length: int, taken: Callable[[int], None]) -> None:
        self._descriptor = descriptor
        self._left = length
        self._taken = taken
        self.given = 0

    def readinto(self, buffer: memoryview, /) -> int:
        """Fill part of `buffer`; 0 at the end of the stretch or of the file."""
        wanted = min(len(buffer), self._left, _READ_SIZE)
        if not wanted:
            return 0
        count = os.readv(self._descriptor, [buffer[:wanted]])
        self._left -= count
        self.given += count
        self._taken(count)
        return count


class FileReader:
    """Reads files for one backup. `taken` is told of each read after it (bandwidth, progress, cancel).

    The chunker is made with the first file that needs one: none does in an unchanged run.
    """

    def __init__(
        self, session: BackupSession, make_chunker: Callable[[], Cutter], clock: Clock, taken: Callable[[int], None]
    ) -> None:
        self._session = session
        self._make_chunker = make_chunker
        self._made: Cutter | None = None
        self._clock = clock
        self._taken = taken
        self.in_hand: InHand | None = None

    def read(self, directory: int, name: bytes, begun: Begun | None = None) -> tuple[Content, OSError | None]:
        """Return the content of a file and what its attributes would not tell. Raises OSError.

        Goes on from what was `begun` if the file is still the same; `in_hand` is the file for that time.
        """
        for left in reversed(range(TRIES)):
            content, failure = self._try(directory, name, begun)
            begun = None
            if not content.changed or not left:
                return content, failure
        raise AssertionError("unreachable: the last try returns")

    def keep(self, ahead: ReadAhead) -> Content:
        """Return the content of a file that was read already."""
        data = ahead.data
        self._taken(len(data))
        extents = ExtentCollector(self._session)
        self._store(data, extents)
        # Behind the storing, which has copied it.
        ahead.require_whole()
        inline, stream = extents.finish()
        xattrs = store_xattrs(self._session, ahead.xattrs)
        return Content(ahead.status, extents.length, inline, stream, xattrs, ahead.looked_ns, changed=False)

    def largest_small(self) -> int:
        """Return up to how many bytes a content is one chunk."""
        return self._chunker().min_size

    def _try(self, directory: int, name: bytes, begun: Begun | None) -> tuple[Content, OSError | None]:
        started_ns = self._clock.now_ns()
        descriptor, before = open_regular(name, directory)
        try:
            extents = self._known(begun, before)
            self.in_hand = InHand(name, before, started_ns, extents) if before.st_size >= WORTH_KEEPING else None
            self._read_content(descriptor, before, extents)
            self.in_hand = None
            found, failure = read_xattrs(descriptor)
            torn = extents.length != before.st_size and before.st_size > 0
            cut = before.st_size == 0 and extents.length >= _SIZELESS_LIMIT  # it may hold more than that
            changed = torn or cut or not unchanged_since(before, os.fstat(descriptor))
        except OSError:
            # Only what ends the backup leaves the file in hand, for the last checkpoint.
            self.in_hand = None
            raise
        finally:
            os.close(descriptor)
        inline, stream = extents.finish()
        xattrs = store_xattrs(self._session, found)
        lacking = failure is not None
        return Content(before, extents.length, inline, stream, xattrs, started_ns, changed, lacking), failure

    def _known(self, begun: Begun | None, before: os.stat_result) -> ExtentCollector:
        """Return the collector of a file, with what is known of it; reading goes on behind that."""
        extents = ExtentCollector(self._session)
        if begun is not None and begun.is_of(before):
            try:
                extents.go_on_from(begun.content())
            except (IntegrityError, ObjectMissingError):
                return ExtentCollector(self._session)
        return extents

    def _read_content(self, descriptor: int, before: os.stat_result, extents: ExtentCollector) -> None:
        size, known = before.st_size, extents.length
        if may_have_holes(before):
            self._read_segments(descriptor, size, extents)
        elif known:
            os.lseek(descriptor, known, os.SEEK_SET)
            self._read_stretch(descriptor, size - known, extents)
        elif 0 < size <= self._chunker().min_size:
            self._read_small(descriptor, size, extents)
        else:
            # Files that the kernel makes up say 0 and hold something nevertheless.
            self._read_stretch(descriptor, size or _SIZELESS_LIMIT, extents)

    def _read_small(self, descriptor: int, size: int, extents: ExtentCollector) -> None:
        data = os.read(descriptor, size)
        while 0 < len(data) < size and (more := os.read(descriptor, size - len(data))):
            data += more
        self._taken(len(data))
        if data:
            self._store(data, extents)

    def _read_segments(self, descriptor: int, size: int, extents: ExtentCollector) -> None:
        known = extents.length
        for begin, end, is_data in segments(descriptor, size):
            start = max(begin, known)
            if start >= end:
                continue
            if not is_data:
                extents.add_hole(end - start)
                continue
            os.lseek(descriptor, start, os.SEEK_SET)
            if self._read_stretch(descriptor, end - start, extents) < end - start:
                return

    def _read_stretch(self, descriptor: int, length: int, extents: ExtentCollector) -> int:
        stream = SegmentReader(descriptor, length, self._taken)
        for chunk in self._chunker().cut(stream):
            self._store(chunk, extents)
        return stream.given

    def _store(self, data: bytes | memoryview, extents: ExtentCollector) -> None:
        length = len(data)
        if is_zero(data):
            extents.add_hole(length)
        else:
            extents.add_chunk(self._session.put(ChunkKind.DATA, data)[0], length)

    def _chunker(self) -> Cutter:
        if self._made is None:
            self._made = self._make_chunker()
        return self._made


def is_zero(data: bytes | memoryview) -> bool:
    """Return whether all bytes are zero; cheap for what is not."""
    return data[0] == 0 and data[-1] == 0 and bytes(data) == bytes(len(data))

"""Reading again what seems unchanged: which files of a run, and whether they still hold what the last backup has.

Owns the choice and the comparison (engine.md, section 3: re-read n % per run). Bits that rotted and times that were
set back are found by nothing else.
"""

import os
from collections.abc import Iterator

from repositories.engine.backup.capture import Content
from repositories.engine.errors import IntegrityError, ObjectMissingError
from repositories.engine.ids import ChunkKind
from repositories.engine.manifest.chunks import ChunkSource
from repositories.engine.manifest.entries import Entry
from repositories.engine.manifest.streams import read_extents
from repositories.engine.source.files import open_regular

_PIECE = 1024 * 1024


class Rereading:
    """Chooses about `percent` of 100 files, others in each run, the same when asked again."""

    def __init__(self, run_id: str, percent: int, chunks: ChunkSource) -> None:
        self._key = run_id.encode()[:64]
        self._percent = percent
        self._chunks = chunks

    def wants(self, path: bytes, group: tuple[int, int] | None) -> bool:
        """Return whether to read a file again; all names of one file are answered alike."""
        if not self._percent:
            return False
        name = path if group is None else b"%d %d" % group
        # Heavy, and few backups read again.
        import hashlib

        chosen = hashlib.blake2b(name, digest_size=8, key=self._key, person=b"reread").digest()
        return int.from_bytes(chosen) % 100 < self._percent

    def differs(self, directory: int, name: bytes, content: Content, known: Entry) -> bool:
        """Return whether a file that was read again holds other bytes than it is known to have held.

        The same bytes may have been cut otherwise, around other holes: then they are compared themselves. What the
        repository cannot give back does not count as different: the file has been stored anew anyway.
        Raises OSError.
        """
        if content.size != known.size:
            return True
        if (content.extents, content.stream) == (known.extents, known.stream):
            return False
        descriptor, _ = open_regular(name, directory)
        try:
            return not all(_follows(descriptor, piece) for piece in self._pieces(known))
        except (IntegrityError, ObjectMissingError):
            return False
        finally:
            os.close(descriptor)

    def _pieces(self, entry: Entry) -> Iterator[bytes | int]:
        """Yield what a file held, in order: bytes, or the length of zeros."""
        for extent in entry.extents or ():
            yield self._chunks.read(ChunkKind.DATA, extent) if isinstance(extent, bytes) else extent
        if entry.stream is not None:
            for length, chunk in read_extents(self._chunks, entry.stream):
                yield length if chunk is None else self._chunks.read(ChunkKind.DATA, chunk)


def _follows(descriptor: int, piece: bytes | int) -> bool:
    """Return whether an open file goes on with `piece`."""
    if isinstance(piece, bytes):
        return _take(descriptor, len(piece)) == piece
    left = piece
    while left:
        taken = _take(descriptor, min(left, _PIECE))
        if not taken or taken.count(0) != len(taken):
            return False
        left -= len(taken)
    return True


def _take(descriptor: int, count: int) -> bytes:
    parts = []
    while count and (data := os.read(descriptor, min(count, _PIECE))):
        parts.append(data)
        count -= len(data)
    return b"".join(parts)

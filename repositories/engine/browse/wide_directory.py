"""The names in a directory of very many, as lines, read by as many processes as there are processors.

Owns dividing the pages among forked processes, and putting what those say in order. One interpreter binds the reading
of names: decoding them holds its lock. What another process finds wrong, cannot read, or leaves when it dies, is read
here, so that an error is told, and made good, in one place. Memory: what one turn of each process shows.
"""

import contextlib
import fcntl
import os
from collections.abc import Iterator, Sequence
from typing import IO, Final, Protocol

import msgspec

from repositories.engine import forked
from repositories.engine.display import show_names
from repositories.engine.errors import EngineError
from repositories.engine.manifest.chunks import ChunkSource
from repositories.engine.manifest.name_reader import check_follows, names_in_page
from repositories.engine.manifest.order import directory_key
from repositories.engine.manifest.page_order import Key
from repositories.engine.manifest.pages import PageRef

ENOUGH: Final = 50_000
"""So many names take longer to read than another process to begin."""
_TURN: Final = 32
"""Pages that follow each other lie in one block, which each process that reads of it decodes."""
_MOST_PROCESSES: Final = 4
_PIPE_BYTES: Final = 1024 * 1024
_LENGTH_BYTES: Final = 4


class NearSource(ChunkSource, Protocol):
    """What reads pages, also in a process that was just forked."""

    @property
    def far(self) -> bool:
        """Whether the medium is far away, where its answers are waited for and not processors."""

    def apart(self) -> ChunkSource:
        """Return the same for a process that was just forked, which shares no lock with this one."""


class ShownPage(msgspec.Struct, frozen=True, array_like=True):
    """The names of a page that lie in the directory, shown, and the keys of the first and last entry it holds."""

    first: Key
    last: Key
    lines: str


_encoder: Final = msgspec.msgpack.Encoder()
_decoder: Final = msgspec.msgpack.Decoder(ShownPage)


def show_page(source: ChunkSource, page: PageRef, directory: bytes) -> ShownPage:
    """Return the names in a page that lie in a directory. Raises IntegrityError, ObjectMissingError."""
    found = names_in_page(source, page, directory_key(directory))
    return ShownPage(found.first, found.last, show_names(directory, found.names) if found.names else "")


def shown_pages(source: NearSource, pages: Sequence[PageRef], directory: bytes) -> Iterator[str]:
    """Yield the names of a directory that lie in `pages`, a line each, some pages' at once.

    Raises IntegrityError, ObjectMissingError.
    """
    count = 1 if source.far else min(forked.processors(), _MOST_PROCESSES, -(-len(pages) // _TURN))
    last: Key | None = None
    with contextlib.ExitStack() as ending:
        readers = _begun(ending, source, pages, directory, count)
        for number, page in enumerate(pages):
            reader = readers[number // _TURN % count]
            shown = None if reader is None else reader.next_page()
            if shown is None:
                shown = show_page(source, page, directory)
            check_follows(last, shown.first)
            last = shown.last
            if shown.lines:
                yield shown.lines


class _Reader:
    """A process that shows every so many turns of pages; for one thread."""

    def __init__(self, source: NearSource, pages: Sequence[PageRef], directory: bytes) -> None:
        """Fork it. Raises OSError."""
        ours, theirs = os.pipe()
        self._pipe: IO[bytes] = os.fdopen(ours, "rb", buffering=_PIPE_BYTES)
        try:
            with contextlib.suppress(OSError):
                # What it is ahead: without a whole turn it would wait, and nothing else.
                fcntl.fcntl(theirs, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
            self._pid = forked.fork(lambda: _live(theirs, source.apart(), pages, directory), lambda: [theirs])
        except BaseException:
            self._pipe.close()
            raise
        finally:
            os.close(theirs)

    def next_page(self) -> ShownPage | None:
        """Return what it says of its next page; None if that is left to the caller, as are all when it has died."""
        length = int.from_bytes(self._pipe.read(_LENGTH_BYTES))
        message = self._pipe.read(length)
        return _decoder.decode(message) if message and len(message) == length else None

    def end(self) -> None:
        """End the process, whatever it is doing."""
        forked.end(self._pid, self._pipe)


def _begun(
    ending: contextlib.ExitStack, source: NearSource, pages: Sequence[PageRef], directory: bytes, count: int
) -> list[_Reader | None]:
    """Return who reads each turn of `count`: nobody else where None, as for the first, and where no process began."""
    readers: list[_Reader | None] = [None] * count
    turns = [pages[begin : begin + _TURN] for begin in range(0, len(pages), _TURN)]
    with contextlib.suppress(OSError):
        for number in range(1, count):
            own = [page for turn in turns[number::count] for page in turn]
            readers[number] = reader = _Reader(source, own, directory)
            ending.callback(reader.end)
    return readers


def _live(pipe: int, source: ChunkSource, pages: Sequence[PageRef], directory: bytes) -> None:
    with os.fdopen(pipe, "wb") as to:
        for page in pages:
            try:
                message = _encoder.encode(show_page(source, page, directory))
            except EngineError:
                message = b""  # is met again by who tells it
            to.write(len(message).to_bytes(_LENGTH_BYTES) + message)
            to.flush()

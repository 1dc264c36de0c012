"""What the backends by OpenDAL share: connecting, reading ranges, sizes, listings in pages.

Owns how the library is called. Its blocking calls leave the interpreter to other threads, but for its blocking listing.
So that goes through a loop, as does all that is sent: there it can be given up when nothing moves. No configuration but
ours is read. Never tries again.
"""

import os
import secrets
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, BinaryIO, Final

from repositories.engine.errors import ObjectExistsError
from repositories.engine.fresh_files import remove_file
from repositories.engine.limits import MIB
from repositories.engine.storage.base import validate_name
from repositories.engine.storage.loops import BackgroundLoop
from repositories.engine.storage.moving import LONGEST_SECONDS, while_moving
from repositories.engine.storage.remote import Pace, RemoteStorage, require
from repositories.engine.storage.spoken import Spoken

if TYPE_CHECKING:
    from opendal import AsyncOperator, Operator
    from opendal.file import AsyncFile
    from opendal.types import Entry

_PIECE: Final = MIB
_HEADER: Final = 1024
_PAGE: Final = 1000
_CONTROL_SECONDS: Final = 30.0
_TRANSFER_SECONDS: Final = 60.0
_SMALL: Final = 256 * 1024
_LOOP: Final = BackgroundLoop("syncova-net")


class OpenDalStorage(RemoteStorage):
    """Objects below a root that the library's handle knows. Thread safe: the handle is."""

    def __init__(self, place: str, pace: Pace, scheme: str, options: dict[str, str], lacks: str = "") -> None:
        """Connect to nothing yet; `lacks` says which credentials are not given. Raises ExtraMissingError."""
        super().__init__(place, pace)
        self._lacks = lacks
        self._in_bucket = scheme == "s3"
        self._spoken = Spoken(place, "S3" if self._in_bucket else "WebDAV", self._answers_rightly)
        opendal = require("opendal", "s3" if scheme == "s3" else "webdav", scheme)
        with self._errors(""):
            limit = opendal.layers.TimeoutLayer(_CONTROL_SECONDS, _TRANSFER_SECONDS)
            bare = opendal.Operator(scheme, **options)
            self._operator: Operator = bare.layer(limit)
            self._unlimited: AsyncOperator = bare.to_async_operator()

    def put_file(self, name: str, path: str) -> None:
        """Store a file's content and remove it."""
        validate_name(name)
        with open(path, "rb") as file:
            self._put_open_file(name, file, os.fstat(file.fileno()).st_size)
        remove_file(path)

    def get(self, name: str, offset: int = 0, length: int | None = None) -> bytes:
        """Return a part of an object."""
        validate_name(name)
        if length == 0:
            self.size(name)
            return b""
        with self._errors(name):
            return self._read(name, offset, length)

    def size(self, name: str) -> int:
        """Return the object's size."""
        validate_name(name)
        with self._errors(name):
            return self._operator.stat(name).content_length

    def _put_open_file(self, name: str, file: BinaryIO, size: int) -> None:
        raise NotImplementedError

    def move(self, name: str, target: str) -> None:
        """Put an object under another name, then remove it under this one."""
        if self._is_there(target):
            raise ObjectExistsError(f"{target} is there already", hint="run check")
        super().move(name, target)

    def _is_there(self, name: str) -> bool:
        validate_name(name)
        with self._errors(name):
            return self._operator.exists(name)

    def _read(self, name: str, offset: int, length: int | None) -> bytes:
        """Read from `offset` on; less than `length` where the object ends before.

        A range that ends inside is asked for as one, since giving up a longer answer costs the connection. The library
        refuses one that does not; objects that are read from their beginning mostly are shorter than what is asked for.
        """
        # Imported with the library alone.
        from repositories.engine.storage.opendal_errors import ERRORS, has_reason, is_past_end

        if length is not None and (offset or length <= _HEADER):
            try:
                return self._operator.read(name, offset=offset, size=length)
            except ERRORS as error:
                if not is_past_end(error):
                    raise
        try:
            with self._operator.open(name, "rb", offset=offset) as file:
                return _read_up_to(file.read, length)
        except (*ERRORS, OSError) as error:
            if offset and is_past_end(error):
                return b""
            if not has_reason(error):
                # Files of the library tell less than its other calls: this one raises as well, and says why.
                self._operator.stat(name)
            raise

    def _write(self, name: str, data: bytes, **options: object) -> None:
        """Send an object in one request; a small one does not wait for others that move."""
        longest = 0.0 if len(data) <= _SMALL else LONGEST_SECONDS
        _LOOP.run(while_moving(_write_whole(self._unlimited, name, data, options), longest=longest))

    def _write_pieces(self, name: str, file: BinaryIO, **options: object) -> None:
        """Write a file's content piece by piece; an upload that fails is never completed.

        The handle is closed only when all is written: closing is what makes the object visible.
        """
        writer = _LOOP.run(while_moving(_open(self._unlimited, name, options)))
        try:
            while piece := file.read(_PIECE):
                self.pace(len(piece))
                _LOOP.run(while_moving(_send(writer, piece)))
            _LOOP.run(while_moving(_close(writer)))
        except OSError as error:
            if error.errno is None and not isinstance(error, TimeoutError):
                self._raise_cause_of(error, name)
            raise

    def _raise_cause_of(self, error: OSError, name: str) -> None:
        """Raise what says why there is no answer: files of the library tell less than its calls, of which one is made.

        Returns where the call goes through, or tells of something else than the connection.
        """
        # Imported with the library alone.
        from repositories.engine.storage.opendal_errors import ERRORS, has_reason, is_of_connection

        if has_reason(error):
            return
        try:
            self._operator.stat(name)
        except ERRORS as told:
            if is_of_connection(told):
                raise

    def _errors(self, name: str) -> AbstractContextManager[None]:
        # Imported with the library alone.
        from repositories.engine.storage.opendal_errors import opendal_errors

        return opendal_errors(name, self, self._spoken, in_bucket=self._in_bucket, lacks=self._lacks)

    def _answers_rightly(self) -> bool:
        """Ask for what cannot be there; tell whether the answer is one of the protocol, or may be one."""
        # Imported with the library alone.
        from repositories.engine.storage.opendal_errors import ERRORS, may_be_of_protocol

        nothing = f"config/{secrets.token_hex(16)}"
        with self._errors(""):
            try:
                if self._in_bucket:
                    self._operator.read(nothing, offset=0, size=1)
                else:
                    self._operator.stat(nothing)
            except ERRORS as error:
                return may_be_of_protocol(error, in_bucket=self._in_bucket)
        return False

    def _pages(self, path: str, **options: object) -> Iterator[list["Entry"]]:
        """Yield the entries of a listing in pages; that there are none is believed to the right server alone."""
        asked, is_empty = self._spoken.begin(), True
        for page in self._pages_as_told(path, options):
            if is_empty:
                self._spoken.heard()
                is_empty = False
            yield page
        if is_empty:
            self._spoken.require(asked)

    def _pages_as_told(self, path: str, options: dict[str, object]) -> Iterator[list["Entry"]]:
        with self._errors(""):
            entries = _LOOP.run(while_moving(_begin(self._unlimited, path, options)))
            while page := _LOOP.run(while_moving(_page_of(entries))):
                yield page


def _read_up_to(read: Callable[[int | None], bytes], length: int | None) -> bytes:
    if length is None:
        return read(None)
    parts, missing = [], length
    while missing and (part := read(missing)):
        parts.append(part)
        missing -= len(part)
    return b"".join(parts)


async def _write_whole(operator: "AsyncOperator", name: str, data: bytes, options: dict[str, object]) -> None:
    await operator.write(name, data, **options)  # type: ignore[arg-type]


async def _open(operator: "AsyncOperator", name: str, options: dict[str, object]) -> "AsyncFile":
    return await operator.open(name, "wb", **options)  # type: ignore[arg-type]


async def _send(writer: "AsyncFile", piece: bytes) -> None:
    await writer.write(piece)


async def _close(writer: "AsyncFile") -> None:
    await writer.close()


async def _begin(operator: "AsyncOperator", path: str, options: dict[str, object]) -> "AsyncIterator[Entry]":
    listing = await operator.list(path, **options)  # type: ignore[arg-type]
    return aiter(listing)


async def _page_of(entries: "AsyncIterator[Entry]") -> list["Entry"]:
    page: list[Entry] = []
    async for entry in entries:
        page.append(entry)
        if len(page) == _PAGE:
            break
    return page

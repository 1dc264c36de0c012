"""The operation `content`: the bytes of one regular file of a backup, into a pipe that the parent has opened.

Owns the pipe's end. The parent is told how much comes before the first byte does; a pipe that ends before that, or
without the last event `finished`, has not carried the whole file.
"""

import os
from typing import Any

from repositories.engine.browse.contents import Data
from repositories.engine.browse.dump import dump_file, dumped_object
from repositories.engine.errors import ConfigurationError, OperationCancelledError
from repositories.engine.manifest.entries import EntryType
from repositories.engine.manifest.entry_reader import read_entry
from repositories.engine.process.channel import Channel
from repositories.engine.process.describe import entry_type_name
from repositories.engine.process.look_operation import begin_look
from repositories.engine.process.paths import inner_path
from repositories.engine.process.protocol import ContentBegins
from repositories.engine.process.requests import LookOrder, Request


def write_content(request: Request, channel: Channel) -> dict[str, Any]:
    """Put out the file, or the part of it that is asked for; `missing` or `other_type` says that there is none.

    `beyond`, its size, says that it ends before that part.

    Raises IntegrityError where it is not whole, OperationCancelledError where nobody takes it.
    """
    order, repository, backup = begin_look(request, channel)
    if order.descriptor is None:
        raise ConfigurationError("there is no pipe to put the content in", hint="this is a defect of the caller")
    try:
        path = inner_path(order.path, backup.root.source.id)
    except ConfigurationError as error:
        return {"missing": error.message}
    source = repository.reader()
    if path and read_entry(source, backup.root.pages, path) is None:
        return {"missing": "it is not in the backup"}
    path, entry = dumped_object(source, backup, path)
    if entry is None or entry.type != EntryType.FILE:
        return {"other_type": "directory" if entry is None else entry_type_name(entry)}
    span = _span(order, entry.size)
    if not span and (order.first, order.last) != (None, None):
        return {"beyond": entry.size}
    with repository.begin_read():
        channel.send(ContentBegins(size=entry.size, first=span.start, count=span.stop - span.start))
        pipe = order.descriptor

        def emit(data: Data) -> None:
            if channel.cancelled():
                raise OperationCancelledError("nobody takes the content any more", hint="ask again")
            _write(pipe, data)

        return {"bytes": dump_file(source, path, entry, emit, span).written}


def _span(order: LookOrder, size: int) -> range:
    """Return the bytes that are asked for, as far as they are there; empty where none are."""
    if order.first is None:
        return range(0 if order.last is None else max(0, size - order.last), size)
    end = size if order.last is None else min(order.last + 1, size)
    return range(min(order.first, end), end)


def _write(pipe: int, data: Data) -> None:
    rest = memoryview(data)
    while rest:
        try:
            rest = rest[os.write(pipe, rest) :]
        except BrokenPipeError:
            raise OperationCancelledError("nobody takes the content any more", hint="ask again") from None

"""The operations that look into one backup: `browse`, a directory of it, and `find`, what a pattern fits in it.

Own how much of it one answer holds: as many entries as the order says, and not more bytes. Whoever wants the rest asks
again after the last one. Nothing is written but the session that keeps a prune away while `find` reads.
"""

import base64
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from repositories.engine.browse.criteria import Criteria
from repositories.engine.browse.finding import Search
from repositories.engine.display import show_text
from repositories.engine.errors import BackupNotFoundError, ConfigurationError, OperationCancelledError
from repositories.engine.ids import ChunkKind
from repositories.engine.manifest.backups import Backup
from repositories.engine.manifest.chunks import ChunkSource
from repositories.engine.manifest.entries import Entry
from repositories.engine.manifest.entry_reader import read_directory, read_entry
from repositories.engine.manifest.order import directory_key, join, split
from repositories.engine.process.channel import Channel
from repositories.engine.process.describe import entry_fields
from repositories.engine.process.introduction import introduce_reader
from repositories.engine.process.paths import inner_path
from repositories.engine.process.requests import LookOrder, Request
from repositories.engine.process.what_is_left import choose_backup
from repositories.engine.repository import Repository

Entries = Iterator[tuple[bytes, Entry]]


class _Interruptible:
    """Reads pages until nobody waits for what is in them any more."""

    def __init__(self, source: ChunkSource, channel: Channel) -> None:
        self._source = source
        self._channel = channel

    def read(self, kind: ChunkKind, chunk_id: bytes) -> bytes:
        """Return the chunk; raises OperationCancelledError, and what the source raises."""
        if self._channel.cancelled():
            raise OperationCancelledError("nobody waits for the answer any more", hint="ask again")
        return self._source.read(kind, chunk_id)


def browse_directory(request: Request, channel: Channel) -> dict[str, Any]:
    """Tell what a directory holds, in name order, or the one object at the path; `missing`: it is not in the backup."""
    order, repository, backup = begin_look(request, channel)
    try:
        path = inner_path(order.path, backup.root.source.id)
    except ConfigurationError as error:
        return {"missing": error.message}
    source, pages = _Interruptible(repository.reader(), channel), backup.root.pages
    # An empty directory and a missing one must not look alike.
    named = read_entry(source, pages, path) if path else None
    if path and named is None:
        return {"missing": "it is not in the backup"}
    if named is not None and not named.is_directory:
        entries: Entries = iter([(path, named)])
    else:
        entries = ((join(path, each.name), each) for each in read_directory(source, pages, path, after=order.after))
    return {"is_directory": named is None or named.is_directory, **_page(entries, order, lambda each: split(each)[1])}


def find_entries(request: Request, channel: Channel) -> dict[str, Any]:
    """Tell which paths the pattern fits, in the order of the backup.

    `unread` counts the entries that lay in damaged pages; of an answer with `next_base64` it is no more than so far.
    """
    order, repository, backup = begin_look(request, channel)
    wanted = Criteria(patterns=(order.pattern,), ignore_case=order.ignore_case)
    search = Search(_Interruptible(repository.reader(), channel), [backup], wanted)
    with repository.begin_read():
        found: Entries = ((each.path, each.versions[0].entry) for each in search.results())
        if order.after:
            found = itertools.dropwhile(lambda each: _key(each[0]) <= _key(order.after), found)
        page = _page(found, order, lambda each: each)
    return {**page, "unread": sum(count for _, count in search.unread)}


def begin_look(request: Request, channel: Channel) -> tuple[LookOrder, Repository, Backup]:
    """Open the repository and return the order, and the backup that it names.

    Raises BackupNotFoundError also for another repository in the place of the one that is remembered.
    """
    order = request.look
    if order is None:
        raise ConfigurationError("to look into a backup needs an order", hint="this is a defect of the caller")
    repository = introduce_reader(request, channel)
    expected = request.repository.remembered.repository_id if request.repository.remembered else ""
    if expected and expected != repository.id:
        raise BackupNotFoundError(
            f"the repository is {repository.id}, not {show_text(expected)}: its backups are others",
            hint="see whether the directory was swapped",
        )
    return order, repository, choose_backup(repository, order.manifest_id)


def _page(entries: Entries, order: LookOrder, place: Callable[[bytes], bytes]) -> dict[str, Any]:
    """Return the entries of one answer, and what the next one begins after, null at the end."""
    shown: list[dict[str, Any]] = []
    room, last = order.most_bytes, b""
    for path, entry in entries:
        fields = entry_fields(path, entry)
        room -= len(msgspec.json.encode(fields))
        if shown and (len(shown) >= order.limit or room < 0):
            return {"entries": shown, "next_base64": base64.b64encode(last).decode("ascii")}
        shown.append(fields)
        last = place(path)
    return {"entries": shown, "next_base64": None}


def _key(path: bytes) -> tuple[bytes, bytes]:
    directory, name = split(path)
    return directory_key(directory), name

"""Backups made by hand: what no file system of a test gives, and what only a later version would write."""

import hashlib

import msgspec

from repositories.engine.ids import ChunkKind
from repositories.engine.manifest.entries import Entry, EntryType, StreamRef, Xattr, encode
from repositories.engine.manifest.problems import ProblemCount, ProblemKind, ProblemRecord, Severity
from repositories.engine.manifest.root import BackupRoot, LineageRecord, OriginRecord, SourceRecord, Statistics
from repositories.engine.manifest.streams import StreamWriter, put_value
from repositories.engine.repository import Repository, WriteSession

PARTS = 8000
LONG_VALUE = hashlib.shake_128(b"value").digest(700_000)
PROBLEMS = 2500
FUTURE = "of a later version"


def commit_made(repository: Repository, backup_id: str, *, future: bool = False) -> None:
    """Commit a backup of three entries; with `future` each of its records has a field that nobody knows yet."""
    with repository.begin_write() as session:
        session.commit(_root(session, backup_id, future=future), lambda: None)


def _root(session: WriteSession, backup_id: str, *, future: bool) -> bytes:
    root = BackupRoot(
        backup_id,
        SourceRecord("made", "filesystem", b"/made", "host"),
        OriginRecord("run", "manual", tags=("a",)),
        LineageRecord(1, backup_id, "full"),
        1,
        2,
        Statistics(3, 0, 0, 0, 0, 0, 0, 0, 0, PROBLEMS, 0, 0),
        _pages(session, future=future),
        None,
        _problems(session),
        (ProblemCount(Severity.SKIPPED, ProblemKind.PERMISSION, PROBLEMS),),
    )
    if not future:
        return encode(root)
    fields = msgspec.msgpack.decode(encode(root))
    fields[3].append(FUTURE)
    return encode([*fields, FUTURE])


def _pages(session: WriteSession, *, future: bool) -> StreamRef:
    entries = [msgspec.msgpack.decode(encode(each)) for each in _entries(session)]
    page: list[object] = [0, [[0, b"", entries]]]
    if future:
        for each in entries:
            each.append(FUTURE)
        entries[1][12][0].append(FUTURE)
        entries[2][11].append(FUTURE)
        page[1][0].append(FUTURE)  # type: ignore[index]
        page.append(FUTURE)
    top, _ = session.put(ChunkKind.PAGE, encode(page))
    return StreamRef(top, 0, len(entries), 0)


def _entries(session: WriteSession) -> list[Entry]:
    small, _ = session.put(ChunkKind.DATA, b"small content")
    value = put_value(session, LONG_VALUE)
    return [
        _file(b"a", 13 + 1000, extents=(small, 1000)),
        _file(b"b", 13, extents=(small,), xattrs=(Xattr(b"user.long", None, value), Xattr(b"user.short", b"x"))),
        _file(b"c", PARTS * 110, stream=_content(session)),
    ]


def _content(session: WriteSession) -> StreamRef | None:
    """Return a stream of more than one page: chunks and holes in turn."""
    writer = StreamWriter(session)
    for number in range(PARTS):
        chunk, _ = session.put(ChunkKind.DATA, b"%010d" % (number % 50))
        writer.add_extent(10, chunk)
        writer.add_extent(100, None)
    return writer.finish()


def _problems(session: WriteSession) -> StreamRef | None:
    writer = StreamWriter(session)
    for number in range(PROBLEMS):
        writer.add(ProblemRecord(Severity.SKIPPED, ProblemKind.PERMISSION, b"path %d" % number, "Permission denied"))
    return writer.finish()


def _file(name: bytes, size: int, **content: object) -> Entry:
    return Entry(EntryType.FILE, name, 0o100644, 0, 0, size, 5, 6, 7, **content)  # type: ignore[arg-type]

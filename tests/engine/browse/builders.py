"""Backups that were never files: trees of made-up entries, and a reader that counts what is read."""

from collections.abc import Mapping
from typing import Any

from repositories.engine.ids import ChunkKind
from repositories.engine.manifest.backups import Backup, list_backups
from repositories.engine.manifest.entries import Entry, EntryType, encode
from repositories.engine.manifest.entry_writer import EntryWriter
from repositories.engine.manifest.order import directory_key, split
from repositories.engine.manifest.root import (
    BackupRoot,
    LineageRecord,
    OriginRecord,
    SourceRecord,
    Statistics,
    encode_root,
)
from repositories.engine.reader import ChunkReader
from repositories.engine.repository import Repository
from repositories.engine.storage.memory import MemoryStorage

Paths = Mapping[bytes, Entry]


def made_up(name: bytes, kind: EntryType = EntryType.FILE, **fields: Any) -> Entry:
    """Return an entry; a file is one hole of its size."""
    values: dict[str, Any] = {"mode": 0o100644, "uid": 0, "gid": 0, "size": 0, "mtime": 1, "ctime": 1, "inode": 1}
    if kind == EntryType.DIRECTORY:
        values["mode"] = 0o040755
    values |= fields
    if values["size"] and kind == EntryType.FILE:
        values.setdefault("extents", (values["size"],))
    return Entry(type=kind, name=name, **values)


def make_backup(
    repository: Repository, paths: Paths, *, name: str = "tree", place: bytes = b"/tree", top: Entry | None = None
) -> Backup:
    """Commit a backup of these entries, by path; directories must be among them. Return it."""
    sequence = len(repository.backups()) + 1
    with repository.begin_write() as session:
        writer = EntryWriter(session)
        directory: bytes | None = None
        for path in sorted(paths, key=lambda path: (directory_key(split(path)[0]), split(path)[1])):
            above, own = split(path)
            if above != directory:
                directory = above
                writer.open_directory(above)
            writer.add(own, encode(paths[path]))
        root = BackupRoot(
            backup_id=f"run-{sequence}",
            source=SourceRecord(name, "filesystem", place, "host"),
            origin=OriginRecord("", "external"),
            lineage=LineageRecord(sequence, "run-1", "full"),
            started_ns=1,
            finished_ns=2,
            statistics=Statistics(len(paths), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
            pages=writer.finish(),
            top_entry=top or made_up(b".", EntryType.DIRECTORY),
        )
        session.commit(encode_root(root), lambda: None)
    return list_backups(repository)[-1]


def wide(directories: int, files: int) -> dict[bytes, Entry]:
    """Return a tree of `directories` with `files` each: enough of them fill several pages."""
    paths: dict[bytes, Entry] = {}
    for number in range(directories):
        above = b"d%04d" % number
        paths[above] = made_up(above, EntryType.DIRECTORY)
        for each in range(files):
            name = b"file %05d of a long enough name" % each
            paths[above + b"/" + name] = made_up(name, size=each, inode=number * files + each)
    return paths


class CountingChunks:
    """A reader that remembers which pages were read."""

    def __init__(self, reader: ChunkReader) -> None:
        self.pages: list[bytes] = []
        self._reader = reader

    def read(self, kind: ChunkKind, chunk_id: bytes) -> bytes:
        if kind is ChunkKind.PAGE:
            self.pages.append(chunk_id)
        return self._reader.read(kind, chunk_id)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._reader, name)


def hurt_chunk(repository: Repository, storage: MemoryStorage, kind: ChunkKind, chunk_id: bytes) -> None:
    """Damage the block that holds a chunk."""
    place = repository.reader().locate(kind, chunk_id)
    assert place is not None
    name = f"packs/{place.pack.hex()[:2]}/{place.pack.hex()}"
    data = bytearray(storage.objects[name])
    middle = place.place.record.offset + place.place.record.length // 2
    data[middle : middle + 8] = b"\xa5" * 8
    storage.objects[name] = bytes(data)

"""Writes, with the keys, whatever it is told to: all of it authenticates, none of it need make sense."""

from collections.abc import Sequence
from typing import Any

import msgspec

from repositories.engine.format.commits import ManifestRecord
from repositories.engine.format.kinds import ObjectKind
from repositories.engine.format.records import encode
from repositories.engine.ids import ChunkKind
from repositories.engine.manifest.entries import StreamRef
from repositories.engine.repository import Repository
from repositories.engine.storage.base import Storage
from tests.engine.hostile.packing import pack
from tests.engine.hostile.samples import NOW, sample_root
from tests.engine.repositories import make_repository

FILE, DIRECTORY, LINK, FIFO, CHARACTER_DEVICE, BLOCK_DEVICE = range(1, 7)
_FIELDS = (
    "type", "name", "mode", "uid", "gid", "size", "mtime", "ctime", "inode", "flags",
    "extents", "stream", "xattrs", "target", "link_group", "device",
)  # fmt: skip
_USUAL: dict[str, Any] = {
    "mode": 0o644,
    "uid": 0,
    "gid": 0,
    "size": 0,
    "mtime": NOW,
    "ctime": NOW,
    "inode": 1,
    "flags": 0,
}
_ROOT_FIELDS = (
    "backup_id",
    "source",
    "origin",
    "lineage",
    "started",
    "finished",
    "statistics",
    "pages",
    "top",
    "problems",
    "counts",
)

Groups = Sequence[tuple[bytes, Sequence[Any]]]


def item(name: Any, kind: Any = FILE, **fields: Any) -> list[Any]:
    """Return an entry as a list of fields; any of them may be anything that `pack` takes."""
    values = {**_USUAL, "type": kind, "name": name, **fields}
    return [values.get(field) for field in _FIELDS]


def hole(name: bytes, size: int = 3, **fields: Any) -> list[Any]:
    """Return a file of one hole."""
    return item(name, size=size, extents=[size], **fields)


class Evil:
    """One repository that is written to by hand."""

    def __init__(self, storage: Storage | None = None) -> None:
        self.repository: Repository = make_repository(storage)

    def put(self, *chunks: tuple[ChunkKind, bytes]) -> list[bytes]:
        """Store chunks; return their ids."""
        with self.repository.begin_write() as session:
            ids = [session.put(kind, data)[0] for kind, data in chunks]
            session.flush()
        return ids

    def page(self, level: Any, body: Any, kind: ChunkKind = ChunkKind.PAGE) -> bytes:
        """Store one page; return its id."""
        return self.put((kind, pack([level, body])))[0]

    def leaf(self, groups: Groups) -> list[Any]:
        """Store a leaf; return the reference to it as the top of a manifest."""
        body = [[0, directory, list(entries)] for directory, entries in groups]
        return [self.page(0, body), 0, sum(len(entries) for _, entries in groups), 0]

    def tree(self, groups: Groups) -> None:
        """Commit a backup of these groups, all in one page."""
        self.commit(pages=self.leaf(groups))

    def commit(self, **fields: Any) -> None:
        """Commit a root with some of its fields changed."""
        values = dict(
            zip(_ROOT_FIELDS, msgspec.msgpack.decode(encode(sample_root(StreamRef(bytes(32), 0, 1, 0)))), strict=True)
        )
        self.commit_bytes(pack([*(values | {"problems": None} | fields).values()]))

    def commit_bytes(self, root: bytes) -> None:
        """Commit bytes as a root, which no session would."""
        record = ManifestRecord(0, NOW, 1, bytes(16), root)
        self.repository.store.put(ObjectKind.MANIFEST, encode(record))

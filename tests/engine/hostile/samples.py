"""A small backup in its parts: root, entries, pages and streams as a writer makes them."""

from dataclasses import dataclass

import msgspec

from repositories.engine.manifest.entries import Entry, EntryType, Extended, StreamRef, Xattr, encode
from repositories.engine.manifest.pages import Group, PageRef, encode_leaf, encode_list, encode_records
from repositories.engine.manifest.problems import ProblemCount, ProblemRecord
from repositories.engine.manifest.root import (
    BackupRoot,
    LineageRecord,
    OriginRecord,
    SourceRecord,
    Statistics,
    encode_root,
)

NOW = 1_700_000_000_000_000_000
_ID = bytes(range(32))


@dataclass(frozen=True)
class SampleBackup:
    """Encodings, each of which a reader accepts."""

    root: bytes
    entries: tuple[Entry, ...]
    leaves: tuple[bytes, ...]
    lists: tuple[bytes, ...]
    extents: tuple[bytes, ...]
    problems: tuple[bytes, ...]


def entry(name: bytes, kind: int = EntryType.FILE, **fields: object) -> Entry:
    """Return an entry of mode 0644, owned by root, from 2023."""
    values: dict[str, object] = {
        "mode": 0o644, "uid": 0, "gid": 0, "size": 0, "mtime": NOW, "ctime": NOW, "inode": 1,
    }  # fmt: skip
    return Entry(type=kind, name=name, **(values | fields))  # type: ignore[arg-type]


def sample_backup() -> SampleBackup:
    """Return one of each."""
    entries = (
        entry(b"big", size=10_000, stream=StreamRef(_ID, 1, 3, 10_000)),
        entry(b"directory", EntryType.DIRECTORY, xattrs=(Xattr(b"user.a", b"b"), Xattr(b"user.c", None, (_ID,)))),
        entry(b"link", EntryType.LINK, target=b"../x", size=4, link_group=(1, 7)),
        entry(b"null", EntryType.CHARACTER_DEVICE, device=(1, 3)),
        entry(b"old", size=9_000, extents=(_ID, 4096, _ID), mtime=(-(2**70)).to_bytes(16, "big", signed=True)),
    )
    raws = [msgspec.Raw(encode(each)) for each in entries]
    leaves = (
        encode_leaf([Group(0, b"", raws[:3]), Group(0, b"directory", raws[1:3])]),
        encode_leaf([Group(0, b"some/where", raws)]),
    )
    lists = (encode_list(1, [PageRef(_ID, 2, 0, b"", b"big"), PageRef(_ID[::-1], 1, 0, b"directory", b"link")]),)
    extents = [Extended(4096, None), Extended(5000, _ID), Extended(904, None)]
    problems = [ProblemRecord(1, "permission", b"a/b", "denied"), ProblemRecord(2, "attribute", b"c", "")]
    return SampleBackup(
        encode_root(sample_root(StreamRef(_ID, 1, 3, 0))),
        entries,
        leaves,
        lists,
        (encode_records([msgspec.Raw(encode(each)) for each in extents]),),
        (encode_records([msgspec.Raw(encode(each)) for each in problems]),),
    )


def sample_root(
    pages: StreamRef | None, *, top: Entry | None = None, problems: StreamRef | None = None, name: str = "tree"
) -> BackupRoot:
    """Return the root of a backup of these pages."""
    return BackupRoot(
        backup_id="run-0190a0b0-sample",
        source=SourceRecord(name, "filesystem", b"/srv/tree", "host"),
        origin=OriginRecord("run", "manual", NOW, 4, ("tag",), ("*.tmp",)),
        lineage=LineageRecord(3, "chain", "incremental", "parent", bytes(16), (bytes(16),), 1),
        started_ns=NOW,
        finished_ns=NOW + 1,
        statistics=Statistics(1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0),
        pages=pages,
        top_entry=top or entry(b"root", EntryType.DIRECTORY),
        problems=problems,
        problem_counts=(ProblemCount(1, "permission", 1),),
    )

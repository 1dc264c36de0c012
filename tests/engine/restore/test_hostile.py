"""Manifests that someone tampered with: nothing outside the target, bounded memory, exit 13."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from repositories.engine.errors import EngineError, IntegrityError
from repositories.engine.ids import ChunkKind
from repositories.engine.manifest.backups import find_backup
from repositories.engine.manifest.entries import Entry, EntryType, StreamRef, encode
from repositories.engine.manifest.pages import Group, PageRef, encode_leaf, encode_list
from repositories.engine.manifest.root import (
    BackupRoot,
    LineageRecord,
    OriginRecord,
    SourceRecord,
    Statistics,
    encode_root,
)
from repositories.engine.manifest.streams import StreamWriter
from repositories.engine.repository import Repository, WriteSession
from repositories.engine.restore import Overwrite
from tests.engine.repositories import make_repository, restore_latest

Tree = Sequence[tuple[bytes, Sequence[Entry]]]


def entry(name: bytes, kind: EntryType = EntryType.FILE, **fields: Any) -> Entry:
    values: dict[str, Any] = {"mode": 0o777, "uid": 0, "gid": 0, "size": 0, "mtime": 1, "ctime": 1, "inode": 1}
    return Entry(type=kind, name=name, **(values | fields))


def commit(session: WriteSession, pages: StreamRef | None, top: Entry | None = None) -> None:
    root = BackupRoot(
        backup_id="run-evil",
        source=SourceRecord("tree", "filesystem", b"/tree", "host"),
        origin=OriginRecord("", "external"),
        lineage=LineageRecord(1, "run-evil", "full"),
        started_ns=1,
        finished_ns=2,
        statistics=Statistics(1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0),
        pages=pages,
        top_entry=top,
    )
    session.commit(encode_root(root), lambda: None)


def hostile(tree: Tree) -> Repository:
    repository = make_repository()
    with repository.begin_write() as session:
        groups = [Group(0, directory, [msgspec.Raw(encode(each)) for each in entries]) for directory, entries in tree]
        # Groups must share nothing that the one before does not have: 0 always works.
        page, _ = session.put(ChunkKind.PAGE, encode_leaf(groups))
        commit(session, StreamRef(page, 0, sum(len(entries) for _, entries in tree), 0))
    return repository


def link(name: bytes, target: bytes) -> Entry:
    return entry(name, EntryType.LINK, target=target)


HOLE: dict[str, Any] = {"size": 3, "extents": (3,)}
ATTACKS: dict[str, Tree] = {
    "parent as a name": [(b"", [entry(b"..", **HOLE)])],
    "parent as a directory": [(b"", [entry(b"..", EntryType.DIRECTORY)]), (b"..", [entry(b"escaped", **HOLE)])],
    "path as a name": [(b"", [entry(b"../escaped", **HOLE)])],
    "absolute name": [(b"", [entry(b"/tmp/escaped", **HOLE)])],
    "parent within a directory": [(b"", [entry(b"a", EntryType.DIRECTORY)]), (b"a/../..", [entry(b"escaped", **HOLE)])],
    "absolute directory": [(b"/", [entry(b"escaped", **HOLE)])],
    "link as a parent": [(b"", [link(b"a", b"..")]), (b"a", [entry(b"escaped", **HOLE)])],
    "link as a grandparent": [
        (b"", [link(b"a", b"..")]),
        (b"a/outside", [entry(b"escaped", **HOLE)]),
    ],
    "link and directory of one name": [
        (b"", [link(b"a", b".."), entry(b"a", EntryType.DIRECTORY)]),
        (b"a", [entry(b"escaped", **HOLE)]),
    ],
    "hard link through a link": [
        (b"", [link(b"a", b"../outside"), entry(b"b", link_group=(0, 1), **HOLE)]),
        (b"a", [entry(b"escaped", link_group=(0, 1), **HOLE)]),
    ],
    "nul in a name": [(b"", [entry(b"x\0y", **HOLE)])],
    "a type that is not known": [(b"", [entry(b"x", 99)])],  # type: ignore[arg-type]
    "a link without target": [(b"", [entry(b"x", EntryType.LINK)])],
    "a device without number": [(b"", [entry(b"x", EntryType.BLOCK_DEVICE)])],
    "a directory nobody made": [(b"ghost", [entry(b"x", **HOLE)])],
    "content longer than its size": [(b"", [entry(b"x", size=1, extents=(100,))])],
    "content shorter than its size": [(b"", [entry(b"x", size=100, extents=(1,))])],
    "a negative hole": [(b"", [entry(b"x", size=1, extents=(-5, 6))])],
    "content that is nowhere": [(b"", [entry(b"x", size=5, extents=(b"\1" * 32,))])],
    "a chunk id that is none": [(b"", [entry(b"x", size=5, extents=(b"short",))])],
    "a stream that is nowhere": [(b"", [entry(b"x", size=5, stream=StreamRef(b"\1" * 32, 0, 1, 5))])],
    "a stream of endless levels": [(b"", [entry(b"x", size=5, stream=StreamRef(b"\1" * 32, 2**40, 1, 5))])],
}


@pytest.mark.parametrize("attack", ATTACKS)
@pytest.mark.parametrize("overwrite", [Overwrite.NEVER, Overwrite.ALWAYS])
def test_nothing_lands_outside_and_the_restore_says_damaged(attack: str, overwrite: Overwrite, tmp_path: Path) -> None:
    """engine.md 1.8; 2.12."""
    (tmp_path / "outside").mkdir()
    repository = hostile(ATTACKS[attack])
    code = 0
    try:
        result = restore_latest(repository, tmp_path / "out", overwrite=overwrite, verify=True)
        code = result.exit_code
    except EngineError as error:
        code = error.exit_code
    assert code == 13
    assert sorted(os.listdir(tmp_path)) in (["out", "outside"], ["outside"])
    assert os.listdir(tmp_path / "outside") == []
    assert not Path("/tmp/escaped").exists()
    assert not Path("/escaped").exists()


def test_huge_declared_sizes_cost_nothing(tmp_path: Path) -> None:
    """A hole of 2^60 bytes is refused by the file system or is sparse; memory stays small either way."""
    repository = hostile([(b"", [entry(b"big", size=2**60, extents=(2**60,)), entry(b"ok", **HOLE)])])
    result = restore_latest(repository, tmp_path / "out")
    assert (tmp_path / "out" / "ok").read_bytes() == bytes(3)
    assert result.failed + result.files == 2


def test_lists_of_pages_that_name_themselves_end(tmp_path: Path) -> None:
    """An id is a keyed hash, so a cycle cannot be made; a list of another level, or the same page twice, can."""
    repository = make_repository()
    with repository.begin_write() as session:
        leaf, _ = session.put(ChunkKind.PAGE, encode_leaf([Group(0, b"", [msgspec.Raw(encode(entry(b"x")))])]))
        page = leaf
        for level in range(1, 40):
            page, _ = session.put(ChunkKind.PAGE, encode_list(level, [PageRef(page, 1, 0, b"", b"x")] * 2))
        commit(session, StreamRef(page, 39, 2**39, 0))
    with pytest.raises(IntegrityError):
        restore_latest(repository, tmp_path / "out")


def test_a_stream_that_unfolds_without_end_is_cut_at_the_entrys_size(tmp_path: Path) -> None:
    """One small page referred to twice on each of 60 levels stands for 2^60 records."""
    repository = make_repository()
    with repository.begin_write() as session:
        writer = StreamWriter(session)
        writer.add_extent(1, None)
        bottom = writer.finish()
        assert bottom is not None
        page, count = bottom.id, 1
        for level in range(1, 61):
            page, _ = session.put(ChunkKind.STREAM, encode_list(level, [PageRef(page, count, count)] * 2))
            count *= 2
        bomb = entry(b"x", size=10, stream=StreamRef(page, 60, count, 10))
        leaf, _ = session.put(ChunkKind.PAGE, encode_leaf([Group(0, b"", [msgspec.Raw(encode(bomb))])]))
        commit(session, StreamRef(leaf, 0, 1, 0))
    result = restore_latest(repository, tmp_path / "out")
    assert result.damaged_paths == [b"x"]


def test_a_source_whose_root_is_no_directory_is_laid_aside() -> None:
    repository = make_repository()
    with repository.begin_write() as session:
        commit(session, None, top=link(b".", b"/etc"))
    with pytest.raises(IntegrityError, match="1 manifest cannot be read"):
        find_backup(repository, "latest")

"""An origin that somebody with its keys has made up: the target takes in what is proven alone (2.12, 3.6)."""

from collections.abc import Callable
from typing import Any

import pytest

from repositories.engine.backup.options import Hooks
from repositories.engine.check import CheckRequest, check
from repositories.engine.copying import CopyReport
from repositories.engine.errors import EngineError
from repositories.engine.ids import ChunkKind
from repositories.engine.limits import MAX_ROOT
from repositories.engine.manifest.backups import list_backups
from repositories.engine.packs.table import encode_table
from repositories.engine.repository import Repository
from tests.engine.copying.builders import copy, target_for
from tests.engine.copying.small import contents, opened
from tests.engine.hostile.evil import DIRECTORY, Evil, item
from tests.engine.hostile.fuzzing import limit_memory, limited_time
from tests.engine.hostile.test_packs import BLOCKS, CONTENT, FRAMES, RECORDS, TABLE, forge_block, packs_of, reindex
from tests.engine.hostile.test_packs import with_one_file as one_file
from tests.engine.users import in_a_child

RELATION = pytest.mark.parametrize("related", [True, False], ids=["related", "unrelated"])
OTHER = b"what another backup of the target holds" * 10


def ended(evil: Evil, target: Repository) -> CopyReport | None:
    """Copy; return the report, None for a typed error. Whatever the target lists then is whole."""
    try:
        report = copy(evil.repository, target)
    except EngineError:
        report = None
    assert check(target, CheckRequest(read_data=True), Hooks()).problems == []
    for backup in list_backups(target):
        contents(target, backup)
    return report


def bounded(run: Callable[[], None]) -> None:
    """Run in a child with a bound on memory and time."""

    def limited() -> None:
        limit_memory()
        with limited_time():
            run()

    in_a_child(limited)


@RELATION
def test_an_index_that_lies(related: bool) -> None:
    """All lies about packs, in one child: refused, or the packs' directories tell better and the copy is right."""

    def run() -> None:
        for change in RECORDS.values():
            evil = one_file()
            packs = packs_of(evil.repository)
            change(packs[0])
            reindex(evil.repository, packs)
            target = target_for(evil.repository, related=related)
            report = ended(evil, target)
            assert report is None or len(report.copied) + len(report.failed) == 1

    bounded(run)


@RELATION
def test_blocks_that_are_bombs_or_other_content(related: bool) -> None:
    def run() -> None:
        for build in FRAMES.values():
            evil = one_file()
            forge_block(evil, build)
            target = target_for(evil.repository, related=related)
            report = ended(evil, target)
            assert report is not None
            assert (len(report.failed), report.copied) == (1, [])
            assert list_backups(target) == []

    bounded(run)


def tree_of(evil: Evil, *entries: Any) -> None:
    evil.tree([(b"", list(entries))])


def a_size_that_is_none_of_its_chunks(evil: Evil, chunk: bytes) -> None:
    tree_of(evil, item(b"x", size=len(CONTENT) + 1, extents=[chunk]))


def a_chunk_of_another_kind(evil: Evil, chunk: bytes) -> None:
    del chunk
    (stream,) = evil.put((ChunkKind.STREAM, CONTENT))
    tree_of(evil, item(b"x", size=len(CONTENT), extents=[stream]))


def a_chunk_that_is_nowhere(evil: Evil, chunk: bytes) -> None:
    tree_of(evil, item(b"x", size=len(CONTENT) * 2, extents=[chunk, bytes(32)]))


def a_page_that_is_content(evil: Evil, chunk: bytes) -> None:
    evil.commit(pages=[chunk, 0, 1, 0])


def more_entries_than_there_are(evil: Evil, chunk: bytes) -> None:
    page = evil.leaf([(b"", [item(b"x", size=len(CONTENT), extents=[chunk])])])
    evil.commit(pages=[page[0], 0, 2**40, 0])


def levels_without_end(evil: Evil, chunk: bytes) -> None:
    del chunk
    page, level = evil.leaf([(b"", [item(b"x", DIRECTORY)])])[0], 0
    for level in range(1, 70):
        page = evil.page(level, [[page, 1, 0, b"", b"x"]])
    evil.commit(pages=[page, level, 1, 0])


def a_page_ten_thousand_times(evil: Evil, chunk: bytes) -> None:
    del chunk
    leaf = evil.leaf([(b"", [item(b"x", DIRECTORY)])])[0]
    page = evil.page(1, [[leaf, 1, 0, b"", b"x"]] * 10_000)
    evil.commit(pages=[page, 1, 10_000, 0])


def a_stream_of_another_length(evil: Evil, chunk: bytes) -> None:
    stream = evil.page(0, [[len(CONTENT) + 5, chunk]], ChunkKind.STREAM)
    tree_of(evil, item(b"x", size=len(CONTENT) + 5, stream=[stream, 0, 1, len(CONTENT) + 5]))


MANIFESTS = [
    a_size_that_is_none_of_its_chunks,
    a_chunk_of_another_kind,
    a_chunk_that_is_nowhere,
    a_page_that_is_content,
    more_entries_than_there_are,
    levels_without_end,
    a_page_ten_thousand_times,
    a_stream_of_another_length,
]


@RELATION
@pytest.mark.parametrize("lie", MANIFESTS)
def test_a_manifest_that_lies(lie: Callable[[Evil, bytes], None], related: bool) -> None:
    """It is left out and named; an honest one beside it is copied."""
    evil = one_file()
    (chunk,) = evil.put((ChunkKind.DATA, CONTENT))
    lie(evil, chunk)
    target = target_for(evil.repository, related=related)
    report = ended(evil, target)
    assert report is not None
    assert (report.exit_code, len(report.copied)) == (13, 1)
    assert len(report.failed) + len(report.damaged_manifests) == 1
    assert len(list_backups(target)) == 1


@pytest.mark.parametrize("kind", [ChunkKind.DATA, ChunkKind.STREAM], ids=["another length", "another kind"])
def test_lies_about_what_the_target_has(kind: ChunkKind) -> None:
    """It is not read again: what the origin says of it must be what the target knows."""
    evil = Evil()
    target = target_for(evil.repository, related=True)
    with target.begin_write() as session:
        chunk, _ = session.put(kind, CONTENT)
        session.flush()
    claimed = len(CONTENT) + (7 if kind is ChunkKind.DATA else 0)
    (other,) = evil.put((ChunkKind.DATA, OTHER))
    packs = packs_of(evil.repository)
    packs[0][BLOCKS][0][TABLE] = encode_table(bytes([ChunkKind.DATA]), [claimed], [chunk])
    assert other != chunk
    reindex(evil.repository, packs)
    tree_of(evil, item(b"x", size=claimed, extents=[chunk]))
    report = ended(evil, target)
    assert report is None or report.copied == []
    assert list_backups(target) == []


@RELATION
def test_a_root_that_is_as_large_as_any(related: bool) -> None:
    """Where the target's own numbers do not fit in, that backup alone is left out."""
    evil = one_file()
    honest = list_backups(evil.repository)[0]
    for spare in (0, 400):
        evil.commit(
            backup_id=f"large {spare}",
            origin=["run", "manual", None, None, ["t" * 90] * 100, [], False, ""],
            pages=None,
            counts=[[1, "k" * (MAX_ROOT - 9800 - spare), 1]],
        )
    target = target_for(evil.repository, related=related)
    report = ended(evil, target)
    assert report is not None
    assert honest.id in {each.backup.id for each in report.copied}
    assert len(report.copied) + len(report.failed) + len(report.damaged_manifests) == 3


def test_manifests_as_large_as_any_record() -> None:
    """Together they are more than fits into memory: none of them is kept."""
    evil = one_file()
    for _ in range(60):
        evil.commit_bytes(bytes(15 << 20))
    target = target_for(evil.repository, related=True)
    storage = evil.repository.storage

    def run() -> None:
        report = copy(opened(storage), target)
        assert (report.exit_code, len(report.copied), len(report.damaged_manifests)) == (13, 1, 60)

    bounded(run)


def test_an_id_that_the_target_has() -> None:
    """A backup that calls itself by the id of one of the target's changes nothing there."""
    evil = one_file()
    target = target_for(evil.repository, related=True)
    copy(evil.repository, target)
    before = {stored.name for stored in target.object_names()}
    second = Evil()
    second.tree([(b"", [item(b"other", size=3, extents=[3])])])
    report = copy(second.repository, target)
    assert (report.there, report.copied) == (1, [])
    assert {stored.name for stored in target.object_names()} == before

"""Names alone: the same as where entries are read whole, and refused for the same disorder."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from repositories.engine.errors import IntegrityError
from repositories.engine.ids import ChunkKind
from repositories.engine.manifest.entries import StreamRef
from repositories.engine.manifest.entry_reader import read_directory
from repositories.engine.manifest.name_reader import read_names
from repositories.engine.manifest.pages import PageRef, encode_list
from tests.engine.manifest.memory_chunks import MemoryChunks
from tests.engine.manifest.test_pages import (
    HOSTILE,
    big_tree,
    component,
    directory,
    file_entry,
    leaf,
    raw_top,
    write,
)

OF_VALUES = {"negative size", "nul in link"}
"""Only whole entries tell."""


def names(chunks: MemoryChunks, top: StreamRef | None, path: bytes) -> list[bytes]:
    return [name for some in read_names(chunks, top, path) for name in some]


@given(st.dictionaries(directory, st.sets(component, min_size=1, max_size=8), max_size=12), directory)
@settings(deadline=None, max_examples=60)
def test_names_are_those_of_the_entries(tree: dict[bytes, set[bytes]], other: bytes) -> None:
    chunks = MemoryChunks()
    top = write(chunks, {path: [file_entry(name) for name in sorted(found)] for path, found in tree.items()})
    for path in {*tree, other, b""}:
        assert names(chunks, top, path) == sorted(tree.get(path, ()))


def test_a_directory_is_read_without_the_pages_of_others() -> None:
    chunks = MemoryChunks()
    tree = big_tree(60, 500)
    top = write(chunks, tree)
    for path in (b"d0033", b"", b"nowhere", b"d0059"):
        chunks.reads.clear()
        assert names(chunks, top, path) == [entry.name for entry in read_directory(chunks, top, path)]
        assert len(chunks.reads) < 16
    assert len(names(chunks, top, b"d0033")) == 500


@pytest.mark.parametrize("case", sorted(HOSTILE.keys() - OF_VALUES))
def test_what_no_writer_writes_is_refused(case: str) -> None:
    chunks = MemoryChunks()
    data = HOSTILE[case]
    for count in (1, 2):
        with pytest.raises(IntegrityError):
            names(chunks, raw_top(chunks, data, count), b"zz")


def test_lists_that_do_not_fit_are_refused() -> None:
    chunks = MemoryChunks()
    good = chunks.put(ChunkKind.PAGE, leaf((0, b"", [file_entry(b"a")])))[0]
    for ref in (PageRef(good, 2, 0, b"", b"a"), PageRef(good, 1, 0, b"", b"b"), PageRef(good, 1, 0, b"x", b"a")):
        with pytest.raises(IntegrityError):
            names(chunks, raw_top(chunks, encode_list(1, [ref]), ref.count, level=1), b"")


@given(st.binary(max_size=300))
@settings(deadline=None)
def test_any_bytes_end_in_an_integrity_error_or_in_names(data: bytes) -> None:
    chunks = MemoryChunks()
    for candidate in (data, b"\x92\x00" + data):
        try:
            names(chunks, raw_top(chunks, candidate, 1), b"")
        except IntegrityError:
            continue

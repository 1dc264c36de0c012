"""Snapshots of pages that are still being written: what a checkpoint holds (2.15)."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from repositories.engine.manifest.entries import encode
from repositories.engine.manifest.entry_reader import last_key, read_listings
from repositories.engine.manifest.entry_writer import EntryWriter
from repositories.engine.manifest.order import directory_key
from tests.engine.manifest.memory_chunks import MemoryChunks
from tests.engine.manifest.test_pages import big_tree, directory, file_entry, read, write

Key = tuple[bytes, bytes]


def keys(chunks: MemoryChunks, writer: EntryWriter) -> list[Key]:
    """Return what a snapshot holds now; its last key is the one that is told."""
    top = writer.snapshot()
    found = [(listing.directory, entry.name) for listing in read_listings(chunks, top) for entry, _ in listing.entries]
    if top is not None:
        assert top.count == len(found)
        assert last_key(chunks, top) == (directory_key(found[-1][0]), found[-1][1])
    return found


@given(
    st.dictionaries(
        directory, st.sets(st.binary(min_size=1, max_size=3).filter(lambda name: name.isalnum())), max_size=9
    )
)
@settings(max_examples=20, deadline=None)
def test_a_snapshot_after_each_step_holds_what_came_before(tree: dict[bytes, set[bytes]]) -> None:
    """And the writer goes on as if nothing had been asked: its pages are the same as without."""
    chunks = MemoryChunks()
    writer = EntryWriter(chunks)
    so_far: list[Key] = []
    for path in sorted(tree, key=directory_key):
        writer.open_directory(path)
        assert keys(chunks, writer) == so_far
        for name in sorted(tree[path]):
            writer.add(name, encode(file_entry(name)))
            so_far.append((path, name))
            assert keys(chunks, writer) == so_far
    entries = {path: [file_entry(name) for name in names] for path, names in tree.items()}
    assert writer.finish() == write(MemoryChunks(), entries)
    assert keys(chunks, writer) == so_far, "also when nothing more comes"


def test_snapshots_of_many_levels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lists of every height are copied, and closing the copy leaves the original open."""
    for module in ("tree_writer", "entry_writer"):
        monkeypatch.setattr(f"repositories.engine.manifest.{module}.PAGE_TARGET_MAX", 600)
    tree = big_tree(directories=40, files=60)
    alone = write(MemoryChunks(), tree)
    chunks = MemoryChunks()
    writer = EntryWriter(chunks)
    for number, path in enumerate(sorted(tree, key=directory_key)):
        writer.open_directory(path)
        for entry in sorted(tree[path], key=lambda entry: entry.name):
            writer.add(entry.name, encode(entry))
        if number % 3 == 0:
            top = writer.snapshot()
            assert top is not None
            found = read(chunks, top)
            assert len(found) == number + 1
            assert found[path] == sorted(tree[path], key=lambda entry: entry.name)
    assert alone is not None
    assert alone.level >= 3
    assert writer.finish() == alone

"""Pages of an earlier backup beside the next one: read with equal care, taken whole where nothing changed."""

import random

import msgspec
import pytest

from repositories.engine.errors import IntegrityError
from repositories.engine.ids import ChunkKind
from repositories.engine.manifest.entries import Entry, StreamRef, encode
from repositories.engine.manifest.entry_writer import EntryWriter
from repositories.engine.manifest.known_pages import Found, read_known
from repositories.engine.manifest.order import directory_key
from repositories.engine.manifest.pages import Group, PageRef, decode_list, encode_leaf, encode_list
from tests.engine.manifest.memory_chunks import MemoryChunks
from tests.engine.manifest.test_pages import HOSTILE, big_tree, file_entry, raw_top, read, write

Tree = dict[bytes, list[Entry]]


def places(chunks: MemoryChunks, top: StreamRef) -> dict[tuple[bytes, bytes], Found]:
    return {
        (listing.directory, name): (entry, listing.page, listing.begin + number)
        for listing in read_known(chunks, top)
        for number, (name, entry) in enumerate(zip(listing.names, listing.entries, strict=True))
    }


def write_again(chunks: MemoryChunks, before: StreamRef, tree: Tree, *, every: int = 0) -> StreamRef | None:
    """Write `tree` as a backup does whose parent is `before`: what is the same there is taken from it.

    With `every`, a snapshot is made after so many entries.
    """
    known = places(chunks, before)
    writer = EntryWriter(chunks, lambda kind, page: (kind, page) in chunks.chunks)
    count = 0
    for path in sorted(tree, key=directory_key):
        writer.open_directory(path)
        for entry in sorted(tree[path], key=lambda entry: entry.name):
            found = known.get((path, entry.name))
            if found is not None and found[0] == entry:
                writer.take(entry.name, found)
            else:
                writer.add(entry.name, encode(entry))
            count += 1
            if every and count % every == 0:
                top = writer.snapshot()
                assert top is not None
                assert top.count == count
    return writer.finish()


def changed(tree: Tree, chance: random.Random, changes: int) -> Tree:
    """Return the tree with some entries changed, some gone, some new, also whole directories."""
    fresh = {path: list(entries) for path, entries in tree.items()}
    for number in range(changes):
        path = chance.choice(sorted(fresh))
        entries = fresh[path]
        at = chance.randrange(len(entries))
        kind = chance.randrange(6)
        if kind == 0 and len(fresh) > 1:
            del fresh[path]
        elif kind == 1:
            fresh[path + b"/new%d" % number] = [file_entry(b"n%d" % each) for each in range(chance.randrange(1, 40))]
        elif kind == 2 and len(entries) > 1:
            del entries[at]
        elif kind == 3:
            entries.append(file_entry(b"x%05d" % chance.randrange(99_999)))
            fresh[path] = list({entry.name: entry for entry in entries}.values())
        else:
            entries[at] = msgspec.structs.replace(entries[at], mtime=number + 10)
    return fresh


@pytest.mark.parametrize("seed", range(12))
def test_what_is_taken_makes_the_same_pages_as_what_is_written_anew(seed: int) -> None:
    """Whatever changed and wherever snapshots were made: equal trees have equal pages, so that they are stored once."""
    chance = random.Random(seed)
    tree = big_tree(30, 150)
    chunks = MemoryChunks()
    before = write(chunks, tree)
    assert before is not None
    fresh = changed(tree, chance, changes=chance.randrange(1, 12))
    every = chance.choice((0, 0, 997))
    again = write_again(chunks, before, fresh, every=every)
    assert again == write(MemoryChunks(), fresh)
    assert again is not None
    assert read(chunks, again) == {path: sorted(each, key=lambda entry: entry.name) for path, each in fresh.items()}


def test_pages_in_which_nothing_changed_are_neither_encoded_nor_put() -> None:
    chunks = MemoryChunks()
    tree = big_tree(60, 500)
    before = write(chunks, tree)
    assert before is not None
    pages = chunks.puts
    chunks.puts = 0
    assert write_again(chunks, before, tree) == before
    assert pages > 20
    assert chunks.puts <= 2 + before.level, "the last leaf and the lists"
    chunks.puts = 0
    tree[b"d0017"][77] = msgspec.structs.replace(tree[b"d0017"][77], mtime=99)
    assert write_again(chunks, before, tree) is not None
    assert chunks.puts <= 4 + before.level


def test_a_page_that_cannot_be_referred_to_is_put_again() -> None:
    """A page that was read and is lost, marked or damaged now is stored again with all others of that kind."""
    chunks = MemoryChunks()
    tree = big_tree(20, 300)
    before = write(chunks, tree)
    assert before is not None
    known = places(chunks, before)
    stored = dict(chunks.chunks)
    chunks.chunks.clear()
    writer = EntryWriter(chunks, lambda kind, page: False)
    for path in sorted(tree, key=directory_key):
        writer.open_directory(path)
        for entry in tree[path]:
            writer.take(entry.name, known[path, entry.name])
    assert writer.finish() == before
    assert chunks.chunks == stored


def test_fields_that_only_later_versions_know_are_taken_along() -> None:
    chunks = MemoryChunks()
    raws = [encode(file_entry(b"f%04d" % number)) for number in range(10)]
    longer = [
        msgspec.Raw(msgspec.msgpack.encode([*msgspec.msgpack.decode(raw), *[None] * 6, b"later"])) for raw in raws
    ]
    before = raw_top(chunks, encode_leaf([Group(0, b"", longer)]), 10)
    writer = EntryWriter(chunks, lambda kind, page: True)
    writer.open_directory(b"")
    for (_, name), found in places(chunks, before).items():
        if name != b"f0003":
            writer.take(name, found)
    top = writer.finish()
    assert top is not None
    assert chunks.read(ChunkKind.PAGE, top.id) == encode_leaf([Group(0, b"", longer[:3] + longer[4:])])


@pytest.mark.parametrize("case", HOSTILE)
def test_what_no_writer_writes_is_refused_here_too(case: str) -> None:
    chunks = MemoryChunks()
    data = HOSTILE[case]
    with pytest.raises(IntegrityError):
        list(read_known(chunks, raw_top(chunks, data, data.count(b"\xcd\x81\xa4"))))


def test_an_entry_that_cannot_be_decoded_is_named() -> None:
    chunks = MemoryChunks()
    with pytest.raises(IntegrityError, match="an entry b"):
        list(read_known(chunks, raw_top(chunks, HOSTILE["negative size"], 1)))


def test_disorder_over_pages_is_refused() -> None:
    """Of leaves that are in order each, and come in another one or twice."""
    chunks = MemoryChunks()
    top = write(chunks, big_tree(20, 300))
    assert top is not None
    refs = decode_list(chunks.read(ChunkKind.PAGE, top.id), top.level)
    assert len(list(read_known(chunks, top))) >= len(refs) > 2
    for wrong in ([refs[1], refs[0], *refs[2:]], [refs[0], refs[0], *refs[1:]]):
        unnamed = [PageRef(ref.id, ref.count, ref.length) for ref in wrong]
        count = sum(ref.count for ref in wrong)
        for listed in (wrong, unnamed):
            with pytest.raises(IntegrityError):
                list(read_known(chunks, raw_top(chunks, encode_list(top.level, listed), count, top.level)))

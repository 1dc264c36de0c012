"""Paged manifests: what is written comes back in order, and disorder is refused on both sides."""

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from repositories.engine.errors import IntegrityError
from repositories.engine.ids import ChunkKind
from repositories.engine.manifest.entries import Entry, EntryType, StreamRef, encode
from repositories.engine.manifest.entry_reader import page_ids, read_below, read_directory, read_listings
from repositories.engine.manifest.entry_writer import EntryWriter
from repositories.engine.manifest.order import directory_key
from repositories.engine.manifest.pages import PAGE_LIMIT, Group, PageRef, encode_leaf, encode_list, shared_prefix
from tests.engine.manifest.memory_chunks import MemoryChunks


def file_entry(name: bytes, **fields: object) -> Entry:
    values: dict[str, object] = {
        "type": EntryType.FILE,
        "mode": 0o100644,
        "uid": 0,
        "gid": 0,
        "size": 0,
        "mtime": 1,
        "ctime": 2,
        "inode": 3,
    }
    return Entry(name=name, **(values | fields))  # type: ignore[arg-type]


def write(chunks: MemoryChunks, tree: dict[bytes, list[Entry]]) -> StreamRef | None:
    writer = EntryWriter(chunks)
    for directory in sorted(tree, key=directory_key):
        writer.open_directory(directory)
        for entry in sorted(tree[directory], key=lambda entry: entry.name):
            writer.add(entry.name, encode(entry))
    return writer.finish()


def read(chunks: MemoryChunks, top: StreamRef | None) -> dict[bytes, list[Entry]]:
    found: dict[bytes, list[Entry]] = {}
    for listing in read_listings(chunks, top):
        found.setdefault(listing.directory, []).extend(entry for entry, _ in listing.entries)
    return found


component = st.binary(min_size=1, max_size=12).filter(
    lambda part: not {0, 47} & set(part) and part not in (b".", b"..")
)
directory = st.lists(component, max_size=4).map(b"/".join)


@given(st.dictionaries(directory, st.sets(component, min_size=1, max_size=8), max_size=30))
@settings(max_examples=60, deadline=None)
def test_any_tree_comes_back_as_it_was(tree: dict[bytes, set[bytes]]) -> None:
    chunks = MemoryChunks()
    entries = {path: [file_entry(name) for name in sorted(names)] for path, names in tree.items()}
    top = write(chunks, entries)
    assert read(chunks, top) == entries
    assert (top is None) == (not tree)


@given(st.lists(component, max_size=5), st.lists(component, max_size=5))
def test_directories_sort_by_components(left: list[bytes], right: list[bytes]) -> None:
    by_key = directory_key(b"/".join(left)) < directory_key(b"/".join(right))
    assert by_key == (left < right)


@given(st.binary(max_size=40), st.binary(max_size=40))
def test_shared_prefix_is_the_longest(left: bytes, right: bytes) -> None:
    shared = shared_prefix(left, right)
    assert left[:shared] == right[:shared]
    assert shared == min(len(left), len(right)) or left[shared] != right[shared]


def big_tree(directories: int, files: int) -> dict[bytes, list[Entry]]:
    tree = {b"": [file_entry(b"d%04d" % number, type=EntryType.DIRECTORY) for number in range(directories)]}
    for number in range(directories):
        tree[b"d%04d" % number] = [
            file_entry(b"f%05d" % index, extents=(bytes([index % 251]) * 32,)) for index in range(files)
        ]
    return tree


def test_pages_keep_their_limits_and_lists_grow_levels() -> None:
    chunks = MemoryChunks()
    tree = big_tree(60, 500)
    top = write(chunks, tree)
    assert top is not None
    assert top.level >= 1
    assert top.count == 60 + 60 * 500
    sizes = [len(data) for (kind, _), data in chunks.chunks.items() if kind == ChunkKind.PAGE]
    assert max(sizes) < PAGE_LIMIT // 2
    assert sum(size >= 32 * 1024 for size in sizes) >= len(sizes) - 3
    assert read(chunks, top) == tree


def test_one_changed_entry_changes_few_pages() -> None:
    chunks = MemoryChunks()
    tree = big_tree(40, 500)
    write(chunks, tree)
    before = set(chunks.chunks)
    tree[b"d0017"].insert(77, file_entry(b"f00076x"))
    top = write(chunks, tree)
    assert top is not None
    assert len(set(chunks.chunks) - before) <= 3 + top.level


def test_a_directory_is_read_without_the_pages_of_others() -> None:
    chunks = MemoryChunks()
    tree = big_tree(60, 500)
    top = write(chunks, tree)
    chunks.reads.clear()
    assert list(read_directory(chunks, top, b"d0033")) == tree[b"d0033"]
    assert list(read_directory(chunks, top, b"")) == tree[b""]
    assert list(read_directory(chunks, top, b"nowhere")) == []
    assert len(chunks.reads) < 16


def test_below_a_directory_comes_all_and_nothing_else() -> None:
    chunks = MemoryChunks()
    tree = {b"": [file_entry(b"a")], b"a": [file_entry(b"x")], b"a!": [file_entry(b"n")], b"a/b": [file_entry(b"y")]}
    top = write(chunks, tree)
    found = [
        (listing.directory, entry.name) for listing in read_below(chunks, top, b"a") for entry, _ in listing.entries
    ]
    assert found == [(b"a", b"x"), (b"a/b", b"y")]


def test_pages_of_a_known_subtree_are_not_named_again() -> None:
    chunks = MemoryChunks()
    top = write(chunks, big_tree(60, 500))
    assert top is not None
    every = dict(page_ids(chunks, top, lambda page: False))
    assert set(every) == {chunk for kind, chunk in chunks.chunks if kind == ChunkKind.PAGE}
    assert list(page_ids(chunks, top, lambda page: page == top.id)) == []


def test_writer_refuses_disorder_duplicates_and_names_that_are_paths() -> None:
    writer = EntryWriter(MemoryChunks())
    writer.open_directory(b"b")
    writer.add(b"m", encode(file_entry(b"m")))
    for name in (b"m", b"a"):
        with pytest.raises(IntegrityError):
            writer.add(name, encode(file_entry(name)))
    for name in (b"x/y", b"z\0", b"n" * 1025):
        with pytest.raises(IntegrityError):
            writer.add(name, encode(file_entry(name)))
    for path in (b"b", b"a/z"):
        with pytest.raises(IntegrityError):
            writer.open_directory(path)


def leaf(*groups: tuple[int, bytes, list[Entry]]) -> bytes:
    return encode_leaf(
        [Group(shared, suffix, [msgspec.Raw(encode(entry)) for entry in entries]) for shared, suffix, entries in groups]
    )


def raw_top(chunks: MemoryChunks, data: bytes, count: int, level: int = 0) -> StreamRef:
    return StreamRef(chunks.put(ChunkKind.PAGE, data)[0], level, count, 0)


HOSTILE = {
    "parent": leaf((0, b"", [file_entry(b"..")])),
    "self": leaf((0, b"", [file_entry(b".")])),
    "slash": leaf((0, b"", [file_entry(b"a/b")])),
    "absolute": leaf((0, b"", [file_entry(b"/etc")])),
    "nul": leaf((0, b"", [file_entry(b"a\0b")])),
    "empty name": leaf((0, b"", [file_entry(b"")])),
    "long name": leaf((0, b"", [file_entry(b"n" * 1025)])),
    "duplicate": leaf((0, b"", [file_entry(b"a"), file_entry(b"a")])),
    "unsorted": leaf((0, b"", [file_entry(b"b"), file_entry(b"a")])),
    "directory out of order": leaf((0, b"b", [file_entry(b"a")]), (0, b"a", [file_entry(b"a")])),
    "duplicate over groups": leaf((0, b"b", [file_entry(b"a")]), (1, b"", [file_entry(b"a")])),
    "parent directory": leaf((0, b"..", [file_entry(b"a")])),
    "parent within": leaf((0, b"a/../b", [file_entry(b"a")])),
    "absolute directory": leaf((0, b"/etc", [file_entry(b"a")])),
    "directory ends in slash": leaf((0, b"etc/", [file_entry(b"a")])),
    "shares more than there is": leaf((0, b"a", [file_entry(b"a")]), (9, b"b", [file_entry(b"a")])),
    "negative share": leaf((-1, b"a", [file_entry(b"a")])),
    "empty group": leaf((0, b"a", [])),
    "negative size": leaf((0, b"", [file_entry(b"a", size=-1)])),
    "nul in link": leaf((0, b"", [file_entry(b"a", type=EntryType.LINK, target=b"x\0y")])),
    "no msgpack": b"\xc1",
    "nothing": b"",
    "wrong level": encode((3, [])),
    "too large": b"\x92\x00" + bytes(PAGE_LIMIT),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_reader_refuses_what_no_writer_writes(case: str) -> None:
    chunks = MemoryChunks()
    data = HOSTILE[case]
    count = data.count(b"\xcd\x81\xa4")
    with pytest.raises(IntegrityError):
        read(chunks, raw_top(chunks, data, count))


def test_reader_refuses_wrong_counts_levels_and_cycles() -> None:
    chunks = MemoryChunks()
    good = chunks.put(ChunkKind.PAGE, leaf((0, b"", [file_entry(b"a")])))[0]
    lists = {
        "count": (encode_list(1, [PageRef(good, 2, 0, b"", b"a")]), 2),
        "sum": (encode_list(1, [PageRef(good, 1, 0, b"", b"a")]), 7),
        "twice the same": (encode_list(1, [PageRef(good, 1, 0, b"", b"a"), PageRef(good, 1, 0, b"", b"a")]), 2),
        "empty": (encode_list(1, []), 0),
    }
    for data, count in lists.values():
        with pytest.raises(IntegrityError):
            read(chunks, raw_top(chunks, data, count, level=1))
    for level in (-1, 65, 2**40):
        with pytest.raises(IntegrityError):
            read(chunks, StreamRef(good, level, 1, 0))


@given(st.binary(max_size=300))
@settings(max_examples=200, deadline=None)
def test_any_bytes_end_in_an_integrity_error_or_in_entries(data: bytes) -> None:
    chunks = MemoryChunks()
    for candidate in (data, b"\x92\x00" + data):
        try:
            read(chunks, raw_top(chunks, candidate, 1))
        except IntegrityError:
            continue

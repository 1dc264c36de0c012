"""The ways to some directories of a backup are announced level by level, and no other page is (4.7)."""

from repositories.engine.ids import ChunkKind
from repositories.engine.manifest.entry_reader import read_below, read_directory
from repositories.engine.manifest.pages_ahead import BLOCKS_AHEAD, pages_ahead
from repositories.engine.manifest.ways_ahead import WaysAhead
from tests.engine.manifest.far_chunks import FarAwayChunks
from tests.engine.manifest.memory_chunks import MemoryChunks
from tests.engine.manifest.test_pages import big_tree, file_entry, write

WANTED = [b"d%04d" % number for number in range(3, 60, 4)]


def big() -> FarAwayChunks:
    """Return pages of 30,000 entries in 60 directories, of which few fit into one page."""
    chunks = FarAwayChunks()
    chunks.top = write(chunks, big_tree(60, 500))
    return chunks


def test_pages_of_all_directories_are_announced_before_one_after_the_other_is_looked_for() -> None:
    chunks = big()
    assert chunks.top is not None
    ways = WaysAhead(chunks, chunks.top, WANTED)  # type: ignore[arg-type]
    assert chunks.reads == [chunks.top.id], "the list"
    ways.reach(WANTED[0])
    assert len(chunks.announced) == 1 + BLOCKS_AHEAD
    for directory in WANTED:
        ways.reach(directory)
        assert len(list(read_directory(chunks, chunks.top, directory, pages_ahead(chunks)))) == 500
    assert chunks.surprises == []
    assert set(chunks.announced) == set(chunks.reads), "whatever was announced was read"


def test_a_directory_and_what_lies_below_is_read_and_announced_without_the_pages_behind_it() -> None:
    """A page more was read to see that it begins behind: far away a round trip, and 2 MiB."""
    chunks = big()
    listings = list(read_below(chunks, chunks.top, b"d0007", ahead=pages_ahead(chunks)))
    assert sum(len(each.entries) for each in listings) == 500
    assert chunks.surprises == []
    assert set(chunks.announced) == set(chunks.reads), "nothing was fetched in vain"


def test_what_sorts_near_a_directory_is_told_from_what_lies_in_it() -> None:
    """Each leaf has one directory here; `a!` and `a.b` sort between `a` and its own directories as text, not here."""
    chunks = MemoryChunks()
    tree = {}
    for directory in (b"", b"a", b"a/b", b"a/b/c", b"a!", b"a.b", b"ab", b"b"):
        tree[directory] = [file_entry(b"%05d" % number, extents=(bytes(32),)) for number in range(800)]
    top = write(chunks, tree)
    for directory in tree:
        found = {listing.directory for listing in read_below(chunks, top, directory)}
        assert found == {each for each in tree if not directory or (each + b"/").startswith(directory + b"/")}


def test_near_by_nothing_is_read_for_announcements() -> None:
    chunks = big()
    chunks.far = False
    WaysAhead(chunks, chunks.top, WANTED).reach(WANTED[0])  # type: ignore[arg-type]
    assert (chunks.reads, chunks.announced) == ([], {})


def test_a_list_that_cannot_be_read_is_left_for_the_look_itself() -> None:
    chunks = big()
    assert chunks.top is not None
    del chunks.chunks[ChunkKind.PAGE, chunks.top.id]
    WaysAhead(chunks, chunks.top, WANTED).reach(WANTED[0])  # type: ignore[arg-type]
    assert chunks.announced == {}

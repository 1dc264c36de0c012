"""Content streams: a check says of each what a restore would say that goes through all of it."""

import random
from pathlib import Path
from typing import Any

import pytest

from repositories.engine.backup import Hooks
from repositories.engine.check import CheckRequest, check
from repositories.engine.errors import IntegrityError
from repositories.engine.ids import ChunkKind
from repositories.engine.manifest.entries import StreamRef
from repositories.engine.manifest.streams import read_extents, stream_claims
from tests.engine.hostile.evil import Evil, hole, item
from tests.engine.hostile.packing import pack
from tests.engine.hostile.readers import WRITERS, code_of
from tests.engine.manifest.memory_chunks import MemoryChunks

Page = tuple[bytes, int, int]
"""Id, number of extents below it, their length."""


def put(chunks: MemoryChunks, level: int, body: list[Any]) -> bytes:
    return chunks.put(ChunkKind.STREAM, pack([level, body]))[0]


def random_stream(chunks: MemoryChunks, numbers: random.Random) -> StreamRef:
    """Return a stream of three levels whose lists name the same few pages again and again."""
    pages: list[Page] = []
    for _ in range(3):
        extents: list[list[Any]] = [
            [numbers.randrange(1, 9), None if numbers.random() < 0.5 else bytes(32)]
            for _ in range(numbers.randrange(1, 3))
        ]
        pages.append((put(chunks, 0, extents), len(extents), sum(extent[0] for extent in extents)))
    for level in (1, 2):
        lists = [numbers.choices(pages, k=numbers.randrange(1, 4)) for _ in range(3 if level == 1 else 1)]
        pages = [
            (
                put(chunks, level, [[page, count, length, None, None] for page, count, length in below]),
                sum(count for _, count, _ in below),
                sum(length for _, _, length in below),
            )
            for below in lists
        ]
    page, count, length = pages[0]
    return StreamRef(page, 2, count, length)


def refuses(extents: Any) -> bool:
    try:
        list(extents)
    except IntegrityError as error:
        return "two holes in a row" in error.message
    return False


def test_two_holes_in_a_row_are_found_wherever_pages_are_repeated() -> None:
    """Both ways to look at a stream agree: page by page as it is read, and each page once as a check does it."""
    numbers = random.Random(4)
    verdicts = []
    for _ in range(600):
        chunks = MemoryChunks()
        top = random_stream(chunks, numbers)
        verdicts.append(refuses(read_extents(chunks, top)))
        assert refuses(stream_claims(chunks, top, content=True)) is verdicts[-1]
    assert 100 < sum(verdicts) < 500


def repeated(evil: Evil, *extents: Any) -> None:
    """A page that its list names twice: where the two meet, the last extent of it is followed by its first."""
    length = sum(extent[0] for extent in extents)
    page = evil.page(0, list(extents), ChunkKind.STREAM)
    top = evil.page(1, [[page, len(extents), length, None, None]] * 2, ChunkKind.STREAM)
    evil.tree([(b"", [item(b"x", size=2 * length, stream=[top, 1, 2 * len(extents), 2 * length])])])


def is_hurt(evil: Evil) -> bool:
    """Tell whether a check says that something of the backup cannot be restored."""
    return bool(check(evil.repository, CheckRequest(), Hooks()).hurt)


def both(evil: Evil, place: Path) -> tuple[bool, int]:
    """Return what a check says, and the exit code of a restore."""
    place.mkdir()
    return is_hurt(evil), code_of(WRITERS["restore"], evil.repository, place)[0]


def test_a_check_says_of_repeated_pages_what_a_restore_says(tmp_path: Path) -> None:
    bad, good = Evil(), Evil()
    (chunk,) = bad.put((ChunkKind.DATA, b"abc"))
    assert good.put((ChunkKind.DATA, b"abc")) != [chunk]
    repeated(bad, [5, None], [3, chunk], [5, None])
    assert both(bad, tmp_path / "bad") == (True, 13)
    repeated(good, [5, None], [3, good.put((ChunkKind.DATA, b"abc"))[0]])
    assert both(good, tmp_path / "good") == (False, 0)


@pytest.mark.parametrize("first", ["as a value", "as content"])
def test_a_chunk_of_another_kind_is_no_content(tmp_path: Path, first: str) -> None:
    """What one entry names as a value of an attribute, another cannot have as its content, and the other way round."""
    evil = Evil()
    value, content = evil.put((ChunkKind.STREAM, b"abc"), (ChunkKind.DATA, b"def"))
    if first == "as a value":
        entries = [hole(b"a", xattrs=[[b"user.a", None, [value]]]), item(b"b", size=3, extents=[value])]
    else:
        entries = [item(b"a", size=3, extents=[content]), hole(b"b", xattrs=[[b"user.a", None, [content]]])]
    evil.tree([(b"", entries)])
    assert both(evil, tmp_path / "place") == (True, 13)


def test_short_and_long_values_together_are_bounded_as_in_a_restore(tmp_path: Path) -> None:
    """64 MiB are the limit for one entry, whichever of its values lie in chunks."""
    for inline in (0, 500_000):
        evil = Evil()
        (chunk,) = evil.put((ChunkKind.STREAM, bytes(2**23)))
        short = [[b"user.a", bytes(inline)]] if inline else []
        long = [[b"user.b%d" % number, None, [chunk]] for number in range(8)]
        evil.tree([(b"", [hole(b"x", xattrs=[*short, *long])])])
        assert is_hurt(evil) is bool(inline)
    assert both(evil, tmp_path / "place") == (True, 13)

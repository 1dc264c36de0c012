"""Chunking: pinned cut points, limits of sizes, independence from how a stream is read."""

import hashlib
import io
import random

import msgspec
import pyfastcdc
import pytest

from repositories.engine.chunking.cutter import Chunker, cut_seed, cutter
from repositories.engine.errors import ConfigurationError, UnsupportedFormatError
from repositories.engine.keys.keyring import ChunkerRecord, new_keyring_record, open_keyring
from repositories.engine.limits import KIB, MIB
from tests.engine.fakes import START_NS, RepeatableRandomness

KEYRING = open_keyring(new_keyring_record(b"r" * 16, START_NS, RepeatableRandomness(), padding=False))
SMALL = ChunkerRecord(1, 1, 256, 1024, 4096, 1, b"k" * 32)


def noise(length: int, seed: int = 1) -> bytes:
    """Return bytes that are the same in each run: SHA-256 in counter mode."""
    blocks = (
        hashlib.sha256(seed.to_bytes(8, "big") + at.to_bytes(8, "big")).digest() for at in range(length // 32 + 1)
    )
    return b"".join(blocks)[:length]


class Trickle(io.RawIOBase):
    """A stream that returns as few bytes as it pleases."""

    def __init__(self, data: bytes, seed: int) -> None:
        self._data = data
        self._at = 0
        self._random = random.Random(seed)

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        piece = self._data[self._at : self._at + self._random.randint(1, 700)][: len(buffer)]
        buffer[: len(piece)] = piece
        self._at += len(piece)
        return len(piece)


def lengths(chunker: Chunker, data: bytes) -> list[int]:
    return [len(chunk) for chunk in chunker.cut(io.BytesIO(data))]


def test_the_pinned_cut_points() -> None:
    """Other cut points would store every large file of existing repositories again."""
    assert cut_seed(b"k" * 32) == PINNED_SEED
    assert lengths(Chunker(SMALL), noise(30_000)) == PINNED_SMALL
    assert lengths(cutter(KEYRING), noise(8 * MIB)) == PINNED_LARGE


def test_the_key_moves_the_cut_points() -> None:
    other = msgspec.structs.replace(SMALL, key=b"x" * 32)
    assert lengths(Chunker(other), noise(30_000)) != PINNED_SMALL
    assert sum(lengths(Chunker(other), noise(30_000))) == 30_000


@pytest.mark.parametrize("length", [0, 1, 255, 256, 257, 4095, 4096, 4097, 8192, 8193, 50_000])
def test_cuts_do_not_depend_on_how_a_stream_is_read(length: int) -> None:
    data = noise(length)
    chunker = Chunker(SMALL)
    whole = [bytes(chunk) for chunk in chunker.cut(io.BytesIO(data))]
    trickled = [bytes(chunk) for chunk in chunker.cut(Trickle(data, length))]
    assert b"".join(whole) == data
    assert whole == trickled
    assert all(len(chunk) <= 4096 for chunk in whole)
    assert all(len(chunk) >= 256 for chunk in whole[:-1])


def test_small_and_empty_streams() -> None:
    chunker = cutter(KEYRING)
    assert lengths(chunker, b"") == []
    assert lengths(chunker, b"x") == [1]
    assert lengths(chunker, bytes(256 * KIB)) == [256 * KIB]
    assert chunker.min_size == 256 * KIB


def test_sizes_are_within_the_documented_bounds() -> None:
    sizes = lengths(cutter(KEYRING), random.Random(7).randbytes(60 * MIB))
    assert max(sizes) <= 4 * MIB
    assert min(sizes[:-1]) >= 256 * KIB
    assert 0.8 * MIB <= sum(sizes) / len(sizes) <= 1.8 * MIB


def test_an_insertion_moves_only_the_cuts_near_it() -> None:
    data = noise(200_000, 7)
    chunker = Chunker(SMALL)
    before = {bytes(chunk) for chunk in chunker.cut(io.BytesIO(data))}
    after = {bytes(chunk) for chunk in chunker.cut(io.BytesIO(data[:1000] + b"inserted" + data[1000:]))}
    assert len(after - before) <= 5


def test_one_chunker_serves_many_streams() -> None:
    chunker = Chunker(SMALL)
    first = lengths(chunker, noise(30_000))
    lengths(chunker, noise(77_777, 9))
    assert lengths(chunker, noise(30_000)) == first == PINNED_SMALL


def test_an_error_of_the_stream_passes_through() -> None:
    class Broken(io.RawIOBase):
        def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
            raise OSError(5, "I/O error")

    with pytest.raises(OSError, match="I/O error"):
        list(Chunker(SMALL).cut(Broken()))


def test_the_native_build_is_required(monkeypatch: pytest.MonkeyPatch) -> None:
    class FastCDC:
        __module__ = "pyfastcdc.py.fastcdc"

    monkeypatch.setattr(pyfastcdc, "FastCDC", FastCDC)
    with pytest.raises(ConfigurationError, match="native"):
        cutter(KEYRING)


def test_unknown_chunkers_are_unsupported() -> None:
    record = msgspec.structs.replace(KEYRING.record, chunkers=(msgspec.structs.replace(SMALL, algorithm=2),))
    with pytest.raises(UnsupportedFormatError):
        cutter(open_keyring(record))
    with pytest.raises(UnsupportedFormatError):
        Chunker(msgspec.structs.replace(SMALL, normalization=4))


def test_no_seed_is_zero() -> None:
    assert all(0 < cut_seed(bytes([value]) * 32) < 2**63 for value in range(256))


PINNED_SEED = 1149935742901657198
PINNED_SMALL = [
    1452,
    1603,
    1451,
    1390,
    468,
    1487,
    1709,
    950,
    1053,
    1287,
    2065,
    2605,
    277,
    1080,
    1176,
    496,
    1246,
    1457,
    1304,
    523,
    1051,
    1259,
    1137,
    459,
    1015,
]
PINNED_LARGE = [1692063, 292295, 1109507, 1094478, 1061328, 3138937]

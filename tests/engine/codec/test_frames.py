"""Frames, compression and padding: round trips, raw when not smaller, bounds before allocation."""

import contextlib
import os
import struct

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from repositories.engine.codec.compression import Codec, compress, level_of
from repositories.engine.codec.frames import FRAME_LENGTH, decode_frame, encode_frame
from repositories.engine.codec.padding import padding_for
from repositories.engine.errors import ConfigurationError, IntegrityError, UnsupportedFormatError


@given(st.binary(max_size=2_000), st.binary(max_size=50), st.sampled_from([0, 1, 3, 15]), st.booleans())
def test_frames_round_trip(payload: bytes, table: bytes, level: int, padding: bool) -> None:
    frame = decode_frame(encode_frame(payload, level, table=table, padding=padding), 2_000)
    assert (frame.payload, frame.table) == (payload, table)


def test_the_frame_layout() -> None:
    assert encode_frame(b"ab", 0, table=b"T").hex() == "0000000000000000000000020000000000000001546162"


def test_incompressible_payloads_stay_raw() -> None:
    noise = os.urandom(5_000)
    assert compress(noise, 3) == (Codec.RAW, noise)
    codec, packed = compress(bytes(5_000), 3)
    assert codec is Codec.ZSTD
    assert len(packed) < 100
    assert compress(bytes(5_000), 0)[0] is Codec.RAW
    assert len(encode_frame(noise, 3)) == FRAME_LENGTH + 5_000


def test_levels_have_names() -> None:
    assert [level_of(name) for name in ("off", "fast", "default", "max")] == [0, 1, 3, 15]
    with pytest.raises(ConfigurationError):
        level_of("ultra")


@given(st.binary(max_size=200))
def test_hostile_frames_end_in_typed_errors(plain: bytes) -> None:
    with contextlib.suppress(IntegrityError, UnsupportedFormatError):
        assert len(decode_frame(plain, 1_000).payload) <= 1_000


def hostile(codec: int, payload: bytes, declared: int, padding: int = 0, table: int = 0) -> bytes:
    return struct.pack(">BBHIIII", codec, 0, 0, 0, declared, padding, table) + payload


@pytest.mark.parametrize(
    "plain",
    [
        hostile(0, b"abc", 2),
        hostile(0, b"abc", 4),
        hostile(0, b"abc", 3, padding=4),
        hostile(0, b"abc", 3, table=2**32 - 1),
        hostile(0, b"abc", 2_000),
        hostile(1, b"no zstd", 7),
        hostile(1, zstandard.compress(bytes(10_000_000)), 1_000),
        hostile(1, zstandard.compress(bytes(1_000))[:-2], 1_000),
    ],
)
def test_declared_lengths_are_checked(plain: bytes) -> None:
    """A frame that declares another size than the header is refused before it is decompressed."""
    with pytest.raises(IntegrityError):
        decode_frame(plain, 1_000)


def test_unknown_codecs_and_dictionaries_are_unsupported() -> None:
    for plain in (hostile(9, b"", 0), struct.pack(">BBHIIII", 0, 0, 0, 7, 0, 0, 0)):
        with pytest.raises(UnsupportedFormatError):
            decode_frame(plain, 10)


@given(st.integers(min_value=0, max_value=2**34))
def test_padding_is_bounded_and_leaves_few_lengths(length: int) -> None:
    """`create --padding`: at most 12 % more, and only the leading bits of a length survive."""
    added = padding_for(length)
    assert 0 <= added <= max(length * 0.12, 1)
    padded = length + added
    assert padding_for(padded) == 0
    if length > 1:
        exponent = padded.bit_length() - 1
        assert padded % (1 << max(exponent - exponent.bit_length(), 0)) == 0


def test_padding_values() -> None:
    lengths = (0, 1, 9, 100, 1_000, 1_000_001)
    assert [length + padding_for(length) for length in lengths] == [0, 1, 10, 104, 1_024, 1_015_808]

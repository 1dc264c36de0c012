"""Clear headers: layout byte by byte, and refusal of what version 1 does not define."""

import pytest

from repositories.engine.errors import IntegrityError, UnsupportedFormatError
from repositories.engine.format.headers import (
    ObjectHeader,
    PackFooter,
    PartHeader,
    associated_data,
    parse_object_header,
    parse_pack_footer,
    parse_part_header,
)
from repositories.engine.format.kinds import ObjectKind, PartKind

HEADER = ObjectHeader(ObjectKind.PACK, bytes(range(16)), bytes(range(100, 132)), epoch=3)


def test_object_header_layout() -> None:
    data = HEADER.to_bytes()
    assert data.hex() == (
        "53594e434f564131040101000000000000000003" + bytes(range(16)).hex() + bytes(range(100, 132)).hex() + "00000000"
    )
    assert parse_object_header(data) == HEADER


@pytest.mark.parametrize("at", range(12))
def test_a_changed_object_header_is_refused_or_differs(at: int) -> None:
    data = bytearray(HEADER.to_bytes())
    data[at] ^= 0x80
    with pytest.raises((IntegrityError, UnsupportedFormatError)):
        parse_object_header(bytes(data))


def test_reserved_bytes_and_short_headers_are_refused() -> None:
    data = HEADER.to_bytes()
    with pytest.raises(UnsupportedFormatError):
        parse_object_header(data[:-1] + b"\1")
    with pytest.raises(IntegrityError):
        parse_object_header(data[:71])


def test_part_header_layout() -> None:
    header = PartHeader(PartKind.BLOCK, 1000, bytes(range(12)))
    assert header.to_bytes().hex() == "c550543102000000000003e8" + bytes(range(12)).hex()
    assert parse_part_header(b"xx" + header.to_bytes(), 2) == header


@pytest.mark.parametrize(("at", "value"), [(0, 0), (4, 0), (4, 5), (5, 1), (6, 1), (7, 1)])
def test_a_changed_part_header_is_refused(at: int, value: int) -> None:
    data = bytearray(PartHeader(PartKind.RECORD, 16, bytes(12)).to_bytes())
    data[at] = value
    with pytest.raises(IntegrityError):
        parse_part_header(bytes(data))


def test_part_shorter_than_its_tag_or_cut_is_refused() -> None:
    with pytest.raises(IntegrityError):
        parse_part_header(PartHeader(PartKind.RECORD, 15, bytes(12)).to_bytes())
    with pytest.raises(IntegrityError):
        parse_part_header(PartHeader(PartKind.RECORD, 16, bytes(12)).to_bytes()[:-1])


def test_associated_data_layout() -> None:
    assert associated_data(b"H" * 72, 7, PartKind.SECTION, 1, b"extra") == b"H" * 72 + b"\0\0\0\7\4\1extra"


def test_footer_layout() -> None:
    footer = PackFooter(0x1122, 0x33, 0, 0x44)
    assert footer.to_bytes().hex() == "53594e434f564146000000000000112200000033000000000000000000000044"
    assert parse_pack_footer(footer.to_bytes()) == footer
    for bad in (footer.to_bytes()[:-1], b"X" + footer.to_bytes()[1:]):
        with pytest.raises(IntegrityError):
            parse_pack_footer(bad)

"""The bytes of headers, holes and ACLs: what only strange values reach."""

import io
import tarfile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from repositories.engine.browse import pax
from repositories.engine.browse.acl_text import acl_text
from repositories.engine.browse.holes import WORTHWHILE, holes, layout, map_lines, parts
from repositories.engine.errors import IntegrityError
from repositories.engine.restore.chunks import Piece


def member(**changes: object) -> pax.Member:
    values: dict[str, object] = {
        "kind": pax.FILE, "name": b"name", "mode": 0o100644, "uid": 0, "gid": 0, "mtime_ns": 0,
    }  # fmt: skip
    return pax.Member(**(values | changes))  # type: ignore[arg-type]


def read(data: bytes) -> tarfile.TarInfo:
    with tarfile.open(fileobj=io.BytesIO(data + pax.END), errors="surrogateescape") as tar:
        (found,) = tar.getmembers()
    return found


def test_a_plain_member_needs_one_block() -> None:
    assert len(pax.header(member(name=b"x" * 100, mtime_ns=10**18, uid=0o7777777))) == pax.BLOCK


@pytest.mark.parametrize(
    ("mtime_ns", "text"),
    [(-1, "-0.000000001"), (1, "0.000000001"), (-(10**18), "-1000000000"), (10**21 + 7, "1000000000000.000000007")],
)
def test_times_are_exact(mtime_ns: int, text: str) -> None:
    """2.2: before 1970 and after 2262, in ns."""
    assert read(pax.header(member(mtime_ns=mtime_ns))).pax_headers["mtime"] == text


@settings(max_examples=60, deadline=None)
@given(
    name=st.binary(min_size=1, max_size=300).filter(lambda name: b"\0" not in name and not name.endswith(b"/")),
    uid=st.integers(0, 2**32 - 1),
    mode=st.integers(0, 0o7777),
)
def test_any_name_owner_and_mode_comes_back(name: bytes, uid: int, mode: int) -> None:
    found = read(pax.header(member(name=name, uid=uid, gid=uid, mode=mode)))
    assert found.name.encode("utf-8", "surrogateescape") == name
    assert (found.uid, found.gid, found.mode) == (uid, uid, mode)


@pytest.mark.parametrize("length", [*range(1, 120), 990, 991, 992, 9_985, 9_986, 9_987])
def test_a_record_counts_its_own_digits(length: int) -> None:
    record = pax._record(b"k", b"v" * length)
    assert int(record.partition(b" ")[0]) == len(record)


def test_sizes_beyond_8_gib() -> None:
    size = 9 << 30
    head = pax.header(member(size=size))
    found = tarfile.TarInfo.frombuf(head[-512:], "utf-8", "surrogateescape")
    assert found.size == 0
    assert b"13 size=%d\n" % size not in head
    assert b" size=%d\n" % size in head


@pytest.mark.parametrize(
    "changes",
    [
        {"uid": -1},
        {"gid": 2**32},
        {"device": (2**40, 0)},
        {"kind": pax.SYMLINK},
        {"kind": pax.SYMLINK, "target": b"a\0b"},
    ],
)
def test_impossible_values_are_refused(changes: dict[str, object]) -> None:
    with pytest.raises(IntegrityError):
        pax.header(member(**changes))


def test_attribute_names_of_any_bytes() -> None:
    head = pax.header(member(xattrs=[(b"user.a=b%c\xff", b"\0\n=")]))
    assert b"SCHILY.xattr.user.a%3Db%25c\xff=\0\n=\n" in head


def test_acls_as_text() -> None:
    acl = bytes.fromhex("0200000001000600ffffffff02000400e803000004000400ffffffff10000400ffffffff20000000ffffffff")
    assert acl_text(acl) == b"user::rw-,user:1000:r--,group::r--,mask::r--,other::---"
    for none in (b"", acl[:-1], b"\3" + acl[1:], acl[:4] + b"\x40" + acl[5:], acl.replace(b"\xe8\3\0\0", b"\xff" * 4)):
        assert acl_text(none) is None


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(st.booleans(), st.integers(1, 4 * WORTHWHILE)), min_size=1, max_size=12))
def test_parts_and_holes_are_the_file(runs: list[tuple[bool, int]]) -> None:
    """Every byte of data is in a part; parts begin and end at blocks, but for the file's end."""
    pieces = [Piece(length, b"x" if data else None) for data, length in runs]
    size = sum(length for _, length in runs)
    written = list(parts(holes(pieces, size), size))
    plan = layout(written)
    position = 0
    covered: list[tuple[int, int]] = []
    for start, length in written:
        assert start % pax.BLOCK == 0 or (start == size and not length)
        assert length % pax.BLOCK == 0 or start + length == size
        assert start >= position
        position = start + length
        covered.append((start, position))
    assert position == size
    at = 0
    for data, length in runs:
        if data:
            assert any(start <= at and at + length <= end for start, end in covered)
        at += length
    lines = b"".join(map_lines(plan, written))
    assert len(lines) % pax.BLOCK == 0
    assert plan.size == len(lines) + plan.data_bytes
    numbers = [int(each) for each in lines.rstrip(b"\0").split()]
    assert numbers == [len(written), *(number for span in written for number in span)]

"""Manifests that someone with the keys wrote by hand, given to everything that reads backups (engine.md 1.8; 2.12)."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from repositories.engine.ids import ChunkKind
from tests.engine.hostile.evil import BLOCK_DEVICE, CHARACTER_DEVICE, DIRECTORY, FIFO, LINK, Evil, hole, item
from tests.engine.hostile.fuzzing import limit_memory, limited_time
from tests.engine.hostile.packing import Raw, pack
from tests.engine.hostile.readers import CONTENT, DAMAGED, NAMES, WRITERS, Reader, code_of
from tests.engine.users import as_ordinary_user, in_a_child

ALL = WRITERS | CONTENT | NAMES
Attack = Callable[[Evil], None]


def in_root(*entries: Any) -> Attack:
    return lambda evil: evil.tree([(b"", entries)])


def in_groups(*groups: tuple[bytes, list[Any]]) -> Attack:
    return lambda evil: evil.tree(groups)


A = item(b"a", DIRECTORY)
NAMES_THAT_ARE_NONE: dict[str, Attack] = {
    repr(name[:9]): in_root(hole(name))
    for name in (b"", b".", b"..", b"a/b", b"/x", b"/", b"x\0y", b"\0", b"n" * 1025, b"../../x")
}
PATHS_THAT_ARE_NONE: dict[str, Attack] = {
    f"directory {path[:9]!r}": in_groups((b"", [A]), (path, [hole(b"x")]))
    for path in (b"..", b".", b"/", b"/a", b"a/", b"a//b", b"a/..", b"a/../..", b"a/.", b"a\0b", b"a" * 300_000)
}
ORDER: dict[str, Attack] = {
    "unsorted": in_root(hole(b"b"), hole(b"a")),
    "twice": in_root(hole(b"a"), hole(b"a")),
    "a link and a directory of one name": in_groups(
        (b"", [item(b"a", LINK, target=b"/tmp", size=4), A]), (b"a", [hole(b"x")])
    ),
    "one directory in two places": in_groups(
        (b"", [A, item(b"b", DIRECTORY)]), (b"b", [hole(b"x")]), (b"a", [hole(b"x")])
    ),
    "one listing twice": in_groups((b"", [A]), (b"a", [hole(b"x")]), (b"a", [hole(b"x")])),
    "below before above": in_groups((b"", [A]), (b"a/b", [hole(b"x")]), (b"a", [item(b"b", DIRECTORY)])),
    "an empty group": in_groups((b"", []), (b"a", [hole(b"x")])),
    "a group that shares what is not there": lambda evil: evil.commit(
        pages=[evil.page(0, [[5, b"a", [hole(b"x")]]]), 0, 1, 0]
    ),
    "a group that shares less than nothing": lambda evil: evil.commit(
        pages=[evil.page(0, [[-1, b"", [hole(b"x")]]]), 0, 1, 0]
    ),
}
VALUES: dict[str, Attack] = {
    "an unknown time": in_root(hole(b"x", mtime=b"\1" * 5000)),
    "a time of nothing": in_root(hole(b"x", mtime=b"")),
    "a mode of 32 bits": in_root(hole(b"x", mode=2**31)),
    "a mode below zero": in_root(hole(b"x", mode=-1)),
    "an owner below zero": in_root(hole(b"x", uid=-1)),
    "a group of 64 bits": in_root(hole(b"x", gid=2**63)),
    "a size below zero": in_root(item(b"x", size=-1)),
    "a size of 64 bits": in_root(item(b"x", size=2**64 - 1, extents=[2**63])),
    "a device of 64 bits": in_root(item(b"x", BLOCK_DEVICE, device=[2**64 - 1, 0])),
    "a device below zero": in_root(item(b"x", CHARACTER_DEVICE, device=[-1, -1])),
    "nul in a target": in_root(item(b"x", LINK, target=b"a\0b", size=3)),
    "nul in the name of an attribute": in_root(hole(b"x", xattrs=[[b"user.a\0b", b"v"]])),
    "an attribute without a name": in_root(hole(b"x", xattrs=[[b"", b"v"]])),
    "an attribute of two values": in_root(hole(b"x", xattrs=[[b"user.a", b"v", [bytes(32)]]])),
    "a chunk id that is none": in_root(item(b"x", size=5, extents=[b"short"])),
    "a number that is a text": in_root(hole(b"x", uid="0")),
    "a number that is a fraction": in_root(hole(b"x", uid=0.0)),
    "an entry that is a map": in_root(Raw(b"\x81\x01\x02")),
    "an entry that is cut": in_root(Raw(b"\x9f\x01\xa1")),
    "nesting without end": in_root(Raw(b"\x91" * 100_000 + b"\xc0")),
    "nesting in a field to come": in_root(Raw(b"\xdc\x00\x11" + pack(hole(b"x"))[5:] + b"\x91" * 100_000 + b"\xc0")),
    "an array of four billion": in_root(Raw(b"\xdd\xff\xff\xff\xff")),
    "bytes behind a page": lambda evil: evil.commit(
        pages=[evil.put((ChunkKind.PAGE, pack([0, [[0, b"", [hole(b"x")]]]]) + b"\0"))[0], 0, 1, 0]
    ),
    "a level of 2^40": lambda evil: evil.commit(pages=[evil.leaf([(b"", [hole(b"x")])])[0], 2**40, 1, 0]),
    "a level below zero": lambda evil: evil.commit(pages=[evil.leaf([(b"", [hole(b"x")])])[0], -1, 1, 0]),
    "a count below zero": lambda evil: evil.commit(pages=[evil.leaf([(b"", [hole(b"x")])])[0], 0, -1, 0]),
    "a count that lies": lambda evil: evil.commit(pages=[evil.leaf([(b"", [hole(b"x")])])[0], 0, 7, 0]),
    "a page of another kind": lambda evil: evil.commit(
        pages=[evil.page(0, [[0, b"", [hole(b"x")]]], ChunkKind.STREAM), 0, 1, 0]
    ),
    "a source whose root is a link": lambda evil: evil.commit(pages=None, top=item(b".", LINK, target=b"/etc", size=4)),
    "a root with an impossible attribute": lambda evil: evil.commit(
        pages=None, top=item(b".", DIRECTORY, xattrs=[[b"a\0b", b""]])
    ),
    "a root that is no record": lambda evil: evil.commit_bytes(b"\x93\x01"),
    "a root that is too long": lambda evil: evil.commit(pages=None, backup_id="x" * 70_000),
    "a root with bad text": lambda evil: evil.commit(pages=None, backup_id=Raw(b"\xa2\xff\xfe")),
}


def doubling(evil: Evil, levels: int, *, keys: bool) -> None:
    """Each list names the one below it twice: 2^levels leaves."""
    page, _, count, _ = evil.leaf([(b"", [hole(b"x")])])
    for level in range(1, levels + 1):
        second = [page, count, 0, b"", b"y"] if keys else [page, count, 0, b"", b"x"]
        page, count = evil.page(level, [[page, count, 0, b"", b"x"], second]), count * 2
    evil.commit(pages=[page, levels, count, 0])


def lost_pages(evil: Evil, levels: int) -> None:
    """The same, of a leaf that does not exist: readers pass over lost pages, but not 2^levels of them."""
    page, count = b"\1" * 32, 1
    for level in range(1, levels + 1):
        page, count = evil.page(level, [[page, count, 0, b"", b"x"], [page, count, 0, b"", b"y"]]), count * 2
    evil.commit(pages=[page, levels, count, 0])


def wide_lists(evil: Evil) -> None:
    """As many pages in each list as fit, on each level: what waits to be read would fill the memory."""
    page, count = b"\1" * 32, 1
    for level in range(1, 9):
        others = [
            [bytes([level]) + number.to_bytes(31, "big"), 1, 0, b"", b"x%06d" % number] for number in range(1, 20_000)
        ]
        page, count = evil.page(level, [[page, count, 0, b"", b"x"], *others]), count + len(others)
    evil.commit(pages=[page, 8, count, 0])


PAGES: dict[str, Attack] = {
    "a page in itself, as far as ids allow": lambda evil: doubling(evil, 60, keys=False),
    "the same with other keys": lambda evil: doubling(evil, 60, keys=True),
    "a page twice in one list": lambda evil: doubling(evil, 1, keys=False),
    "lost pages without end": lambda evil: lost_pages(evil, 60),
    "lists too wide to hold": wide_lists,
    "an empty list": lambda evil: evil.commit(pages=[evil.page(1, []), 1, 1, 0]),
    "a list in the place of a leaf": lambda evil: evil.commit(
        pages=[evil.page(1, [[bytes(32), 1, 0, b"", b"x"]]), 0, 1, 0]
    ),
    "a list without keys": lambda evil: evil.commit(
        pages=[evil.page(1, [[evil.leaf([(b"", [hole(b"x")])])[0], 1, 0, None, None]]), 1, 1, 0]
    ),
    "a list with a false key": lambda evil: evil.commit(
        pages=[evil.page(1, [[evil.leaf([(b"", [hole(b"x")])])[0], 1, 0, b"", b"a"]]), 1, 1, 0]
    ),
    "a page that does not exist": lambda evil: evil.commit(pages=[b"\1" * 32, 0, 1, 0]),
}


def streams_of_holes(evil: Evil) -> None:
    page, count = evil.page(0, [[1, None]], ChunkKind.STREAM), 1
    for level in range(1, 61):
        page, count = evil.page(level, [[page, count, count, None, None]] * 2, ChunkKind.STREAM), count * 2
    evil.tree([(b"", [item(b"x", size=count, stream=[page, 60, count, count])])])


def wide_streams(evil: Evil) -> None:
    page, count = b"\1" * 32, 1
    for level in range(1, 9):
        others = [[bytes([level]) + number.to_bytes(31, "big"), 1, 1, None, None] for number in range(1, 20_000)]
        page, count = (
            evil.page(level, [[page, count, count, None, None], *others], ChunkKind.STREAM),
            count + len(others),
        )
    evil.tree([(b"", [item(b"x", size=count, stream=[page, 8, count, count])])])


def stream(*records: Any, size: int, count: int | None = None, length: int | None = None) -> Attack:
    def attack(evil: Evil) -> None:
        page = evil.page(0, list(records), ChunkKind.STREAM)
        ref = [page, 0, len(records) if count is None else count, size if length is None else length]
        evil.tree([(b"", [item(b"x", size=size, stream=ref)])])

    return attack


def long_attribute(evil: Evil) -> None:
    """A value of 64 GB: one chunk, 8,000 times over."""
    (chunk,) = evil.put((ChunkKind.STREAM, bytes(8_000_000)))
    evil.tree([(b"", [hole(b"x", xattrs=[[b"user.a", None, [chunk] * 8000]])])])


def many_attributes(evil: Evil) -> None:
    """Each value may be, all together no file has."""
    (chunk,) = evil.put((ChunkKind.STREAM, bytes(8_000_000)))
    evil.tree([(b"", [hole(b"x", xattrs=[[b"user.%d" % number, None, [chunk]] for number in range(120)])])])


CONTENTS: dict[str, Attack] = {
    "longer than its size": in_root(item(b"x", size=1, extents=[100])),
    "shorter than its size": in_root(item(b"x", size=100, extents=[1])),
    "a size without content": in_root(item(b"x", size=2**62)),
    "holes that add up beyond 64 bits": in_root(item(b"x", size=2**62, extents=[2**62] * 8)),
    "a hole of nothing": in_root(item(b"x", size=3, extents=[0, 3])),
    "a hole below zero": in_root(item(b"x", size=1, extents=[-5, 6])),
    "content that is nowhere": in_root(item(b"x", size=5, extents=[b"\1" * 32])),
    "a stream that is nowhere": in_root(item(b"x", size=5, stream=[b"\1" * 32, 0, 1, 5])),
    "a stream of 2^60 holes": streams_of_holes,
    "streams too wide to hold": wide_streams,
    "an extent below zero": stream([-1, None], [4, None], size=3),
    "an extent of nothing": stream([0, None], [3, None], size=3),
    "a count that lies": stream([3, None], size=3, count=2),
    "a length that lies": stream([3, None], size=3, length=4),
    "a chunk that is nowhere": stream([3, b"\1" * 32], size=3),
    "an attribute of 64 GB": long_attribute,
    "attributes of 1 GB together": many_attributes,
    "a value that is nowhere": in_root(hole(b"x", xattrs=[[b"user.a", None, [b"\1" * 32]]])),
    "a type that is not known": in_root(item(b"x", 99)),
    "a type below zero": in_root(item(b"x", -1)),
    "a link without target": in_root(item(b"x", LINK)),
    "a device without number": in_root(item(b"x", BLOCK_DEVICE)),
}
PARENTS: dict[str, Attack] = {
    "a link as a parent": in_groups((b"", [item(b"a", LINK, target=b"../outside", size=10)]), (b"a", [hole(b"x")])),
    "a link as a grandparent": in_groups((b"", [item(b"a", LINK, target=b"..", size=2)]), (b"a/outside", [hole(b"x")])),
    "a file as a parent": in_groups((b"", [hole(b"a")]), (b"a", [hole(b"x")])),
    "a pipe as a parent": in_groups((b"", [item(b"a", FIFO)]), (b"a", [hole(b"x")])),
    "a directory nobody made": in_groups((b"ghost", [hole(b"x")])),
    "directories nobody made": in_groups((b"", [A]), (b"a/b/c", [hole(b"x")])),
    "a hard link through a link": in_groups(
        (b"", [item(b"a", LINK, target=b"../outside", size=10), hole(b"b", link_group=[0, 1])]),
        (b"a", [hole(b"x", link_group=[0, 1])]),
    ),
}


def all_codes(attack: Attack, readers: dict[str, Reader], place: Path) -> dict[str, tuple[int, str]]:
    """Return what each reader says, each in a directory of its own beside one that must stay as it is."""

    def run() -> dict[str, tuple[int, str]]:
        evil = Evil()
        attack(evil)
        limit_memory()
        codes = {}
        for name, reader in readers.items():
            inner = place / name.replace(" ", "-") / "in"
            (inner / "outside").mkdir(parents=True)
            with limited_time():
                codes[name] = code_of(reader, evil.repository, inner)
            assert set(os.listdir(inner)) <= {"outside", "target"}, name
            assert os.listdir(inner / "outside") == [], name
        return codes

    return in_a_child(run)


@pytest.mark.parametrize("attack", NAMES_THAT_ARE_NONE | PATHS_THAT_ARE_NONE | ORDER | VALUES | PAGES)
def test_no_reader_takes_a_manifest_that_no_backup_writes(attack: str, tmp_path: Path) -> None:
    """Exit 13 and a message from each, nothing outside the target, in bounded time and memory."""
    codes = all_codes((NAMES_THAT_ARE_NONE | PATHS_THAT_ARE_NONE | ORDER | VALUES | PAGES)[attack], ALL, tmp_path)
    assert {name: code for name, (code, _) in codes.items() if code != DAMAGED} == {}


@pytest.mark.parametrize("attack", CONTENTS | PARENTS)
def test_content_and_parents_that_cannot_be(attack: str, tmp_path: Path) -> None:
    """All that writes or promises content says 13; what only shows names may show them."""
    codes = all_codes((CONTENTS | PARENTS)[attack], ALL, tmp_path)
    wrong = {name: code for name, (code, _) in codes.items() if code not in expected(attack, name)}
    assert wrong == {}


def expected(attack: str, reader: str) -> tuple[int, ...]:
    """Return the codes that are right."""
    if reader in NAMES:
        return (0, DAMAGED)
    # A directory with something in it gives way to nothing: it is kept, and what would lie below is left out.
    return (3, DAMAGED) if reader == "restore over" and attack in PARENTS else (DAMAGED,)


@pytest.mark.parametrize("attack", [name for name in VALUES if name.startswith("a root")])
def test_a_root_that_is_none_hides_no_other_backup(attack: str, tmp_path: Path) -> None:
    """It is laid aside and named; the backups beside it are listed and restored."""
    evil = Evil()
    evil.tree([(b"", [hole(b"good")])])
    VALUES[attack](evil)
    assert code_of(WRITERS["restore"], evil.repository, tmp_path) == (0, "")
    assert os.listdir(tmp_path / "target") == ["good"]
    assert len(evil.repository.damaged_manifests()) == 1


@pytest.mark.parametrize("attack", PARENTS)
def test_an_ordinary_user_is_as_safe(attack: str, tmp_path: Path) -> None:
    """2.14: the same without privileges, where less of the system stands in the way of a mistake."""
    evil = Evil()
    PARENTS[attack](evil)
    (tmp_path / "outside").mkdir()
    at = os.open(tmp_path, os.O_RDONLY)

    def run() -> tuple[int, str]:
        os.fchdir(at)
        return code_of(WRITERS["restore"], evil.repository, Path("."))

    code, _ = as_ordinary_user(run, tmp_path)
    assert code == DAMAGED
    assert os.listdir(tmp_path / "outside") == []
    assert sorted(os.listdir(tmp_path)) == ["outside", "target"]

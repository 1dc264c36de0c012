"""Index segments and blocks that someone with the keys made by hand: refused, in bounded memory (2.12)."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
import zstandard

from repositories.engine.codec.frames import encode_frame
from repositories.engine.format.headers import parse_object_header
from repositories.engine.format.kinds import ObjectKind, PartKind, object_name
from repositories.engine.ids import ChunkKind
from repositories.engine.repository import Repository, open_repository
from repositories.engine.storage.memory import MemoryStorage
from tests.engine.hostile.evil import Evil, item
from tests.engine.hostile.fuzzing import limit_memory, limited_time
from tests.engine.hostile.packing import pack
from tests.engine.hostile.readers import DAMAGED, WRITERS, checked, code_of
from tests.engine.repositories import PASSWORD
from tests.engine.users import in_a_child

CONTENT = b"content of the one file " * 100
ID, LENGTH, HASH, CLASS, HEADER, BLOCKS = range(6)
OFFSET, PART, DECODED, TABLE = range(4)


def with_one_file() -> Evil:
    evil = Evil()
    (chunk,) = evil.put((ChunkKind.DATA, CONTENT))
    evil.tree([(b"", [item(b"x", size=len(CONTENT), extents=[chunk])])])
    return evil


def packs_of(repository: Repository) -> list[list[Any]]:
    """Return the records of all packs, as lists; one that holds data is the first."""
    store = repository.store
    segments = [msgspec.msgpack.decode(store.read(ObjectKind.INDEX, each)) for each in store.ids(ObjectKind.INDEX)]
    return sorted((each for segment in segments for each in segment[4]), key=lambda each: each[CLASS])


def reindex(repository: Repository, packs: list[list[Any]]) -> None:
    """Put a segment with these packs in the place of all others.

    Those go: beside one that is refused, the ones that it claims to replace would still count.
    """
    for each in repository.store.ids(ObjectKind.INDEX):
        repository.store.remove(ObjectKind.INDEX, each)
    repository.store.put(ObjectKind.INDEX, pack([0, bytes(16), 1, [], packs]))


def changed(*path: int, value: Any) -> Callable[[list[Any]], None]:
    """Return what sets one field of the first pack's record."""

    def change(record: list[Any]) -> None:
        place: Any = record
        for step in path[:-1]:
            place = place[step]
        place[path[-1]] = value(place[path[-1]]) if callable(value) else value

    return change


def block_twice(record: list[Any]) -> None:
    record[BLOCKS].append(list(record[BLOCKS][0]))


def chunks_without_end(record: list[Any]) -> None:
    count = 65_537
    table = count.to_bytes(4, "big") + bytes([1]) * count + bytes(4 * count) + os.urandom(32) * count
    record[BLOCKS][0][TABLE] = table


RECORDS: dict[str, Callable[[list[Any]], None]] = {
    "an offset below zero": changed(BLOCKS, 0, OFFSET, value=-1),
    "an offset of 2^63": changed(BLOCKS, 0, OFFSET, value=2**63),
    "an offset beyond the pack": changed(BLOCKS, 0, OFFSET, value=lambda at: at + 10_000),
    "an offset a little off": changed(BLOCKS, 0, OFFSET, value=lambda at: at + 1),
    "a part of 2^62 bytes": changed(BLOCKS, 0, PART, value=2**62),
    "a part of 200 MB": changed(BLOCKS, 0, PART, value=200_000_000),
    "a part below zero": changed(BLOCKS, 0, PART, value=-5),
    "a part of nothing": changed(BLOCKS, 0, PART, value=0),
    "a block of 4 GB": changed(BLOCKS, 0, DECODED, value=2**32),
    "a block twice": block_twice,
    "more chunks than packs have": chunks_without_end,
    "a table of nothing": changed(BLOCKS, 0, TABLE, value=b""),
    "a table without chunks": changed(BLOCKS, 0, TABLE, value=bytes(4)),
    "a table that is cut": changed(BLOCKS, 0, TABLE, value=lambda table: table[:-1]),
    "a table with a count of 2^32": changed(BLOCKS, 0, TABLE, value=lambda table: b"\xff\xff\xff\xff" + table[4:]),
    "a table with another length": changed(BLOCKS, 0, TABLE, value=lambda t: t[:5] + b"\xff\xff\xff\xff" + t[9:]),
    "a chunk of an unknown kind": changed(BLOCKS, 0, TABLE, value=lambda table: table[:4] + b"\x09" + table[5:]),
    "a pack id that is too short": changed(ID, value=b"short"),
    "a pack id of nothing": changed(ID, value=b""),
    "another pack's id": changed(ID, value=bytes(16)),
    "a pack of 2^60 bytes": changed(LENGTH, value=2**60),
    "a pack of fewer bytes": changed(LENGTH, value=lambda length: length - 1),
    "a header that is cut": changed(HEADER, value=lambda header: header[:71]),
    "a header of nonsense": changed(HEADER, value=b"\0" * 72),
    "a header of another kind": changed(HEADER, value=lambda header: header[:8] + b"\x05" + header[9:]),
    "a header of an epoch that never was": changed(
        HEADER, value=lambda header: header[:16] + b"\xff" * 4 + header[20:]
    ),
    "no blocks": changed(BLOCKS, value=[]),
    "blocks that are no list": changed(BLOCKS, value=7),
}
BOMB = zstandard.ZstdCompressor(level=1).compress(bytes(1_000_000_000))
UNSIZED = zstandard.ZstdCompressor(write_content_size=False).compress(bytes(50_000_000))


def frame(payload: bytes, decoded: int, table: bytes, *, codec: int = 1, padding: int = 0, rest: int = 0) -> bytes:
    head = bytes([codec, 0, 0, 0]) + b"".join(n.to_bytes(4, "big") for n in (rest, decoded, padding, len(table)))
    return head + table + payload


FRAMES: dict[str, Callable[[bytes], bytes]] = {
    "a gigabyte that says so": lambda table: frame(BOMB, 1_000_000_000, table),
    "a gigabyte that says it is small": lambda table: frame(BOMB, len(CONTENT), table),
    "content without a declared size": lambda table: frame(UNSIZED, len(CONTENT), table),
    "padding longer than the frame": lambda table: frame(CONTENT, len(CONTENT), table, codec=0, padding=2**32 - 1),
    "raw content of another length": lambda table: frame(CONTENT[:-1], len(CONTENT), table, codec=0),
    "a codec that is not known": lambda table: frame(CONTENT, len(CONTENT), table, codec=7),
    "a dictionary that is not known": lambda table: frame(CONTENT, len(CONTENT), table, rest=9),
    "no zstd at all": lambda table: frame(b"nonsense", len(CONTENT), table),
    "other content": lambda table: encode_frame(bytes(len(CONTENT)), 3, table=table),
    "another table": lambda table: encode_frame(CONTENT, 3, table=table[:-1] + bytes([table[-1] ^ 1])),
    "nothing": lambda table: b"",
}


def forge_block(evil: Evil, build: Callable[[bytes], bytes]) -> None:
    """Seal a frame of our own as the first block of the data pack, and say in the index where it ends."""
    storage, store = evil.repository.storage, evil.repository.store
    assert isinstance(storage, MemoryStorage)
    packs = packs_of(evil.repository)
    block = packs[0][BLOCKS][0]
    seal = store.seal_of(parse_object_header(packs[0][HEADER]))
    part = bytes(seal.seal(0, PartKind.BLOCK, build(block[TABLE])))
    data = packs[0][HEADER] + part
    storage.objects[object_name(ObjectKind.PACK, packs[0][ID])] = data
    block[PART], packs[0][LENGTH], packs[0][BLOCKS] = len(part), len(data), [block]
    reindex(evil.repository, packs)


def codes_of(evil: Evil, place: Path) -> dict[str, int]:
    def run() -> dict[str, int]:
        limit_memory()
        codes = {}
        for name, reader in (WRITERS | {"check": checked}).items():
            inner = place / name.replace(" ", "-") / "in"
            inner.mkdir(parents=True)
            with limited_time():
                codes[name] = code_of(reader, open_repository(evil.repository.storage, PASSWORD), inner)[0]
        return codes

    return in_a_child(run)


@pytest.mark.parametrize("change", RECORDS)
def test_an_index_that_lies(change: str, tmp_path: Path) -> None:
    """What an index says of a pack is refused, or turns out when the pack is read: exit 13 from every reader.

    Or the pack's own directory tells the truth: then what is restored is right. A check ends with 13 in any case.
    """
    evil = with_one_file()
    packs = packs_of(evil.repository)
    RECORDS[change](packs[0])
    reindex(evil.repository, packs)
    codes = codes_of(evil, tmp_path)
    assert codes.pop("check") == DAMAGED
    assert set(codes.values()) <= {0, DAMAGED}
    for name in (name for name, code in codes.items() if code == 0):
        assert (tmp_path / name.replace(" ", "-") / "in" / "target" / "x").read_bytes() == CONTENT


@pytest.mark.parametrize("build", FRAMES)
def test_a_block_that_is_a_bomb(build: str, tmp_path: Path) -> None:
    """Declared sizes are checked before anything is decoded."""
    evil = with_one_file()
    forge_block(evil, FRAMES[build])
    codes = codes_of(evil, tmp_path)
    if build == "another table":
        del codes["without syncova"]  # it goes by the index's table, and by the hash of what it gives out
    assert set(codes.values()) == {DAMAGED}, codes


def test_objects_that_are_too_large_are_not_taken_in(tmp_path: Path) -> None:
    """Whoever holds the medium needs no key to put a huge file where a manifest belongs."""
    evil = with_one_file()
    storage = evil.repository.storage
    assert isinstance(storage, MemoryStorage)
    for name in list(storage.objects):
        if name.startswith(("manifests/", "copies/manifests/")):
            storage.objects[name] = bytes(64 * 1024 * 1024)
    assert list(evil.repository.backups()) == []
    assert evil.repository.damaged_manifests()
    assert checked(evil.repository, None, tmp_path) == DAMAGED  # type: ignore[arg-type]

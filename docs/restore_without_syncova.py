#!/usr/bin/env python3
# ruff: noqa: PTH102
"""Lists and restores backups of a Syncova repository without Syncova: this one file is enough.

Written from docs/repository-format.md alone; it shares no code with the engine, so that it also proves the format.
Needs Python 3.11 and three libraries: pip install cryptography zstandard blake3

    python3 restore_without_syncova.py REPOSITORY list
    python3 restore_without_syncova.py REPOSITORY restore BACKUP NEW_DIRECTORY

It is one file on purpose, slow and simple, never writes to the repository, and checks every byte that it gives out.
"""

import argparse
import contextlib
import datetime as dt
import getpass
import hmac
import os
import struct
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import blake3
import zstandard
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.argon2 import Argon2id
from cryptography.hazmat.primitives.kdf.hkdf import HKDF, HKDFExpand

KEYRING, SLOT, PACK, INDEX, MANIFEST, SWEEP, INVENTORY = 2, 3, 4, 5, 6, 12, 16
RECORD_PART, BLOCK_PART, DIRECTORY_PART = 1, 2, 3
DATA_CHUNK, PAGE_CHUNK, STREAM_CHUNK = 1, 2, 3
FILE, DIRECTORY, LINK, FIFO, CHARACTER_DEVICE, BLOCK_DEVICE = 1, 2, 3, 4, 5, 6
OBJECT_HEADER, PART_HEADER = struct.Struct(">8sBBBBII16s32s4s"), struct.Struct(">4sBBHI12s")
CLEAR_HEADER, FRAME, FOOTER = struct.Struct(">8sBBHI"), struct.Struct(">BBHIIII"), struct.Struct(">8sQIIQ")
DAMAGED = (
    *(OSError, ValueError, LookupError, TypeError, OverflowError, AttributeError),
    *(struct.error, InvalidTag, zstandard.ZstdError),
)
# Limits of the format: what is beyond them no backup wrote, and it must not fill the memory.
MOST_DECODED, MOST_PART, MOST_OBJECT = 256 << 20, 24 << 20, 290 << 20
MOST_SIZE, MOST_XATTRS, MOST_PENDING, MOST_LEVELS, MOST_NESTING = 2**63 - 1, 64 << 20, 1 << 17, 64, 32


class RetiredError(ValueError):
    """Sealed with a key from before a rotation, and in no inventory: it does not count."""


def unpack(data: bytes) -> Any:
    """Decode one MessagePack value; bytes behind it are refused."""
    value, end = _value(data, 0, 0)
    if end != len(data):
        raise ValueError("bytes behind a record")
    return value


def _value(data: bytes, at: int, depth: int) -> tuple[Any, int]:
    tag, at = data[at], at + 1
    if tag <= 0x7F:
        return tag, at
    if tag >= 0xE0:
        return tag - 256, at
    if 0x90 <= tag <= 0x9F:
        return _array(data, at, tag - 0x90, depth)
    if 0xA0 <= tag <= 0xBF:
        return _bytes(data, at, tag - 0xA0).decode(), at + tag - 0xA0
    if tag in (0xC0, 0xC2, 0xC3):
        return {0xC0: None, 0xC2: False, 0xC3: True}[tag], at
    if 0xCC <= tag <= 0xD3:
        width = 1 << (tag - 0xCC) % 4
        return int.from_bytes(_bytes(data, at, width), "big", signed=tag >= 0xD0), at + width
    first = {0xC4: 0xC4, 0xC5: 0xC4, 0xC6: 0xC4, 0xD9: 0xD9, 0xDA: 0xD9, 0xDB: 0xD9, 0xDC: 0xDB, 0xDD: 0xDB}[tag]
    width = 1 << tag - first
    length, at = int.from_bytes(_bytes(data, at, width), "big"), at + width
    if tag >= 0xDC:
        return _array(data, at, length, depth)
    raw = _bytes(data, at, length)
    return raw if tag <= 0xC6 else raw.decode(), at + length


def _bytes(data: bytes, at: int, length: int) -> bytes:
    if at + length > len(data):
        raise ValueError("a record is cut")
    return data[at : at + length]


def _array(data: bytes, at: int, length: int, depth: int) -> tuple[list[Any], int]:
    if depth > MOST_NESTING:
        raise ValueError("a record is nested without end")
    items = []
    for _ in range(length):
        item, at = _value(data, at, depth + 1)
        items.append(item)
    return items, at


def field(record: list[Any], number: int) -> Any:
    """Return a field of a record; fields that a shorter, older record lacks are None."""
    return record[number] if number < len(record) else None


def open_clear(data: bytes) -> Any:
    """Return the record of a clear object (config, slot), its checksum verified."""
    if blake3.blake3(data[:-32]).digest() != data[-32:]:
        raise ValueError("a clear object is damaged")
    return unpack(data[CLEAR_HEADER.size : -32])


def open_part(secret: bytes, repository_id: bytes, header: bytes, part: bytes, binding: bytes) -> tuple[bytes, bytes]:
    """Return (table, payload) of a sealed part. `binding`: part number, kind, flags, and what else it is bound to."""
    _, kind, _, _, _, domain, _, object_id, salt, _ = OBJECT_HEADER.unpack(header)
    info = b"syncova/1" + repository_id + bytes([kind]) + domain.to_bytes(4, "big") + object_id
    key = HKDF(SHA256(), 64, salt=salt, info=info).derive(secret)[:32]
    *_, nonce = PART_HEADER.unpack_from(part)
    plain = AESGCM(key).decrypt(nonce, part[PART_HEADER.size :], header + binding)
    codec, _, _, _, decoded_length, padding, table_length = FRAME.unpack_from(plain)
    start = FRAME.size + table_length
    payload = plain[start : len(plain) - padding]
    if decoded_length > MOST_DECODED or codec > 1:
        raise ValueError("a part is longer than any, or encoded in an unknown way")
    if codec == 1:
        if zstandard.frame_content_size(payload) != decoded_length:
            raise ValueError("a compressed part has another length than it says")
        payload = zstandard.ZstdDecompressor().decompress(payload, max_output_size=decoded_length)
    if len(payload) != decoded_length:
        raise ValueError("a part has another length than it says")
    return plain[FRAME.size : start], payload


def binding(number: int, kind: int) -> bytes:
    """Return what ties a part to its place in the object."""
    return struct.pack(">IBB", number, kind, 0)


def recovery_secret(text: str) -> bytes | None:
    """Return the secret in a recovery code, or None when `text` is none."""
    alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
    between = dict.fromkeys((0x2D, *range(0x2010, 0x2016), 0x2212, 0xFEFF, 0x200B))
    plain = "".join(text.translate(between).upper().split()).translate(str.maketrans("OIL", "011"))
    if len(plain) != 36 or any(letter not in alphabet for letter in plain):
        return None
    value = 0
    for letter in plain:
        value = value << 5 | alphabet.index(letter)
    return (value >> 20).to_bytes(20, "big")


class Repository:
    """An opened repository: config, keys, and where every chunk lies."""

    def __init__(self, path: Path, secret: str) -> None:
        self.path = path
        name = next(iter(self.names("config")), None)
        if name is None:
            raise SystemExit(f"there is no repository at {path}")
        self.config_bytes, config = self._config(name)
        self.id: bytes = config[1]
        generation = self._generation()
        keyring = self._keyring(generation, list(self._unlock(generation, secret)))
        if config[3] or keyring[9]:
            raise SystemExit(f"the repository uses {config[3]} {keyring[9]}, which this program does not know")
        self.epochs: dict[int, bytes] = {epoch: secret for epoch, secret, _ in keyring[3]}
        self.epoch: int = keyring[4]
        self.chunk_keys: dict[int, bytes] = {kind: key for domain, kind, key in keyring[5] if domain == 0}
        self.inventory: dict[tuple[int, bytes], bytes] = {}
        if field(keyring, 11) is not None:
            self.inventory = self._inventory(f"inventories/{keyring[11].hex()}", keyring[12])
        sweeps = []
        for name in self.names("sweeps"):
            with contextlib.suppress(RetiredError):
                sweeps.append(self.read(name, SWEEP))
        self.sweep: list[Any] = max(sweeps, key=lambda sweep: sweep[0], default=[0, b"", 0, b"", b"", b"", b""])
        self.places: dict[bytes, list[tuple[bytes, bytes, int, int, int, int, int]]] = {}
        self.salvaged = False
        self.lost: list[str] = []
        self._read_index()
        self._block: tuple[object, bytes] = (None, b"")

    def _generation(self) -> str:
        """Return the newest generation of the keys, as names have it."""
        newest = max((name.split("/")[1] for name in self.names("keyrings")), default="")
        slots = {name.split("/")[1] for name in self.names("slots")}
        # Slots of a later one beside those of the newest are of a rotation that was broken off.
        later = "" if newest in slots else max(slots, default="")
        if later > newest:
            raise SystemExit(
                f"keyrings/{later} is missing, while its key slots are there: bring it back from a copy of the "
                "repository, but no older key slots: those let ended passwords in"
            )
        if not newest:
            raise SystemExit("no keyring is left: bring it back from a copy of the repository")
        return newest

    def _inventory(self, name: str, digest: bytes) -> dict[tuple[int, bytes], bytes]:
        try:
            entries = self.read(name, INVENTORY, digest)[1]
        except DAMAGED:
            raise SystemExit(
                f"both copies of {name} are lost: it lists what counts of all that is older than the last rotation of "
                "the keys; bring it back from a copy of the repository"
            ) from None
        return {(kind, object_id): listed for kind, object_id, listed in entries}

    def names(self, directory: str) -> list[str]:
        """Return the names of all objects of a kind that have at least one copy."""
        found = set()
        for root in (self.path, self.path / "copies"):
            found |= {str(file.relative_to(root)) for file in (root / directory).rglob("*") if file.is_file()}
        return sorted(found)

    def copies(self, name: str) -> Iterator[bytes]:
        """Yield the bytes of an object from each place that has it."""
        for root in (self.path, self.path / "copies"):
            with contextlib.suppress(FileNotFoundError), (root / name).open("rb") as file:
                yield file.read(min(MOST_OBJECT, os.fstat(file.fileno()).st_size))

    def read(self, name: str, kind: int, digest: bytes | None = None) -> Any:
        """Return the record of a sealed object, from the first copy that is whole (and has this BLAKE3)."""
        failure: Exception = ValueError(f"{name} is missing")
        for data in self.copies(name):
            try:
                if digest in (None, blake3.blake3(data).digest()):
                    return self._open(data, name, kind)
                failure = ValueError("it is not the one that the keyring names")
            except DAMAGED as error:
                failure = error
        if isinstance(failure, RetiredError):
            raise failure
        raise ValueError(f"{name} cannot be read: {failure!r}")

    def _open(self, data: bytes, name: str, kind: int) -> Any:
        header, part = data[: OBJECT_HEADER.size], data[OBJECT_HEADER.size :]
        _, stored_kind, _, _, _, _, epoch, object_id, _, _ = OBJECT_HEADER.unpack(header)
        if (stored_kind, object_id.hex()) != (kind, name.rpartition("/")[2]):
            raise ValueError("another object lies under this name")
        _, payload = open_part(self.epochs[epoch], self.id, header, part, binding(0, RECORD_PART))
        if epoch != self.epoch and self.inventory.get((kind, object_id)) != blake3.blake3(data).digest():
            raise RetiredError(f"{name} was sealed with a retired key and is in no inventory")
        return unpack(payload)

    def _config(self, name: str) -> tuple[bytes, list[Any]]:
        for data in self.copies(name):
            with contextlib.suppress(*DAMAGED):
                return data, open_clear(data)
        raise SystemExit("the config is damaged in both places")

    def _unlock(self, generation: str, secret: str) -> Iterator[bytes]:
        """Yield the key of each slot that the secret opens: one, but for what a rotation left that was broken off."""
        code = recovery_secret(secret)
        for name in self.names(f"slots/{generation}"):
            for data in self.copies(name):
                with contextlib.suppress(*DAMAGED):
                    facts_bytes, commitment, nonce, sealed = open_clear(data)[:4]
                    _, owner, of, slot_id, role, _, _, _, memory, passes, lanes, salt = unpack(facts_bytes)[:12]
                    if not (memory <= 1 << 20 and passes <= 64 and lanes <= 64):
                        continue
                    if (owner, f"slots/{of:08x}/{slot_id.hex()}") != (self.id, name):
                        continue
                    words = code if role == 2 else secret.encode()
                    kdf = Argon2id(salt=salt, length=32, iterations=passes, lanes=lanes, memory_cost=memory)
                    root = kdf.derive(words or b"")
                    derived = HKDFExpand(SHA256(), 64, info=b"syncova/1 slot" + facts_bytes).derive(root)
                    if hmac.compare_digest(derived[32:], commitment):
                        yield AESGCM(derived[:32]).decrypt(nonce, sealed, facts_bytes)
                        break

    def _keyring(self, generation: str, keys: list[bytes]) -> Any:
        if not keys:
            sys.stderr.write("no key slot opens with this password or recovery code\n")
            raise SystemExit(12)
        for name in self.names(f"keyrings/{generation}"):
            for data, key in ((data, key) for data in self.copies(name) for key in keys):
                with contextlib.suppress(*DAMAGED):
                    header, part = data[: OBJECT_HEADER.size], data[OBJECT_HEADER.size :]
                    bound = binding(0, RECORD_PART) + self.config_bytes
                    keyring = unpack(open_part(key, self.id, header, part, bound)[1])
                    if (keyring[0], f"{keyring[1]:08x}") == (self.id, generation):
                        return keyring
        raise SystemExit("the keyring is damaged")

    def _accepted(self, name: str, fence: int, listed: bytes) -> bool:
        object_id = bytes.fromhex(name.rpartition("/")[2])
        return fence >= self.sweep[0] or object_id in [listed[at : at + 16] for at in range(0, len(listed), 16)]

    def _read_index(self) -> None:
        segments = {}
        for name in self.names("index"):
            with contextlib.suppress(*DAMAGED):
                segments[name] = self.read(name, INDEX)
        counted = {name: each for name, each in segments.items() if self._accepted(name, each[0], self.sweep[5])}
        replaced = {f"index/{old.hex()}" for segment in counted.values() for old in segment[3]}
        for name, segment in counted.items():
            for pack_id, _, _, _, header, blocks in segment[4] if name not in replaced else ():
                for number, (offset, length, _, table) in enumerate(blocks):
                    self._add_block(pack_id, header, (number, offset, length), table)

    def _salvage_index(self) -> None:
        """Where the index is damaged or gone each pack still tells by its own directory what it holds."""
        self.salvaged = True
        sys.stderr.write("the index is damaged or lacks something: reading the directory of every pack instead\n")
        for name in self.names("packs"):
            with contextlib.suppress(*DAMAGED):
                data = (self.path / name).read_bytes()
                header = data[: OBJECT_HEADER.size]
                _, start, length, _, _ = FOOTER.unpack(data[-FOOTER.size :])
                secret = self.epochs[OBJECT_HEADER.unpack(header)[6]]
                bound = binding(0xFFFF_FFFF, DIRECTORY_PART)
                _, payload = open_part(secret, self.id, header, data[start : start + length], bound)
                for number, (offset, size, _, table) in enumerate(unpack(payload)[3]):
                    self._add_block(bytes.fromhex(name[-32:]), header, (number, offset, size), table)

    def _add_block(self, pack_id: bytes, header: bytes, place: tuple[int, int, int], table: bytes) -> None:
        (count,) = struct.unpack_from(">I", table)
        lengths = struct.unpack_from(f">{count}I", table, 4 + count)
        start = 0
        for position, length in enumerate(lengths):
            at = 4 + 5 * count + 32 * position
            known = self.places.setdefault(table[at : at + 32], [])
            if all(each[:3] != (pack_id, header, place[0]) for each in known):
                known.append((pack_id, header, *place, start, length))
            start += length

    def chunk(self, kind: int, chunk_id: bytes) -> bytes:
        """Return a chunk, authenticated and re-hashed, from whichever of its places is whole."""
        failure: Exception = ValueError(f"chunk {chunk_id.hex()} is in no pack")
        for _ in range(2):
            for place in self.places.get(chunk_id, ()):
                try:
                    return self._read_chunk(kind, chunk_id, place)
                except DAMAGED as error:
                    failure = error
            if not self.salvaged:
                self._salvage_index()
        raise failure

    def _read_chunk(self, kind: int, chunk_id: bytes, place: tuple[bytes, bytes, int, int, int, int, int]) -> bytes:
        pack_id, header, number, offset, length, start, size = place
        if self._block[0] != (pack_id, number):
            name = pack_id.hex()
            with (self.path / "packs" / name[:2] / name).open("rb") as pack:
                pack.seek(offset)
                part = pack.read(min(length, MOST_PART))
            secret = self.epochs[OBJECT_HEADER.unpack(header)[6]]
            _, content = open_part(secret, self.id, header, part, binding(number, BLOCK_PART))
            self._block = ((pack_id, number), content)
        data = self._block[1][start : start + size]
        if blake3.blake3(data, key=self.chunk_keys[kind]).digest() != chunk_id:
            raise ValueError(f"chunk {chunk_id.hex()} is damaged")
        return data

    def backups(self) -> list[tuple[str, int, Any]]:
        """Return (manifest id, time of receipt in ns, root) of each backup that counts, oldest first."""
        found = []
        for name in self.names("manifests"):
            try:
                fence, received, _, _, root = self.read(name, MANIFEST)[:5]
                if self._accepted(name, fence, self.sweep[3]):
                    found.append((name.rpartition("/")[2], received, unpack(root)))
            except RetiredError:
                continue
            except DAMAGED as error:
                self.lost.append(f"a backup is lost: {error!r}")
        return sorted(found, key=lambda backup: (backup[1], backup[0]))

    def leaves(self, kind: int, top: list[Any] | None) -> Iterator[tuple[list[Any], list[Any]]]:
        """Yield (reference, body) of the leaf pages below `top`, in order; a reference: id, level, count, length, key.

        What lists say of the pages below them has to agree, and their first keys have to rise: else a few pages that
        name each other on every level would stand for more entries than anybody could ever read.
        """
        stack = [] if top is None else [[*top[:4], None]]
        last = None
        while stack:
            page = stack.pop()
            chunk_id, level, count, length, key = page
            if not 0 <= level <= MOST_LEVELS or count < 1 or length < 0 or (last and key and key <= last):
                raise ValueError("a page comes twice, out of order, or at an impossible level")
            stored_level, body = unpack(self.chunk(kind, chunk_id))
            if stored_level != level:
                raise ValueError("a page stands at another level than it says")
            if level == 0:
                last = key
                yield page, body
                continue
            below = [[each[0], level - 1, each[1], each[2], _key(kind, each)] for each in body]
            sums = [sum(each[2] for each in below), sum(each[3] for each in below)]
            if sums != [count, length] or len(stack) + len(below) > MOST_PENDING or (key and below[0][4] != key):
                raise ValueError("a list of pages is not what the list above it says")
            stack.extend(reversed(below))

    def entries(self, root: list[Any]) -> Iterator[tuple[bytes, list[Any]]]:
        """Yield (directory, entry) of everything in a backup; parents come before what they hold."""
        for (_, _, count, _, key), groups in self.leaves(PAGE_CHUNK, field(root, 7)):
            directory, seen = b"", 0
            for shared, suffix, entries in groups:
                if not 0 <= shared <= len(directory) or not entries or len(directory) > 256 << 10:
                    raise ValueError("a hostile manifest: an impossible group")
                directory = directory[:shared] + suffix
                for entry in entries:
                    check_entry(entry)
                    if not seen and key and key != (directory.replace(b"/", b"\0"), entry[1]):
                        raise ValueError("a page begins with another entry than the list above it says")
                    seen += 1
                    yield directory, entry
            if seen != count:
                raise ValueError("a page holds another number of entries than the list above it says")

    def content(self, entry: list[Any]) -> Iterator[bytes | int]:
        """Yield a file's content: bytes, or the length of a hole."""
        for extent in field(entry, 10) or ():
            yield extent if isinstance(extent, int) else self.chunk(DATA_CHUNK, extent)
        hole_before = False
        for (_, _, count, total, _), records in self.leaves(STREAM_CHUNK, field(entry, 11)):
            if len(records) != count or sum(length for length, _ in records) != total:
                raise ValueError("a page of a content stream is not what the list above it says")
            for length, chunk_id in records:
                if hole_before and chunk_id is None:
                    raise ValueError("two holes in a row, which no backup writes")
                hole_before = chunk_id is None
                content = length if chunk_id is None else self.chunk(DATA_CHUNK, chunk_id)
                if chunk_id is not None and len(content) != length:
                    raise ValueError("a chunk has another length than its extent")
                yield content


def _key(kind: int, ref: list[Any]) -> tuple[bytes, bytes] | None:
    """Return the key of the first entry below a listed page; pages of streams have none."""
    if kind != PAGE_CHUNK:
        return None
    return ref[3].replace(b"/", b"\0"), ref[4] + b""


def check_entry(entry: list[Any]) -> None:
    """Raise ValueError for an entry that no backup wrote."""
    times = all(isinstance(time, int) or len(time) == 16 for time in entry[6:8])
    numbers = 0 <= entry[2] < 2**16 and 0 <= entry[3] < 2**32 and 0 <= entry[4] < 2**32 and 0 <= entry[5] <= MOST_SIZE
    device = all(0 <= number < 2**31 for number in field(entry, 15) or ())
    attributes = all(
        name and b"\0" not in name and (value is None) != (chunks is None)
        for name, value, chunks in (xattr[:3] if len(xattr) > 2 else [*xattr, None] for xattr in field(entry, 12) or ())
    )
    if not (times and numbers and device and attributes) or b"\0" in (field(entry, 13) or b""):
        raise ValueError("a hostile manifest: an entry has impossible values")


def check_top(root: list[Any]) -> None:
    """Raise ValueError unless the entry of the source's own directory, if the root has one, can be that."""
    top = field(root, 8)
    if top is not None:
        check_entry(top)
        if top[0] != DIRECTORY:
            raise ValueError("a hostile manifest: its top is no directory")


class Restorer:
    """Writes one backup into a new directory; never through anything that it did not make itself.

    Works with descriptors of directories, so that no path becomes too long for the system, however deep the tree is.
    """

    def __init__(self, repository: Repository, root: list[Any], target: bytes) -> None:
        self.repository = repository
        self.root = root
        self.target = target
        self.made: dict[bytes, list[Any] | None] = {b"": field(root, 8)}
        self.unmade: set[bytes] = set()
        self.linked: dict[bytes, bytes] = {}
        self.problems: list[str] = []
        self._opened: tuple[bytes, int] | None = None

    def run(self) -> list[str]:
        """Restore everything; return what could not be restored whole, in words."""
        try:
            os.mkdir(self.target, 0o700)
        except OSError as error:
            step = "; give a directory that does not exist yet" if isinstance(error, FileExistsError) else ""
            raise SystemExit(f"{os.fsdecode(self.target)!a} cannot be made: {error.strerror}{step}") from None
        check_top(self.root)
        last = (b"", b"")
        for directory, entry in self.repository.entries(self.root):
            name, key = entry[1], (directory.replace(b"/", b"\0"), entry[1])
            if name in (b"", b".", b"..") or b"/" in name or b"\0" in name or len(name) > 1024:
                raise ValueError("a hostile manifest: a name is none")
            if directory not in self.made and directory not in self.unmade:
                raise ValueError("a hostile manifest: an entry lies in no directory")
            if key <= last:
                raise ValueError("a hostile manifest: entries stand twice or out of order")
            last = key
            self._take(directory, directory + b"/" + name if directory else name, entry)
        for inner, made in reversed(self.made.items()):
            if made is not None:
                with self._counted(inner):
                    self._attributes(inner, made)
        return self.problems

    def _take(self, directory: bytes, inner: bytes, entry: list[Any]) -> None:
        if directory not in self.unmade:
            with self._counted(inner):
                self._make(inner, entry)
        if entry[0] == DIRECTORY and inner not in self.made:
            self.unmade.add(inner)
            if directory in self.made:
                self.problems[-1] += "; nothing below it is restored"

    def _make(self, inner: bytes, entry: list[Any]) -> None:
        kind, (at, name) = entry[0], self._place(inner)
        if kind == DIRECTORY:
            os.mkdir(name, 0o700, dir_fd=at)
            self.made[inner] = entry
            return
        # Members of one group that differ are files of their own (a number of an inode was given away again).
        told = (entry[0], entry[2:7], entry[10:14], field(entry, 14), field(entry, 15))
        group = blake3.blake3(repr(told).encode()).digest()
        if field(entry, 14) and group in self.linked:
            self._link(self.linked[group], at, name)
            return
        if kind == FILE:
            self._file(at, name, entry)
        elif kind == LINK:
            os.symlink(field(entry, 13), name, dir_fd=at)
        elif kind == FIFO:
            os.mkfifo(name, 0o600, dir_fd=at)
        elif kind in (CHARACTER_DEVICE, BLOCK_DEVICE):
            os.mknod(name, entry[2], os.makedev(*field(entry, 15)), dir_fd=at)
        else:
            raise ValueError(f"entries of type {kind} are not known here")
        if field(entry, 14):
            self.linked[group] = inner
        self._attributes(inner, entry)

    def _place(self, inner: bytes) -> tuple[int, bytes]:
        """Return an open descriptor of the directory that holds `inner`, and the name in it."""
        directory, _, name = inner.rpartition(b"/")
        if self._opened is None or self._opened[0] != directory:
            if self._opened is not None:
                os.close(self._opened[1])
                self._opened = None
            self._opened = directory, self._open(directory)
        return self._opened[1], name or b"."

    def _open(self, directory: bytes) -> int:
        """Return a new descriptor of a directory, each step below the target without following a link."""
        found = os.open(self.target, os.O_RDONLY | os.O_DIRECTORY)
        for name in directory.split(b"/") if directory else ():
            above = found
            try:
                found = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=above)
            finally:
                os.close(above)
        return found

    def _link(self, first: bytes, at: int, name: bytes) -> None:
        directory, _, first_name = first.rpartition(b"/")
        first_at = self._open(directory)
        try:
            os.link(first_name, name, src_dir_fd=first_at, dst_dir_fd=at, follow_symlinks=False)
        finally:
            os.close(first_at)

    def _file(self, at: int, name: bytes, entry: list[Any]) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
        descriptor = os.open(name, flags, 0o600, dir_fd=at)
        try:
            with os.fdopen(descriptor, "wb") as file:
                left: int = entry[5]
                for piece in self.repository.content(entry):
                    length = piece if isinstance(piece, int) else len(piece)
                    left -= length
                    if length <= 0 or left < 0:
                        raise ValueError("content of another length than its entry says")
                    if isinstance(piece, int):
                        file.seek(piece, os.SEEK_CUR)
                    else:
                        file.write(piece)
                if left:
                    raise ValueError("content shorter than its entry says")
                file.truncate(entry[5])
        except BaseException:
            os.unlink(name, dir_fd=at)
            raise

    def _attributes(self, inner: bytes, entry: list[Any]) -> None:
        """Set owner, mode, extended attributes and times, in this order: each may undo a later one."""
        at, path = self._place(inner)
        with self._counted(inner):
            if os.geteuid() == 0:
                os.chown(path, entry[3], entry[4], dir_fd=at, follow_symlinks=False)
        if entry[0] != LINK:
            with self._counted(inner):
                os.chmod(path, entry[2] & 0o7777, dir_fd=at)
        room = MOST_XATTRS
        for name, value, *chunks in field(entry, 12) or ():
            with self._counted(inner):
                long = b""
                for chunk in (chunks[0] if chunks else None) or ():
                    long += self.repository.chunk(STREAM_CHUNK, chunk)
                    if len(long) > room:
                        raise ValueError("its attributes are longer than any can be")
                room -= len(long)
                # The one call that takes no descriptor of a directory; this path leads through it.
                full = b"/proc/self/fd/%d/%s" % (at, path)
                os.setxattr(full, name, long if value is None else value, follow_symlinks=False)
        with self._counted(inner):
            time = entry[6] if isinstance(entry[6], int) else int.from_bytes(entry[6], "big", signed=True)
            os.utime(path, ns=(time, time), dir_fd=at, follow_symlinks=False)

    @contextlib.contextmanager
    def _counted(self, inner: bytes) -> Iterator[None]:
        try:
            yield
        except DAMAGED as error:
            reason = error.strerror if isinstance(error, OSError) else repr(error)
            self.problems.append(f"{inner!r}: {reason}")


def chosen(backups: list[tuple[str, int, Any]], wanted: str) -> Any:
    """Return the root of the backup that `wanted` names.

    It may be latest, a backup id, the short id that syncova-repo prints for it, or the start of a manifest id.
    """
    if wanted == "latest" and backups:
        return backups[-1][2]
    fitting = [
        root
        for manifest, _, root in backups
        if manifest.startswith(wanted) or wanted in (root[0], blake3.blake3(root[0].encode()).hexdigest()[:8])
    ]
    if len(fitting) != 1:
        raise SystemExit(f"{len(fitting)} backups fit {wanted!r}")
    return fitting[0]


def describe(manifest: str, received: int, root: list[Any]) -> str:
    """Return one line about a backup; foreign text as Python writes it, so that no terminal obeys it."""
    epoch = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
    when = epoch + dt.timedelta(microseconds=received // 1000)
    return f"{manifest[:12]}  {when:%Y-%m-%d %H:%M:%S} UTC  {root[6][0]} files  {root[1][0]!a}  {root[0]!a}"


def main() -> int:
    """Run the program; exit code 0; 12 for a wrong password, 13 when something could not be restored whole."""
    parser = argparse.ArgumentParser(description="List and restore backups of a Syncova repository.")
    parser.add_argument("repository", type=Path)
    parser.add_argument("--password-file", type=Path, help="its first line is the password or recovery code")
    verbs = parser.add_subparsers(dest="verb", required=True)
    verbs.add_parser("list", help="list the backups, oldest first")
    restore = verbs.add_parser("restore", help="restore one backup into a directory that does not exist yet")
    restore.add_argument("backup", help="latest, a backup id (long or short), or what list prints first")
    restore.add_argument("target", type=os.fsencode)
    arguments = parser.parse_args()
    if arguments.password_file is None:
        secret = getpass.getpass("Password or recovery code: ")
    else:
        try:
            secret = arguments.password_file.read_text("utf-8").split("\n")[0]
        except (OSError, UnicodeError) as error:
            reason = (error.strerror or "") if isinstance(error, OSError) else "it is no text in UTF-8"
            raise SystemExit(f"the password file {arguments.password_file} cannot be read: {reason}") from None
    try:
        return run(arguments, secret)
    except DAMAGED as error:
        sys.stderr.write(f"broken off: {error!r}\n")
        return 13


def run(arguments: argparse.Namespace, secret: str) -> int:
    """Carry out the command line; return the exit code."""
    repository = Repository(arguments.repository, secret)
    backups = repository.backups()
    sys.stderr.writelines(words + "\n" for words in repository.lost)
    if arguments.verb == "list":
        sys.stdout.writelines(describe(*backup) + "\n" for backup in backups)
        return 13 if repository.lost else 0
    problems = Restorer(repository, chosen(backups, arguments.backup), arguments.target).run()
    sys.stderr.writelines(problem + "\n" for problem in problems)
    return 13 if problems else 0


if __name__ == "__main__":
    sys.exit(main())

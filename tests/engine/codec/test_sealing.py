"""Sealing: what is bound, what a flipped bit does, that keys and nonces do not repeat."""

import blake3
import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from repositories.engine.codec.envelopes import SealingKey, open_record, seal_record
from repositories.engine.codec.sealing import derive_seal
from repositories.engine.errors import EngineError, IntegrityError
from repositories.engine.format.headers import ObjectHeader
from repositories.engine.format.kinds import ObjectKind, PartKind

SECRET = b"s" * 32
REPOSITORY = b"r" * 16
HEADER = ObjectHeader(ObjectKind.INDEX, b"i" * 16, b"salt" * 8, epoch=1)
KEY = SealingKey(REPOSITORY, 1, SECRET)


def open_it(data: bytes, extra: bytes = b"", repository: bytes = REPOSITORY) -> bytes:
    return open_record(
        repository, lambda epoch: SECRET if epoch == 1 else b"o" * 32, (HEADER.kind, b"i" * 16), data, extra
    )


def test_the_construction_is_the_documented_one() -> None:
    """docs/repository-format.md, section 5, written down a second time."""
    sealed = bytes(derive_seal(SECRET, HEADER, REPOSITORY).seal(5, PartKind.BLOCK, b"plaintext", b"extra"))
    info = b"syncova/1" + REPOSITORY + b"\x05" + bytes(4) + b"i" * 16
    keys = HKDF(SHA256(), 64, salt=b"salt" * 8, info=info).derive(SECRET)
    bound = HEADER.to_bytes() + b"\0\0\0\5" + b"\2\0" + b"extra"
    nonce = blake3.blake3(bound + b"plaintext", key=keys[32:]).digest()[:12]
    assert sealed[12:24] == nonce
    assert sealed[24:] == AESGCM(keys[:32]).encrypt(nonce, b"plaintext", bound)
    assert int.from_bytes(sealed[8:12], "big") == len(sealed) - 24


def test_every_flipped_bit_of_a_sealed_object_is_found() -> None:
    """Guarantee 1 and 6: nothing clear or sealed can be changed."""
    data = seal_record(KEY, HEADER, b"payload of a record", b"config")
    assert open_it(data, b"config") == b"payload of a record"
    for at in range(len(data)):
        changed = bytearray(data)
        changed[at] ^= 1 << at % 8
        with pytest.raises(EngineError) as caught:
            open_it(bytes(changed), b"config")
        assert caught.value.code in {"INTEGRITY", "UNSUPPORTED_FORMAT"}, at


def test_cut_and_lengthened_objects_are_found() -> None:
    data = seal_record(KEY, HEADER, b"payload")
    for bad in (data[:-1], data + b"\0", data[:80], data[:40], b""):
        with pytest.raises(IntegrityError):
            open_it(bad)


def test_an_object_opens_only_in_its_place() -> None:
    data = seal_record(KEY, HEADER, b"payload", b"config")
    with pytest.raises(IntegrityError):
        open_it(data, b"other config")
    with pytest.raises(IntegrityError):
        open_it(data, b"config", repository=b"q" * 16)
    for identity in ((ObjectKind.INDEX, b"j" * 16), (ObjectKind.MANIFEST, b"i" * 16)):
        with pytest.raises(IntegrityError):
            open_record(REPOSITORY, lambda _: SECRET, identity, data, b"config")


def test_parts_cannot_change_places_or_kinds() -> None:
    seal = derive_seal(SECRET, HEADER, REPOSITORY)
    part = seal.seal(1, PartKind.BLOCK, b"one")
    assert seal.open(1, PartKind.BLOCK, part) == b"one"
    for number, kind in ((0, PartKind.BLOCK), (1, PartKind.DIRECTORY)):
        with pytest.raises(IntegrityError):
            seal.open(number, kind, part)


def test_nonces_depend_on_the_content() -> None:
    """A resumed memory image that repeats salt and part number does not repeat a nonce for other bytes."""
    seal = derive_seal(SECRET, HEADER, REPOSITORY)
    nonces = {
        bytes(seal.seal(number, PartKind.BLOCK, text)[12:24]) for number in range(3) for text in (b"a", b"b", b"")
    }
    assert len(nonces) == 9
    assert seal.seal(1, PartKind.BLOCK, b"a") == seal.seal(1, PartKind.BLOCK, b"a")

"""Sealing: one AES-256-GCM key per object, derived nonces, everything clear authenticated.

Owns key derivation and the seal of a part (engine.md, section 2). A key is used for one object only, and the nonce
is a keyed hash of what is sealed: a resumed memory image or a repeated salt cannot repeat a nonce for other bytes.
"""

import blake3
import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from repositories.engine.errors import IntegrityError
from repositories.engine.format.headers import (
    NONCE_LENGTH,
    PART_HEADER_LENGTH,
    TAG_LENGTH,
    ObjectHeader,
    PartHeader,
    associated_data,
    parse_part_header,
)
from repositories.engine.format.kinds import PartKind

INFO_PREFIX = b"syncova/1"
KEY_LENGTH = 32


class ObjectSeal(msgspec.Struct, frozen=True):
    """The keys of one object, with its header bytes. Safe in several threads."""

    header: bytes
    cipher: AESGCM
    nonce_key: bytes

    def __repr__(self) -> str:
        return f"ObjectSeal(header={self.header!r})"

    def seal(self, number: int, kind: PartKind, plaintext: bytes | bytearray, extra: bytes = b"") -> bytearray:
        """Return part header, ciphertext and tag of part `number`."""
        bound = associated_data(self.header, number, kind, extra=extra)
        digest = blake3.blake3(bound, key=self.nonce_key)
        digest.update(plaintext)
        nonce = digest.digest(NONCE_LENGTH)
        sealed_length = len(plaintext) + TAG_LENGTH
        part = bytearray(PART_HEADER_LENGTH + sealed_length)
        part[:PART_HEADER_LENGTH] = PartHeader(kind, sealed_length, nonce).to_bytes()
        self.cipher.encrypt_into(nonce, plaintext, bound, memoryview(part)[PART_HEADER_LENGTH:])
        return part

    def open(self, number: int, kind: PartKind, part: bytes | bytearray | memoryview, extra: bytes = b"") -> bytes:
        """Return the plaintext of a whole part (header included). Raises IntegrityError."""
        header = parse_part_header(memoryview(part))
        if header.kind != kind or header.length != len(part) - PART_HEADER_LENGTH:
            raise IntegrityError("a sealed part has another kind or length than expected", hint="run check")
        bound = associated_data(self.header, number, kind, header.flags, extra)
        try:
            return self.cipher.decrypt(header.nonce, memoryview(part)[PART_HEADER_LENGTH:], bound)
        except InvalidTag as error:
            raise IntegrityError(
                "a sealed part fails authentication: it was damaged or exchanged", hint="run check"
            ) from error


def derive_seal(secret: bytes, header: ObjectHeader, repository_id: bytes) -> ObjectSeal:
    """Return the seal of the object that `header` begins, from an epoch key (or a generation's key for keyrings)."""
    info = INFO_PREFIX + repository_id + bytes([header.kind]) + header.domain.to_bytes(4, "big") + header.object_id
    derived = HKDF(SHA256(), 2 * KEY_LENGTH, salt=header.salt, info=info).derive(secret)
    return ObjectSeal(header.to_bytes(), AESGCM(derived[:KEY_LENGTH]), derived[KEY_LENGTH:])

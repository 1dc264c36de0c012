"""Key slots: each seals a generation's random key under one password or the recovery code.

Owns the slot object. A slot commits to its key: the tag is compared, in constant time, before anything is decrypted,
so that one slot can never open to two different keys.
"""

import enum

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDFExpand

from repositories.engine.constant_time import equal
from repositories.engine.errors import IntegrityError, UnsupportedFormatError
from repositories.engine.format.clear import unwrap_clear, wrap_clear
from repositories.engine.format.headers import NONCE_LENGTH
from repositories.engine.format.kinds import ObjectKind
from repositories.engine.format.records import Record, decode, encode
from repositories.engine.ids import Randomness
from repositories.engine.keys.kdf import SALT_LENGTH, KdfParameters, derive_root

SLOT_TYPE_PASSWORD = 1
KDF_ARGON2ID = 1
_KEY_LENGTH = 32
_INFO = b"syncova/1 slot"


class SlotRole(enum.IntEnum):
    """Whose secret opens a slot."""

    PASSWORD = 1
    RECOVERY_CODE = 2


class SlotFacts(Record, frozen=True):
    """What a slot says in clear; its bytes are the associated data of the sealed key."""

    slot_type: int
    repository_id: bytes
    generation: int
    slot_id: bytes
    role: int
    label: str
    created_ns: int
    kdf: int
    memory_kib: int
    iterations: int
    lanes: int
    salt: bytes


class SlotRecord(Record, frozen=True):
    """A whole slot: the facts as bytes, the commitment to the key, and the sealed key."""

    facts: bytes
    commitment: bytes
    nonce: bytes
    sealed_key: bytes


class SlotOwner(msgspec.Struct, frozen=True):
    """What a new slot belongs to."""

    repository_id: bytes
    generation: int
    role: SlotRole
    label: str
    created_ns: int


class Slot(msgspec.Struct, frozen=True):
    """A parsed slot."""

    facts: SlotFacts
    record: SlotRecord

    def open(self, secret: bytes) -> bytes | None:
        """Return the generation's key, or None if `secret` is not this slot's. Raises IntegrityError when damaged."""
        facts = self.facts
        root = derive_root(secret, facts.salt, KdfParameters(facts.memory_kib, facts.iterations, facts.lanes))
        key, commitment = _split(root, self.record.facts)
        if not equal(commitment, self.record.commitment):
            return None
        try:
            return AESGCM(key).decrypt(self.record.nonce, self.record.sealed_key, self.record.facts)
        except (InvalidTag, ValueError) as error:
            raise IntegrityError("a key slot is damaged", hint="use another password or the recovery code") from error


def make_slot(owner: SlotOwner, secret: bytes, key: bytes, kdf: KdfParameters, randomness: Randomness) -> Slot:
    """Return a new slot that seals `key` under `secret`."""
    facts = SlotFacts(
        slot_type=SLOT_TYPE_PASSWORD,
        repository_id=owner.repository_id,
        generation=owner.generation,
        slot_id=randomness(16),
        role=owner.role,
        label=owner.label,
        created_ns=owner.created_ns,
        kdf=KDF_ARGON2ID,
        memory_kib=kdf.memory_kib,
        iterations=kdf.iterations,
        lanes=kdf.lanes,
        salt=randomness(SALT_LENGTH),
    )
    clear = encode(facts)
    slot_key, commitment = _split(derive_root(secret, facts.salt, kdf), clear)
    nonce = randomness(NONCE_LENGTH)
    return Slot(facts, SlotRecord(clear, commitment, nonce, AESGCM(slot_key).encrypt(nonce, key, clear)))


def slot_to_bytes(slot: Slot) -> bytes:
    """Return the object bytes of a slot."""
    return wrap_clear(ObjectKind.SLOT, encode(slot.record))


def parse_slot(data: bytes) -> Slot:
    """Parse a slot object. Raises IntegrityError when damaged, UnsupportedFormatError for reserved types."""
    record = decode(unwrap_clear(ObjectKind.SLOT, data), SlotRecord)
    facts = decode(record.facts, SlotFacts)
    if facts.slot_type != SLOT_TYPE_PASSWORD or facts.kdf != KDF_ARGON2ID:
        raise UnsupportedFormatError("a key slot is of a type that is not known here", hint="use a newer Syncova")
    if len(facts.salt) != SALT_LENGTH or len(record.nonce) != NONCE_LENGTH:
        raise IntegrityError("a key slot has fields of the wrong length", hint="run check")
    return Slot(facts, record)


def _split(root: bytes, facts: bytes) -> tuple[bytes, bytes]:
    """Return (slot key, commitment tag), both bound to the clear facts."""
    derived = HKDFExpand(SHA256(), 2 * _KEY_LENGTH, info=_INFO + facts).derive(root)
    return derived[:_KEY_LENGTH], derived[_KEY_LENGTH:]

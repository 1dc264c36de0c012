"""The vault: seals secrets that must lie in the database, with keys that do not.

Owns the sealed form: version | key id | nonce | AES-256-GCM ciphertext and tag. The caller's context (the kind of
secret and its row's id) is associated data, so a sealed value copied onto another row does not open. The first key
of SYNCOVA_SECRET_KEYS seals and all open, so keys rotate. Logs nothing; errors never quote what was sealed.
"""

import hashlib
import secrets
import uuid
from typing import ClassVar

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings

from syncova_project.errors import ConfigurationError, SyncovaError

VERSION = b"\x01"
KEY_ID_BYTES = 4
NONCE_BYTES = 12
TAG_BYTES = 16
HEADER_BYTES = len(VERSION) + KEY_ID_BYTES + NONCE_BYTES


class SecretUnreadableError(SyncovaError):
    """A sealed secret opens with none of the present keys: the keys were lost, or the row was tampered with."""

    code: ClassVar[str] = "SECRET_UNREADABLE"
    status: ClassVar[int] = 500


def password_context(repository_id: uuid.UUID) -> bytes:
    """Return the context of a repository's password: it opens on its own row alone."""
    return b"repositories.sealed_password|" + repository_id.bytes


def seal(plain: bytes, context: bytes) -> bytes:
    """Seal `plain` for `context` with the first key."""
    key = _keys()[0]
    nonce = secrets.token_bytes(NONCE_BYTES)
    header = VERSION + _key_id(key) + nonce
    return header + _cipher(key).encrypt(nonce, plain, header + context)


def unseal(sealed: bytes, context: bytes) -> bytes:
    """Return what was sealed for `context`; SecretUnreadableError if no key opens it."""
    if len(sealed) < HEADER_BYTES + TAG_BYTES or sealed[:1] != VERSION:
        raise _unreadable()
    header, body = sealed[:HEADER_BYTES], sealed[HEADER_BYTES:]
    key_id, nonce = header[1 : 1 + KEY_ID_BYTES], header[-NONCE_BYTES:]
    for key in (key for key in _keys() if _key_id(key) == key_id):
        try:
            return _cipher(key).decrypt(nonce, body, header + context)
        except InvalidTag:
            continue
    raise _unreadable()


def _keys() -> list[bytes]:
    keys: list[bytes] = settings.SYNCOVA_SECRET_KEYS
    if not keys:
        raise ConfigurationError(
            "SYNCOVA_SECRET_KEYS is empty, so no secret can be sealed or opened.",
            hint="Set it to at least one key of 32 random bytes.",
        )
    return keys


def _cipher(key: bytes) -> AESGCM:
    derived = HKDF(algorithm=SHA256(), length=32, salt=None, info=b"syncova/vault/1").derive(key)
    return AESGCM(derived)


def _key_id(key: bytes) -> bytes:
    return hashlib.sha256(b"syncova/vault/1/key-id|" + key).digest()[:KEY_ID_BYTES]


def _unreadable() -> SecretUnreadableError:
    return SecretUnreadableError(
        "A sealed secret does not open with any key of SYNCOVA_SECRET_KEYS.",
        hint="Put the key that sealed it back into SYNCOVA_SECRET_KEYS, or give the password again: register the "
        "repository once more, under its name and location.",
    )

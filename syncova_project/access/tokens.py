"""The form of a bearer token: `syncova_<12 public characters>_<64 secret hex digits>`.

Owns making, taking apart and comparing them. Knows no database and no request.
"""

import hashlib
import hmac
import re
import secrets
import string
from dataclasses import dataclass, field

ALPHABET = string.ascii_lowercase + string.digits
PREFIX_LENGTH = 12
FORM = re.compile(r"syncova_([a-z0-9]{12})_([0-9a-f]{64})")


@dataclass(frozen=True, slots=True)
class PlainToken:
    """A token as its holder knows it; `prefix` is public, `text` is the secret and stays out of every repr."""

    prefix: str
    text: str = field(repr=False)

    @property
    def digest(self) -> bytes:
        """SHA-256 of the whole token: the secret has 256 random bits, so a slow hash would add nothing."""
        return hashlib.sha256(self.text.encode()).digest()

    def matches(self, digest: bytes) -> bool:
        """Compare with a stored digest in constant time."""
        return hmac.compare_digest(self.digest, digest)


def make_token() -> PlainToken:
    """Return a new random token."""
    prefix = "".join(secrets.choice(ALPHABET) for _ in range(PREFIX_LENGTH))
    return PlainToken(prefix, f"syncova_{prefix}_{secrets.token_hex(32)}")


def is_prefix(text: str) -> bool:
    """Tell whether `text` has the form of a token's public part."""
    return len(text) == PREFIX_LENGTH and set(text) <= set(ALPHABET)


def parse_token(text: str) -> PlainToken | None:
    """Return the token if `text` has the form of one; says nothing about whether it exists."""
    match = FORM.fullmatch(text)
    return PlainToken(match.group(1), text) if match else None

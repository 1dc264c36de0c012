"""Canaries: the secrets of the suite, which are recognised wherever they come out.

Owns how they look. Builders and fixtures ask here for the passwords, credentials and words of hooks that they use;
`canaries_sweep` looks for them in everything that the suite leaves.
"""

import base64
import re
from dataclasses import dataclass

# Made when it is asked for: no source of the tests, compiled or copied, may hold it by itself.
STEM = "-".join(("canary", "7f3a"))
# A bearer token shows by its own form: each that the suite makes is a canary.
TOKEN = re.compile(rb"syncova_[0-9a-z]{12}_(?!(.)\1{60})[0-9a-f]{64}")
TOKEN_STEM = b"syncova_"
_NAMED = re.compile(re.escape(STEM.encode()) + rb"-([a-z]+)-")
_LONGEST, _HEXADECIMAL = 100, 2
_HEX, _BASE64 = re.compile(rb"(?:[0-9a-fA-F]{2}){1,60}"), re.compile(rb"(?:[0-9A-Za-z+/]{4}){1,20}")


@dataclass(frozen=True, slots=True)
class Seen:
    """A canary at a place: what kind it is of, where it begins and ends."""

    kind: str
    start: int
    end: int


def repository_password(name: str) -> str:
    """Return what opens a repository."""
    return f"{STEM}-repository-{name}"


def login_password(name: str) -> str:
    """Return what a person logs in with."""
    return f"{STEM}-login-{name}"


def credential(name: str) -> str:
    """Return what a server of repositories asks for: S3, WebDAV, SFTP."""
    return f"{STEM}-credential-{name}"


def hook_words(name: str) -> str:
    """Return what a hook says: for the run's log and for nothing else."""
    return f"{STEM}-hook-{name}"


def source_name(name: str) -> str:
    """Return the name of a source: for who may see its job, for no log of a server."""
    return f"{STEM}-source-{name}"


def forms(stem: bytes) -> list[bytes]:
    """Return what a text turns into that begins with `stem`: hexadecimal, and Base64 wherever it begins."""
    found = [stem.hex().encode(), stem.hex().upper().encode()]
    for shift in range(3):
        coded = base64.b64encode(b"\0" * shift + stem)
        found.append(coded[-(-shift * 8 // 6) : (shift + len(stem)) * 8 // 6])
    return found


def seen_in(data: bytes) -> list[Seen]:
    """Return every canary in `data`."""
    stem, found = STEM.encode(), []
    for index, form in enumerate((stem, *forms(stem))):
        at = data.find(form)
        while at >= 0:
            end = at + len(form)
            found.append(Seen(_kind(data, at, index), at, end))
            at = data.find(form, end)
    if TOKEN_STEM in data:
        found += [Seen("token", match.start(), match.end()) for match in TOKEN.finditer(data)]
    return found


def _kind(data: bytes, at: int, form: int) -> str:
    """Return the kind of the canary that begins at `at` in the form of this number; `encoded` where it cannot be told.

    Base64 is read from the group of four that the form begins in.
    """
    if form == 0:
        plain = data[at : at + _LONGEST]
    elif form <= _HEXADECIMAL:
        digits = _HEX.match(data, at)
        plain = bytes.fromhex(digits[0].decode()) if digits else b""
    else:
        coded = _BASE64.match(data, max(0, at - (0, 2, 3)[form - _HEXADECIMAL - 1]))
        plain = base64.b64decode(coded[0]) if coded else b""
    named = _NAMED.search(plain)
    return named[1].decode() if named else "encoded"

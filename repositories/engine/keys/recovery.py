"""The recovery code: 160 random bits in letters and digits that survive paper and telephone.

Owns its text form: 36 characters of Crockford's base 32 in nine groups of four; the last four are a checksum, so
that a mistyped code is told from a wrong one. Says what is wrong with what was typed, and never repeats it.
"""

import blake3

_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_ALIKE = str.maketrans({"O": "0", "I": "1", "L": "1"})
# What stands between groups, also as word processors and phones write it: dashes, a minus, spaces that do not break.
_DASHES = (0x2D, *range(0x2010, 0x2016), 0x2212, 0xA0, 0x2007, 0x2009, 0x202F)
_BETWEEN = dict.fromkeys(_DASHES, " ") | {0xFEFF: "", 0x200B: ""}
SECRET_LENGTH = 20
_GROUP = 4
_LENGTH = 36
_LEAST_GROUPS = 5
_CHECK_BITS = 20


def format_recovery_code(secret: bytes) -> str:
    """Return the printable code of 20 secret bytes."""
    value = int.from_bytes(secret, "big") << _CHECK_BITS | _checksum(secret)
    characters = [_ALPHABET[value >> 5 * place & 31] for place in reversed(range(_LENGTH))]
    groups = ["".join(characters[start : start + _GROUP]) for start in range(0, _LENGTH, _GROUP)]
    return "-".join(groups)


def parse_recovery_code(text: bytes) -> bytes | None:
    """Return the 20 secret bytes of a code as typed (case, spaces and dashes do not matter), or None if it is none."""
    characters = _plain(text)
    if len(characters) != _LENGTH or any(character not in _ALPHABET for character in characters):
        return None
    value = 0
    for character in characters:
        value = value << 5 | _ALPHABET.index(character)
    secret = (value >> _CHECK_BITS).to_bytes(SECRET_LENGTH, "big")
    return secret if _checksum(secret) == value & (1 << _CHECK_BITS) - 1 else None


def mistake_in_code(text: bytes) -> str:
    """Return what is wrong with a secret that looks like a recovery code and is none; empty for what looks like none.

    Looks so: about as many letters and digits as a code has, in groups, or as many without. Anything else may be a
    password.
    """
    characters = _plain(text)
    groups = _grouped(text).split()
    close = abs(len(characters) - _LENGTH) <= _GROUP and len(groups) >= _LEAST_GROUPS
    # As of a sheet that was torn, or of which a line was forgotten: whole groups, and at least three.
    part = len(groups) >= 3 and {len(group) for group in groups} == {_GROUP} and _has_digits(characters)
    in_groups = characters.isalnum() and (close or part)
    in_one = len(characters) == _LENGTH and all(character in _ALPHABET for character in characters)
    if not (in_groups or in_one) or parse_recovery_code(text) is not None:
        return ""
    if any(character not in _ALPHABET for character in characters):
        return "no recovery code has the letter U"
    if len(characters) != _LENGTH:
        return f"it has {'more' if len(characters) > _LENGTH else 'fewer'} than {_LENGTH} characters"
    return "a character is wrong, or two are exchanged"


def _has_digits(characters: str) -> bool:
    """Tell whether it has digits, as all but the fewest codes and hardly any sentence of short words."""
    return any(character.isdigit() for character in characters)


def _plain(text: bytes) -> str:
    """Return what was typed without what does not matter; empty for what no code consists of."""
    plain = "".join(_grouped(text).split())
    return plain.upper().translate(_ALIKE) if plain.isascii() else ""


def _grouped(text: bytes) -> str:
    """Return what was typed with blanks for all dashes and spaces that a word processor may have made of ours."""
    try:
        return text.decode("utf-8").translate(_BETWEEN)
    except UnicodeDecodeError:
        return "\N{REPLACEMENT CHARACTER}"


def _checksum(secret: bytes) -> int:
    digest = blake3.blake3(b"syncova/1 recovery code" + secret).digest(3)
    return int.from_bytes(digest, "big") >> 4

"""Sizes as people type them. Owns the parsing alone."""

import re

from repositories.console.failures import CommandError
from repositories.engine.display import show_text

_SIZE = re.compile(r"([0-9]{1,18})(?:[.,]([0-9]{1,9}))? ?(?:([kmgtp])i?)?b?", re.ASCII | re.IGNORECASE)
_POWERS = "kmgtp"


def parse_size(text: str) -> int:
    """Return bytes of `4096`, `500kB`, `1.5 GiB`: as for bandwidths, MB and MiB are 2^20 bytes."""
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        raise CommandError(f"{show_text(text)} is no size", hint="write it as 4096, 500kB or 1.5GiB (MB = 2^20 bytes)")
    whole, fraction, unit = match.groups(default="")
    factor = 1 << 10 * (_POWERS.index(unit.lower()) + 1 if unit else 0)
    scaled: int = int(whole + fraction) * factor // 10 ** len(fraction)
    return scaled

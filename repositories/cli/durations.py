"""Durations as people type them. Owns the parsing alone."""

import re

from repositories.console.failures import CommandError
from repositories.engine.display import show_text

_PARTS = re.compile(
    r"(?:([0-9]{1,4})d)? ?(?:([0-9]{1,6})h)? ?(?:([0-9]{1,8})m(?:in)?)? ?(?:([0-9]{1,9})s)?", re.ASCII | re.IGNORECASE
)
_SECONDS = (86_400, 3_600, 60, 1)


def parse_duration(text: str) -> int:
    """Return seconds of `90s`, `30m`, `1h30m`, `2d`: a bare number is refused, since nobody knows of what."""
    match = _PARTS.fullmatch(text.strip())
    total = (
        sum(int(part or 0) * seconds for part, seconds in zip(match.groups(), _SECONDS, strict=True)) if match else 0
    )
    if not total:
        raise CommandError(f"{show_text(text)} is no duration", hint="write it as 90s, 30m, 1h30m or 2d")
    return total

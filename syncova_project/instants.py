"""Instants as every API answer writes them: ISO 8601, UTC, with a Z. Owns that one form."""

import datetime as dt
from typing import overload


@overload
def instant(moment: dt.datetime) -> str: ...
@overload
def instant(moment: None) -> None: ...
def instant(moment: dt.datetime | None) -> str | None:
    """Return an aware moment as text, or None for none."""
    if moment is None:
        return None
    return moment.astimezone(dt.UTC).isoformat().replace("+00:00", "Z")

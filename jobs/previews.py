"""Planned instants as people see them before anything is saved: with DST shifts and with windows marked (B6).

Owns the form. Pure: the instants are those that claims plan by, the rules those of the caller.
"""

import datetime as dt
from collections.abc import Sequence
from typing import Any, Final

from jobs import calendar, windows

POSTPONED: Final = "postponed"
NO_FREE_INSTANT: Final = "no_free_instant"


def preview_row(one: calendar.Occurrence, rules: Sequence[windows.Rule]) -> dict[str, Any]:
    """Return one instant; where windows shut it, which one does, and when its run starts (None: within 31 days never).

    `rules` are those that apply to the run.
    """
    row = {"utc": _utc(one.instant), "local": one.local.isoformat(), "notes": [str(note) for note in one.notes]}
    answer = windows.next_free(rules, one.instant)
    if answer.block is None:
        return row
    note = POSTPONED if answer.instant is not None else NO_FREE_INSTANT
    return row | {
        "notes": [*row["notes"], note],
        "window": {"code": str(answer.block.code), "name": answer.block.name},
        "starts_at": _utc(answer.instant) if answer.instant is not None else None,
    }


def _utc(instant: dt.datetime) -> str:
    return instant.astimezone(dt.UTC).isoformat().replace("+00:00", "Z")

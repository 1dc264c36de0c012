"""Instants in the forms that leave Python: ISO 8601 with a Z for every API answer, nanoseconds for the engine.

Owns these forms. Knows no clock.
"""

import datetime as dt
from typing import Final, overload

_EPOCH: Final = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_MICROSECOND: Final = dt.timedelta(microseconds=1)


@overload
def instant(moment: dt.datetime) -> str: ...
@overload
def instant(moment: None) -> None: ...
def instant(moment: dt.datetime | None) -> str | None:
    """Return an aware moment as text, or None for none."""
    if moment is None:
        return None
    return moment.astimezone(dt.UTC).isoformat().replace("+00:00", "Z")


def nanoseconds(moment: dt.datetime) -> int:
    """Return an aware moment as nanoseconds since the epoch, exactly: no floating point."""
    return (moment - _EPOCH) // _MICROSECOND * 1000


def moment_at(since_epoch_ns: int) -> dt.datetime:
    """Return nanoseconds since the epoch as a moment in UTC, cut to microseconds."""
    return _EPOCH + since_epoch_ns // 1000 * _MICROSECOND

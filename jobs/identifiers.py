"""Ids of rows that have an address in the API: UUIDv7, so that they sort by their making."""

import datetime as dt
import uuid

from repositories.engine.ids import uuid7

_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_MICROSECOND = dt.timedelta(microseconds=1)


def new_id(now: dt.datetime) -> uuid.UUID:
    """Return a fresh id for a row made at `now` (aware)."""
    return uuid7((now - _EPOCH) // _MICROSECOND * 1000)

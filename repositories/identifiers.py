"""Ids of rows that have an address in the API: UUIDv7, so that they sort by their making."""

import datetime as dt
import uuid

from repositories.engine.ids import uuid7
from syncova_project.instants import nanoseconds


def new_id(now: dt.datetime) -> uuid.UUID:
    """Return a fresh id for a row made at `now` (aware)."""
    return uuid7(nanoseconds(now))

"""Moments as people type them. Owns the parsing of --at alone."""

import datetime as dt
import re

from repositories.console.failures import CommandError
from repositories.engine.display import show_text
from syncova_project.instants import nanoseconds

_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


def parse_moment(text: str) -> int:
    """Return nanoseconds since the epoch of `2026-11-30`, `2026-11-30 08:00` or `2026-11-30T08:00:00+01:00`.

    No time zone means UTC, as everywhere; a date alone means the end of that day.
    """
    try:
        moment = dt.datetime.fromisoformat(text.strip().removesuffix(" UTC"))
    except ValueError:
        raise CommandError(
            f"{show_text(text)} is no time", hint="write it as 2026-11-30 08:00 or 2026-11-30T08:00:00+01:00"
        ) from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=dt.UTC)
    if _DATE.fullmatch(text.strip()):
        moment += dt.timedelta(days=1, microseconds=-1)
    return nanoseconds(moment) + 999

"""Moments as people type them. Owns their parsing alone."""

import datetime as dt
import re

from repositories.console.failures import CommandError
from repositories.engine.display import show_text
from syncova_project.instants import nanoseconds

_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


def parse_moment(text: str, *, end_of_day: bool = True) -> int:
    """Return nanoseconds since the epoch of `2026-11-30`, `2026-11-30 08:00` or `2026-11-30T08:00:00+01:00`.

    No time zone means UTC, as everywhere; a date alone means the end of that day, or else its beginning. What is finer
    than microseconds counts as in it: at its end with `end_of_day`, else at its beginning.
    """
    try:
        moment = dt.datetime.fromisoformat(text.strip().removesuffix(" UTC"))
    except ValueError:
        raise CommandError(
            f"{show_text(text)} is no time", hint="write it as 2026-11-30 08:00 or 2026-11-30T08:00:00+01:00"
        ) from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=dt.UTC)
    if not end_of_day:
        return nanoseconds(moment)
    if _DATE.fullmatch(text.strip()):
        moment += dt.timedelta(days=1, microseconds=-1)
    return nanoseconds(moment) + 999

"""Buckets of time: which hour, day, week, month and year of a zone an instant lies in.

Owns the keys. An hour that the clock shows twice is two hours, told apart by the offset from UTC; a day of 23 or 25
hours is one day; weeks are those of ISO 8601, which belong to the year of their Thursday.
"""

import datetime as dt
from collections.abc import Callable
from typing import Final
from zoneinfo import ZoneInfo

_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


def local_time(ns: int, zone: ZoneInfo) -> dt.datetime:
    """Return an instant as the zone's clock shows it. Raises OverflowError outside the years that a calendar has."""
    return (_EPOCH + dt.timedelta(microseconds=ns // 1000)).astimezone(zone)


def hour_of(moment: dt.datetime) -> str:
    """Return `2026-10-25T02+02:00`."""
    return f"{day_of(moment)}T{moment:%H}{_offset(moment)}"


def day_of(moment: dt.datetime) -> str:
    """Return `2026-10-25`."""
    return f"{moment.year:04}-{moment:%m-%d}"


def week_of(moment: dt.datetime) -> str:
    """Return `2026-W53`."""
    year, week, _ = moment.isocalendar()
    return f"{year:04}-W{week:02}"


def month_of(moment: dt.datetime) -> str:
    """Return `2026-10`."""
    return f"{moment.year:04}-{moment:%m}"


def year_of(moment: dt.datetime) -> str:
    """Return `2026`."""
    return f"{moment.year:04}"


def _offset(moment: dt.datetime) -> str:
    # Offsets of the past have seconds: the text of a time has them where they are needed.
    return moment.isoformat().removeprefix(moment.replace(tzinfo=None).isoformat())


BUCKETS: Final[dict[str, Callable[[dt.datetime], str]]] = {
    "hourly": hour_of,
    "daily": day_of,
    "weekly": week_of,
    "monthly": month_of,
    "yearly": year_of,
}
"""By the name of the rule, the finest first."""

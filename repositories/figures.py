"""What the catalogue tells of a repository as a whole: how many backups, what they brought, and how that went by day.

Owns these reads, one for each answer. Bytes are those that backups added when they were made; what deletions and
prunes gave back since, the repository itself knows.
"""

import datetime as dt
import uuid
from collections.abc import Iterable, Mapping
from typing import Any, Final

from django.db.models import Count, Max, Min, Sum
from django.db.models.functions import TruncDate

from repositories.models import Backup
from syncova_project.instants import instant

TREND_DAYS: Final = 30
_SUMS: Final = ("logical_bytes", "bytes_read", "bytes_stored")
# What a day without a backup came to.
NO_BACKUPS: Final[Mapping[str, int]] = dict.fromkeys(("backups", *_SUMS), 0)


def figures_json(repository_id: uuid.UUID) -> dict[str, Any]:
    """Return the totals of all backups that the catalogue knows of a repository."""
    rows = Backup.objects.filter(repository_id=repository_id)
    told = rows.aggregate(
        backups=Count("id"),
        sources=Count("source_name", distinct=True),
        oldest_at=Min("created_at"),
        newest_at=Max("created_at"),
        bytes_read=Sum("bytes_read", default=0),
        bytes_stored=Sum("bytes_stored", default=0),
    )
    moments = {name: instant(told.pop(name)) for name in ("oldest_at", "newest_at")}
    return {**{name: int(value) for name, value in told.items()}, **moments}


def trend_start(now: dt.datetime) -> dt.datetime:
    """Return the first moment of the last 30 days (UTC), today among them."""
    return (now - dt.timedelta(days=TREND_DAYS - 1)).replace(hour=0, minute=0, second=0, microsecond=0)


def backups_by_day(repository_id: uuid.UUID, *, since: dt.datetime) -> dict[dt.date, dict[str, int]]:
    """Return what the backups of each day (UTC) came to; days without one are left out."""
    rows = Backup.objects.filter(repository_id=repository_id, created_at__gte=since)
    days = rows.annotate(day=TruncDate("created_at", tzinfo=dt.UTC)).values("day").order_by("day")
    sums = {f"sum_{name}": Sum(name) for name in _SUMS}
    found: Iterable[Mapping[str, Any]] = days.annotate(backups=Count("id"), **sums)
    return {
        row["day"]: {"backups": row["backups"], **{name: int(row[f"sum_{name}"]) for name in _SUMS}} for row in found
    }

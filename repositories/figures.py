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


def trend_json(repository_id: uuid.UUID, *, now: dt.datetime) -> list[dict[str, Any]]:
    """Return what the backups of each of the last 30 days (UTC) came to, oldest first, without empty days."""
    since = (now - dt.timedelta(days=TREND_DAYS - 1)).replace(hour=0, minute=0, second=0, microsecond=0)
    rows = Backup.objects.filter(repository_id=repository_id, created_at__gte=since)
    days = rows.annotate(day=TruncDate("created_at", tzinfo=dt.UTC)).values("day").order_by("day")
    sums = {f"sum_{name}": Sum(name) for name in _SUMS}
    found: Iterable[Mapping[str, Any]] = days.annotate(backups=Count("id"), **sums)
    return [
        {
            "day": row["day"].isoformat(),
            "backups": row["backups"],
            **{name: int(row[f"sum_{name}"]) for name in _SUMS},
        }
        for row in found
    ]

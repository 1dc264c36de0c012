"""Backups as the API lists and finds them: which are visible, by which filters, in which order.

Owns the query sets. Reads the catalogue alone: the database's rows, never a repository.
"""

import contextlib
import uuid
from collections.abc import Mapping
from typing import Any, Final

from django.db.models import Q, QuerySet

from repositories.errors import BackupUnknownError
from repositories.models import Backup
from syncova_project.access.visibility import within_sight
from syncova_project.paging import Ordering

BACKUP_ORDERINGS: Final[Mapping[str, Ordering]] = {
    "created_at": Ordering("created_at", "created_at"),
    "-created_at": Ordering("-created_at", "created_at", descending=True),
}
COMPLETE, PARTIAL = "complete", "partial"


def backups_visible() -> QuerySet[Backup]:
    """Return the backups of visible repositories, each with its repository."""
    return within_sight(Backup.objects.select_related("repository"), "repository__worker_group")


def backup_get(backup_id: uuid.UUID) -> Backup:
    """Return one visible backup by its row's id; raises BackupUnknownError."""
    return _one(backups_visible().filter(pk=backup_id), str(backup_id))


def backup_of(repository_id: uuid.UUID, word: str) -> Backup:
    """Return a visible backup of a repository by its row's id or its own; raises BackupUnknownError."""
    named = Q(backup_id=word)
    with contextlib.suppress(ValueError):
        named |= Q(pk=uuid.UUID(word))
    return _one(backups_visible().filter(named, repository_id=repository_id), word)


def backups_matching(filters: Mapping[str, Any]) -> QuerySet[Backup]:
    """Return the visible backups that all given filters take (backup_serializers.BackupFilter has their names)."""
    matching = backups_visible()
    exact = {
        "repository": "repository_id",
        "job": "job_id",
        "source": "source_id",
        "source_name": "source_name",
        "run": "run_id",
        "manifest": "manifest_id",
        "since": "created_at__gte",
        "until": "created_at__lt",
    }
    matching = matching.filter(**{column: filters[name] for name, column in exact.items() if name in filters})
    if "state" in filters:
        matching = matching.filter(skipped__gt=0) if filters["state"] == PARTIAL else matching.filter(skipped=0)
    return matching


def _one(found: QuerySet[Backup], word: str) -> Backup:
    backup = found.first()
    if backup is None:
        raise BackupUnknownError(
            f"There is no backup {word}.", hint="GET /api/v1/backups lists them.", details={"backup": word}
        )
    return backup

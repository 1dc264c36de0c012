"""This database as the control plane of a repository: its epoch, and whether it has to learn from the repository first.

Owns `epoch` and the columns of reindexing (execution.md, section 5). A database that was restored from a dump knows
less than the repository: until the catalogue was rebuilt, nothing is planned on it, ended or deleted.
"""

import datetime as dt
import uuid
from dataclasses import dataclass

from django.db import transaction
from django.db.models import F, QuerySet, Value
from django.db.models.functions import Greatest

from repositories.doorbell import request_pass
from repositories.freezing import MAX_REASON, repository_freeze
from repositories.models import Repository, RepositoryFreeze, RepositoryState
from syncova_project.access.services import audit_record


@dataclass(frozen=True, slots=True)
class TakenOver:
    """What the database wrote before it puts its new mark: no lower one was ever put under this id."""

    epoch: int
    fence: int


def reindex_wanted(*, repository_id: uuid.UUID, reason: str, run_id: uuid.UUID | None, now: dt.datetime) -> bool:
    """Freeze the repository, and plan nothing on it until it was indexed again; the first reason stays.

    Returns whether this call froze it.
    """
    with transaction.atomic():
        row = Repository.objects.select_for_update(no_key=True).get(pk=repository_id)
        reason = row.reindex_reason or reason[:MAX_REASON]
        is_new = repository_freeze(repository_id=repository_id, reason=reason, run_id=run_id, now=now)
        if row.reindex_wanted_at is None:
            Repository.objects.filter(pk=repository_id).update(reindex_wanted_at=now, reindex_reason=reason)
    return is_new


def reindex_all(*, reason: str, now: dt.datetime) -> int:
    """Ask that of every repository that was ever opened; returns of how many."""
    opened = list(repositories_known().order_by("id").values_list("id", flat=True))
    for repository_id in opened:
        reindex_wanted(repository_id=repository_id, reason=reason, run_id=None, now=now)
    return len(opened)


def repositories_known() -> QuerySet[Repository]:
    """Return the repositories that could hold what this database does not know."""
    return Repository.objects.filter(state=RepositoryState.ACTIVE)


def taken_over(*, repository_id: uuid.UUID, epoch: int, fence: int) -> TakenOver:
    """Take the repository over from what holds it under `epoch` and `fence`, and return the mark to put.

    Committed before the repository can hold it, so that no run takes it for another control plane's. The fence comes
    from the sequence, which the caller has set above all that is written there.
    """
    with transaction.atomic():
        row = Repository.objects.select_for_update(no_key=True).get(pk=repository_id)
        row.epoch = max(row.epoch, epoch) + 1
        row.fence_intended = max(row.fence_intended, fence)
        row.save(update_fields=["epoch", "fence_intended"])
    return TakenOver(row.epoch, row.fence_intended)


def reindexed(*, repository_id: uuid.UUID, fence: int, actor: str, told: dict[str, object], now: dt.datetime) -> None:
    """Note that the catalogue is the repository's, and clear the freezes that asked for it; others stay."""
    with transaction.atomic():
        row = Repository.objects.select_for_update(no_key=True).get(pk=repository_id)
        if row.reindex_reason:
            asked = RepositoryFreeze.objects.filter(repository=row, cleared_at__isnull=True, reason=row.reindex_reason)
            asked.update(cleared_at=Greatest("frozen_at", Value(now)), cleared_by=actor)
        Repository.objects.filter(pk=repository_id).update(
            reindex_wanted_at=None,
            reindex_reason="",
            reindexed_at=now,
            fence_intended=Greatest("fence_intended", Value(fence)),
            fence_confirmed=Greatest(F("fence_confirmed"), Value(fence)),
        )
        audit_record(
            actor=actor,
            action="repository.reindex",
            subject_type="repository",
            subject_id=repository_id,
            now=now,
            details=told,
        )
        request_pass()

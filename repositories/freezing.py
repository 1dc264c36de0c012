"""The freeze journal: rows are added and, once, cleared; a repository is frozen while one of its rows is open (G1, G5).

Owns the journal's writing, and what clearing it says of the medium. Freezing locks the repository's row, as starting
a run does: after a freeze has answered nothing starts. What a freeze holds is jobs.gates'.
"""

import datetime as dt
import shlex
import uuid

from django.db import transaction
from django.db.models import Value
from django.db.models.functions import Greatest

from repositories.doorbell import request_pass
from repositories.errors import RepositoryReindexWantedError
from repositories.looking import require_fresh_look
from repositories.memory import earlier_state_confirmed, state_forgotten
from repositories.models import Repository, RepositoryFreeze
from repositories.rows import locked_repository, save_registered
from syncova_project.access.services import audit_record
from syncova_project.instants import instant

MAX_REASON = 500
SYSTEM = "system"


def repository_freeze(
    *, repository_id: uuid.UUID, reason: str, run_id: uuid.UUID | None = None, actor: str = SYSTEM, now: dt.datetime
) -> bool:
    """Freeze the repository: once this has committed, nothing starts on it (G1); running runs go on.

    The same cause twice leaves one open row; returns whether this call added one. Raises RepositoryUnknownError.
    """
    reason = reason.replace("\0", "")[:MAX_REASON]
    with transaction.atomic():
        repository = locked_repository(repository_id)
        known = RepositoryFreeze.objects.filter(
            repository=repository, reason=reason, run_id=run_id, cleared_at__isnull=True
        )
        if known.exists():
            return False
        RepositoryFreeze.objects.create(
            repository=repository, frozen_at=now, frozen_by=actor, reason=reason, run_id=run_id
        )
        audit_record(
            actor=actor,
            action="repository.freeze",
            subject_type="repository",
            subject_id=repository_id,
            now=now,
            details={"reason": reason, "run": str(run_id) if run_id else None},
        )
        # What has been admitted and not started gives its slot back, and says why.
        request_pass()
    return True


def repository_unfreeze(
    *, repository_id: uuid.UUID, actor: str, now: dt.datetime, adopt_observed_id: bool = False
) -> int:
    """Close every open row of the freeze journal (G1); returns how many, 0 when it was not frozen.

    After a swap, `adopt_observed_id` says that the new medium is the right one; else the next run that sees it
    freezes the repository again. After an earlier state it says that this is as it should be. Raises
    RepositoryRegisteredError if another row adopted that id, and RepositoryNotLookedAtError if nobody looked lately
    (repositories.looking). A freeze that waits for the repository to be indexed again stays: only that ends it, and
    where nothing else is to clear or to adopt RepositoryReindexWantedError says so.
    """
    with transaction.atomic():
        repository = locked_repository(repository_id)
        adopted = adopt_observed_id and _adopt_observed(repository, actor, now)
        open_rows = RepositoryFreeze.objects.filter(repository=repository, cleared_at__isnull=True)
        if repository.reindex_wanted_at is not None:
            open_rows = open_rows.exclude(reason=repository.reindex_reason)
        freezes = [_freeze_told(row) for row in open_rows.order_by("id")]
        closed = open_rows.update(cleared_at=Greatest("frozen_at", Value(now)), cleared_by=actor)
        if not closed and not adopted and repository.reindex_wanted_at is not None:
            raise _only_indexing(repository)
        if closed:
            audit_record(
                actor=actor,
                action="repository.unfreeze",
                subject_type="repository",
                subject_id=repository_id,
                now=now,
                details={"closed": closed, "freezes": freezes},
            )
            earlier_state_confirmed(repository_id=repository_id)
            request_pass()
    return closed


def _freeze_told(row: RepositoryFreeze) -> dict[str, object]:
    """Return what a freeze was, as the trail keeps it of one that ends."""
    run = str(row.run_id) if row.run_id else None
    told: dict[str, object] = {"id": row.pk, "reason": row.reason, "run": run}
    return told | {"frozen_at": instant(row.frozen_at), "frozen_by": row.frozen_by}


def _only_indexing(repository: Repository) -> RepositoryReindexWantedError:
    return RepositoryReindexWantedError(
        f"The repository {repository.name} stays frozen until it was indexed again: {repository.reindex_reason}",
        hint="On a machine of its worker group that reaches its medium: ./syncova manage reindex_repository "
        f"{shlex.quote(repository.name)}",
        details={"repository": str(repository.id)},
    )


def _adopt_observed(repository: Repository, actor: str, now: dt.datetime) -> bool:
    require_fresh_look(repository, now)
    before, after = repository.repository_id, repository.observed_repository_id
    if after is None or after == before:
        return False
    # What the old medium had confirmed says nothing of the new one.
    repository.repository_id, repository.fence_confirmed = after, 0
    state_forgotten(repository_id=repository.id)
    save_registered(repository)
    audit_record(
        actor=actor,
        action="repository.adopt",
        subject_type="repository",
        subject_id=repository.id,
        now=now,
        details={"repository_id": after, "before": before},
    )
    return True

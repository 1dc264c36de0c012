"""Writes of repositories: registered, opened, and the references to their backups.

Owns every change of a repository's row. Opens no repository: that is a worker's task, which reports here. Each
function is one transaction (a savepoint inside the caller's), and its audit entry is part of it.
"""

import datetime as dt
import enum
import uuid
from dataclasses import asdict, dataclass

from django.db import transaction
from django.db.models import Value
from django.db.models.functions import Greatest

from repositories.acceptance import INSPECTION_PATIENCE
from repositories.doorbell import request_pass, ring_inspection
from repositories.freezing import SYSTEM, repository_freeze
from repositories.identifiers import new_id
from repositories.locations import normalised_location
from repositories.models import Backup, Repository, RepositoryState
from repositories.registration import checked_group, checked_label, known_one, refuse_unseen, require_key
from repositories.rows import locked_repository, save_registered
from repositories.selectors import inspections_unanswered, repository_get
from repositories.troubles import repository_unopened
from repositories.vault import password_context, seal
from syncova_project.access.services import audit_record

MAX_NAME = 200


class Observation(enum.Enum):
    """What the id of an opened repository says about the row (A10)."""

    ADOPTED = "adopted"
    SAME = "same"
    SWAPPED = "swapped"


@dataclass(frozen=True, slots=True)
class BackupReference:
    """Where one backup lies and what it measured (A9): the worker's report after a commit."""

    backup_id: str
    repository_id: uuid.UUID
    run_id: uuid.UUID
    manifest_id: str
    chain: str
    mode: str
    logical_bytes: int
    bytes_read: int
    bytes_stored: int
    files: int
    skipped: int
    warnings: int
    parent: str | None = None
    task_run_id: uuid.UUID | None = None
    source_id: uuid.UUID | None = None
    source_name: str = ""
    job_id: uuid.UUID | None = None
    host: str = ""
    source_type: str = ""
    trigger: str = ""
    scheduled_for: dt.datetime | None = None


def repository_register(
    *, name: str, location: str, password: bytes, worker_group: str = "default", actor: str, now: dt.datetime
) -> Repository:
    """Register a repository that exists on its medium; a worker of the group then opens it once (E7, A5).

    A repository that could not be opened is registered again by the same call: its row is taken over, so that a
    wrong password is not for ever. The same name, location and group as an opened one give it this password: it waits
    until a worker has opened it with that. Raises RepositoryNameTakenError, RepositoryRegisteredError,
    EncryptionRequiredError, ValidationFailedError.
    """
    name = checked_label("name", name, MAX_NAME)
    worker_group = checked_group(worker_group)
    location = normalised_location(location)
    require_key(password)
    with transaction.atomic():
        repository = known_one(name, location, worker_group) or Repository(id=new_id(now), created_at=now)
        again = not repository._state.adding
        refuse_unseen(worker_group, repository.worker_group if again else worker_group)
        repository.name, repository.location, repository.worker_group = name, location, worker_group
        repository.sealed_password = seal(password, password_context(repository.id))
        repository.state, repository.state_code, repository.state_reason = RepositoryState.REGISTERING, "", ""
        repository.inspection_rung_at = now
        save_registered(repository)
        audit_record(
            actor=actor,
            action="repository.register",
            subject_type="repository",
            subject_id=repository.id,
            now=now,
            details={"name": name, "location": location, "worker_group": worker_group, "again": again},
        )
        ring_inspection(repository_id=repository.id, group=worker_group)
    return repository


def repository_inspected(*, repository_id: uuid.UUID, repository_hex: str, now: dt.datetime) -> Repository:
    """Take a worker's report that the repository opened: the first one adopts its id and makes it active (A10).

    If another row adopted the same id, this one fails with that reason: two rows of one repository would run two at
    a time where one is allowed. The reason has the id, not the name: who reads it may not see the other row.
    """
    with transaction.atomic():
        is_known = Repository.objects.filter(repository_id=repository_hex).exclude(pk=repository_id).exists()
        # What was opened before is swapped instead: that freezes it.
        if is_known and repository_get(repository_id).state == RepositoryState.REGISTERING:
            reason = f"It is the repository {repository_hex}, which is registered already under another name."
            repository_inspection_failed(
                repository_id=repository_id, code="REPOSITORY_ALREADY_REGISTERED", message=reason, now=now
            )
        else:
            observe_repository_id(repository_id=repository_id, observed_hex=repository_hex, run_id=None, now=now)
    return repository_get(repository_id)


def repository_inspection_failed(*, repository_id: uuid.UUID, code: str, message: str, now: dt.datetime) -> Repository:
    """Take a worker's report that the repository did not open: one that ever opened stays, with the trouble noted."""
    with transaction.atomic():
        changed = Repository.objects.filter(pk=repository_id, state=RepositoryState.REGISTERING).update(
            state=RepositoryState.FAILED, state_code=code, state_reason=message
        )
        if not changed:
            repository_unopened(repository_id=repository_id, code=code, message=message, now=now)
            Repository.objects.filter(pk=repository_id).update(inspection_rung_at=None)
        else:
            _audit_opening("repository.open_failed", repository_id, now, {"code": code, "reason": message})
    return repository_get(repository_id)


def inspections_sweep(*, now: dt.datetime) -> int:
    """Ring again for repositories whose opening was asked for and not answered; returns how many.

    The guarded UPDATE lets one of several sweepers ring for a row.
    """
    rung = 0
    before = now - INSPECTION_PATIENCE
    for repository in inspections_unanswered(rung_before=before):
        with transaction.atomic():
            if inspections_unanswered(rung_before=before).filter(pk=repository.pk).update(inspection_rung_at=now):
                ring_inspection(repository_id=repository.id, group=repository.worker_group)
                rung += 1
    return rung


def observe_repository_id(
    *, repository_id: uuid.UUID, observed_hex: str, run_id: uuid.UUID | None, now: dt.datetime
) -> Observation:
    """Record the id that the repository says of itself (A10).

    The first one is adopted. A different one later means that the directory was swapped: the caller's run goes on,
    the mismatch is kept beside the adopted id, and the repository is frozen for the runs after it (G5).
    """
    with transaction.atomic():
        repository = locked_repository(repository_id)
        repository.observed_repository_id, repository.observed_at = observed_hex, now
        if repository.repository_id is None:
            repository.repository_id = observed_hex
            repository.state, repository.state_code, repository.state_reason = RepositoryState.ACTIVE, "", ""
            repository.save()
            _audit_opening("repository.adopt", repository_id, now, {"repository_id": observed_hex})
            request_pass()
            return Observation.ADOPTED
        repository.trouble_code, repository.trouble_reason, repository.trouble_at = "", "", None
        if run_id is None:
            repository.inspection_rung_at = None
            # A worker opened it to see whether its password is right: only that ends a registration.
            repository.state, repository.state_code, repository.state_reason = RepositoryState.ACTIVE, "", ""
            request_pass()
        repository.save()
        if repository.repository_id == observed_hex:
            return Observation.SAME
        reason = (
            f"The repository at its location was swapped: it is {observed_hex}, "
            f"but {repository.repository_id} was adopted."
        )
        repository_freeze(repository_id=repository_id, reason=reason, run_id=run_id, now=now)
        return Observation.SWAPPED


def backup_record(*, reference: BackupReference, now: dt.datetime) -> Backup:
    """Write the reference to a committed backup; reporting it twice leaves the first row as it is (A9).

    A row that was read from the repository in between gets what only the run knows. A failure is the caller's to log:
    the backup lies in the repository either way.
    """
    backup, is_new = Backup.objects.get_or_create(
        repository_id=reference.repository_id,
        backup_id=reference.backup_id,
        defaults={"id": new_id(now), "created_at": now, **asdict(reference)},
    )
    if not is_new and backup.task_run_id is None:
        for name in ("task_run_id", "source_id", "job_id"):
            setattr(backup, name, getattr(reference, name))
        backup.save(update_fields=["task_run_id", "source_id", "job_id"])
    return backup


def fence_intend(*, repository_id: uuid.UUID, fence: int) -> None:
    """Note, before the repository is opened for writing, the highest fence that may be put into it."""
    Repository.objects.filter(pk=repository_id).update(fence_intended=Greatest("fence_intended", Value(fence)))


def fence_confirm(*, repository_id: uuid.UUID, fence: int) -> None:
    """Note that the repository holds the fence; it was intended before."""
    Repository.objects.filter(pk=repository_id).update(fence_confirmed=Greatest("fence_confirmed", Value(fence)))


def _audit_opening(action: str, repository_id: uuid.UUID, now: dt.datetime, details: dict[str, object]) -> None:
    audit_record(
        actor=SYSTEM, action=action, subject_type="repository", subject_id=repository_id, now=now, details=details
    )

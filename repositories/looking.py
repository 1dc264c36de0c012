"""Looking again at a repository that was opened before: which one lies at its location now.

Owns the asking and its answer; the looking itself is a worker's task (the web process opens no repository). While it
is asked for, `inspection_rung_at` has a moment; the answer clears it.
"""

import datetime as dt
import uuid

from django.db import transaction

from repositories.doorbell import ring_inspection
from repositories.errors import RepositoryNotLookedAtError
from repositories.models import Repository, RepositoryState
from repositories.selectors import repository_get
from syncova_project.access.services import audit_record

# So old may be what was seen of a medium when it is adopted; cables are faster than that, people with a prompt not.
ADOPTION_PATIENCE = dt.timedelta(minutes=5)


def repository_look(*, repository_id: uuid.UUID, actor: str, now: dt.datetime) -> Repository:
    """Ask a worker of the repository's group which repository lies there now; may be repeated."""
    with transaction.atomic():
        repository = repository_get(repository_id)
        Repository.objects.filter(pk=repository_id).update(inspection_rung_at=now)
        audit_record(
            actor=actor, action="repository.look", subject_type="repository", subject_id=repository_id, now=now
        )
        ring_inspection(repository_id=repository_id, group=repository.worker_group)
    return repository_get(repository_id)


def is_looked_for(repository: Repository) -> bool:
    """Tell whether a worker was asked to look and has not answered."""
    asked, seen = repository.inspection_rung_at, repository.observed_at
    return asked is not None and (repository.state == RepositoryState.REGISTERING or seen is None or seen < asked)


def require_fresh_look(repository: Repository, now: dt.datetime) -> None:
    """Raise RepositoryNotLookedAtError where an adoption would take an id that was seen some time ago."""
    seen = repository.observed_at
    if seen is None or now - seen > ADOPTION_PATIENCE or is_looked_for(repository):
        when = f"last at {seen:%Y-%m-%d %H:%M:%S} UTC" if seen else "never"
        raise RepositoryNotLookedAtError(
            f"Which repository lies at {repository.location} now is not known: it was opened {when}.",
            hint=f"Look first: POST /api/v1/repositories/{repository.id}/look, and wait for its answer.",
            details={"observed_repository_id": repository.observed_repository_id},
        )

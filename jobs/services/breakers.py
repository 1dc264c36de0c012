"""Letting what waits for a failing repository try it at once: whoever has mended it need not wait for the pause's end.

Owns this one write; what opens and closes a breaker otherwise is jobs.breakers'.
"""

import datetime as dt
import uuid

from django.db import transaction

from jobs.doorbell import request_pass
from jobs.models import RepositoryBreaker
from repositories.models import Repository
from repositories.selectors import repository_get
from syncova_project.access.services import audit_record


def breaker_reset(*, repository_id: uuid.UUID, actor: str, now: dt.datetime) -> Repository:
    """Forget the repository's failures in a row; resetting a closed breaker changes nothing.

    Raises RepositoryUnknownError.
    """
    repository = repository_get(repository_id)
    with transaction.atomic():
        failing = RepositoryBreaker.objects.filter(repository=repository, failures__gt=0)
        if failing.update(failures=0, trips=0, open_until=None, error_code="", updated_at=now):
            audit_record(
                actor=actor,
                action="breaker.reset",
                subject_type="repository",
                subject_id=repository.id,
                now=now,
                details={"name": repository.name},
            )
    request_pass()
    return repository

"""How many runs may write to a repository at once, and its serial gate (C2, G3).

Owns the writing of these two columns. What counts and what waits is jobs.gates'.
"""

import datetime as dt
import uuid
from typing import Final

from django.db import transaction

from repositories.doorbell import request_pass
from repositories.models import Repository
from repositories.rows import locked_repository
from syncova_project.access.services import audit_record
from syncova_project.errors import ValidationFailedError

MAX_RUNS: Final = 1000


def repository_limit(
    *, repository_id: uuid.UUID, max_concurrent_runs: int, serial_gate: bool, actor: str, now: dt.datetime
) -> None:
    """Set both; what runs goes on, what waits is looked at again at once. Saying the same again changes nothing.

    The serial gate lets one chain of attempts write after the other, whatever the number says. Raises
    RepositoryUnknownError, ValidationFailedError.
    """
    if not 1 <= max_concurrent_runs <= MAX_RUNS:
        sentence = f"Has to be 1 to {MAX_RUNS}."
        raise ValidationFailedError("No such limit.", hint=sentence, details={"max_concurrent_runs": [sentence]})
    wanted = {"max_concurrent_runs": max_concurrent_runs, "serial_gate": serial_gate}
    with transaction.atomic():
        repository = locked_repository(repository_id)
        before = {name: getattr(repository, name) for name in wanted}
        if before == wanted:
            return
        Repository.objects.filter(pk=repository_id).update(**wanted)
        audit_record(
            actor=actor,
            action="repository.limit",
            subject_type="repository",
            subject_id=repository_id,
            now=now,
            details={**wanted, "before": before},
        )
        request_pass()

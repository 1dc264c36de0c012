"""The row of one repository: how it is locked and how it is saved.

Owns the lock that freezing, opening and starting a run share, and that a refusal of the database becomes a sentence.
"""

import uuid

from django.db import IntegrityError, transaction

from repositories.models import Repository
from repositories.registration import refusal_by_constraint
from repositories.selectors import repository_get


def locked_repository(repository_id: uuid.UUID) -> Repository:
    """Return the row, locked to the transaction's end as starting a run does; raises RepositoryUnknownError."""
    repository_get(repository_id)
    return Repository.objects.select_for_update(no_key=True).get(pk=repository_id)


def save_registered(repository: Repository) -> None:
    """Save the row; raises what a constraint on names, places or ids says of it."""
    try:
        with transaction.atomic():
            repository.save()
    except IntegrityError as error:
        raise refusal_by_constraint(repository, error) from error

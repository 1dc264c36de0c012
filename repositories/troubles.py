"""What runs report of a repository that they could not open: kept beside its state until one can again.

Owns these columns' writing; an opening clears them (repositories.services). Refuses nothing: a run has to be able to
find the repository again.
"""

import datetime as dt
import uuid

from repositories.models import Repository


def repository_unopened(*, repository_id: uuid.UUID, code: str, message: str, now: dt.datetime) -> None:
    """Note that a run could not open the repository, and since when that is so for the same reason."""
    row = Repository.objects.filter(pk=repository_id)
    row.exclude(trouble_code=code).update(trouble_code=code, trouble_at=now)
    row.update(trouble_reason=message)

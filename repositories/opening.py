"""What a worker needs to open a repository: its location, its password and the id it must have.

Owns the one place where a sealed password is opened. The plain password lives in this value alone, goes to the
engine's standard input, and stays out of reprs, logs, arguments and messages.
"""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field

from repositories.engine.high_water import HighWater
from repositories.memory import state_remembered
from repositories.models import Repository
from repositories.selectors import repository_get
from repositories.vault import password_context, unseal


@dataclass(frozen=True, slots=True)
class RepositoryAccess:
    """Everything that opening takes; `expected_id` is None until the first opening adopted one (A10).

    `epoch` is this database's turn as its control plane; `remembered` is what was seen of that repository before.
    `credentials` let a worker in to a remote medium: they are its machine's own (workers.media), never a row's.
    """

    id: uuid.UUID
    location: str
    password: bytes = field(repr=False)
    expected_id: str | None
    remembered: HighWater = field(repr=False)
    epoch: int = 1
    credentials: Mapping[str, str] = field(default_factory=dict, repr=False)


def repository_access(*, repository_id: uuid.UUID) -> RepositoryAccess:
    """Return what opens the repository; RepositoryUnknownError or SecretUnreadableError if that is not possible."""
    remembered = state_remembered(repository_id=repository_id)
    return access_to(repository_get(repository_id), remembered)


def access_to(repository: Repository, remembered: HighWater) -> RepositoryAccess:
    """Return what opens a repository whose row is already read."""
    return RepositoryAccess(
        id=repository.id,
        location=repository.location,
        password=unseal(bytes(repository.sealed_password), password_context(repository.id)),
        expected_id=repository.repository_id,
        remembered=remembered,
        epoch=repository.epoch,
    )

"""The doorbells of repositories: asks a worker of the group to open one, and the scheduler to look again.

Owns resolving dotted paths of settings when they ring, so that this app imports no broker and none of its callers.
The row is the truth and the message a hint: what is lost here is rung again by `inspections_sweep`.
"""

import uuid

from django.conf import settings
from django.db import transaction
from django.utils.module_loading import import_string


def ring_inspection(*, repository_id: uuid.UUID, group: str) -> None:
    """Ask a worker of `group` to open the repository, once the present transaction has committed."""

    def ring() -> None:
        import_string(settings.SYNCOVA_INSPECT)(repository_id, group)

    # Robust: what was committed stays answered as done, whatever the broker's side raises.
    transaction.on_commit(ring, robust=True)


def ring_lookup(*, lookup_id: uuid.UUID, group: str) -> None:
    """Ask a worker of `group` to look into a backup, once the present transaction has committed."""

    def ring() -> None:
        import_string(settings.SYNCOVA_LOOKUP)(lookup_id, group)

    transaction.on_commit(ring, robust=True)


def request_pass() -> None:
    """Ask the scheduler for a pass once the present transaction has committed: what waited may start now."""
    import_string(settings.SYNCOVA_LOOK_AGAIN)()

"""The doorbell of repositories: after commit, asks a worker of the group to open one.

Owns resolving the dotted path of SYNCOVA_INSPECT when it rings, so that this app imports no broker. The row is the
truth and the message a hint: what is lost here is rung again by `inspections_sweep`.
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

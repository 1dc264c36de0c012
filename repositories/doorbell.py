"""The doorbell of repositories: after commit, asks a worker of the group to open one.

Owns resolving the dotted path of SYNCOVA_INSPECT when it rings, so that this app imports no broker. The row is the
truth and the message a hint: what is lost here is rung again by `inspections_sweep`.
"""

import logging
import uuid
from functools import partial

from django.conf import settings
from django.db import transaction
from django.utils.module_loading import import_string

log = logging.getLogger(__name__)


def ring_inspection(*, repository_id: uuid.UUID, group: str) -> None:
    """Ask a worker of `group` to open the repository, once the present transaction has committed."""
    transaction.on_commit(partial(_ring, repository_id, group))


def _ring(repository_id: uuid.UUID, group: str) -> None:
    try:
        import_string(settings.SYNCOVA_INSPECT)(repository_id, group)
    except Exception:
        log.warning("No message about repository %s could be sent; it is sent again.", repository_id, exc_info=True)

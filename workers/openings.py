"""What an opening for writing tells about the repository: its id, and the fence that it holds of us (A10).

Owns the judgement in one transaction. `confirmed_before` was read before the engine started and `fence_intended` is
read now, after it opened: runs side by side then never look like a rolled back repository or an older database.
"""

import logging
import uuid
from dataclasses import dataclass

from jobs.database_time import database_now
from repositories.models import Repository
from repositories.services import Observation, fence_confirm, observe_repository_id, repository_freeze
from workers.fences import KnownFences, alarm

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Opening:
    """One opening by one run; `stored_fence` is what the repository held of this control plane before it."""

    repository_id: uuid.UUID
    observed_hex: str
    stored_fence: int
    confirmed_before: int
    run_id: uuid.UUID
    fence: int


def record_opening(opening: Opening) -> None:
    """Record id and fence; freeze the repository for the runs after this one when either says that it must be."""
    now = database_now()
    repository_id, run_id = opening.repository_id, opening.run_id
    seen = observe_repository_id(repository_id=repository_id, observed_hex=opening.observed_hex, run_id=run_id, now=now)
    if seen is Observation.SWAPPED:
        return
    intended = Repository.objects.values_list("fence_intended", flat=True).get(pk=repository_id)
    reason = alarm(opening.stored_fence, KnownFences(intended=intended, confirmed=opening.confirmed_before))
    if reason is None:
        fence_confirm(repository_id=repository_id, fence=opening.fence)
        return
    logger.error("Repository %s is frozen: %s", repository_id, reason)
    repository_freeze(repository_id=repository_id, reason=reason, run_id=run_id, now=now)

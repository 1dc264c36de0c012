"""What an opening tells about the repository: its id, what it shows, and the fence that it holds of us (A10).

Owns what is remembered of that, and the freeze when it must not be, in one transaction. `confirmed_before` was read
before the engine started and `fence_intended` is read now, after it opened: runs side by side then never look like a
rolled back repository or an older database.
"""

import logging
import uuid
from dataclasses import dataclass

from django.db import transaction

from jobs.database_time import database_now
from repositories.engine.high_water import HighWater
from repositories.memory import state_seen, state_was_earlier
from repositories.models import Repository
from repositories.services import Observation, fence_confirm, observe_repository_id, repository_freeze
from workers.fences import KnownFences, alarm
from workers.outcome import clean

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Look:
    """What the engine saw of the registered repository, in its own words; `before` is what was remembered until then.

    `earlier_state` says why it is not to be added.
    """

    repository_id: uuid.UUID
    run_id: uuid.UUID | None
    before: HighWater
    seen: HighWater | None
    earlier_state: str = ""


@dataclass(frozen=True, slots=True)
class Opening:
    """One opening by one run; `stored_fence` is what the repository held of this control plane before it."""

    observed_hex: str
    stored_fence: int
    confirmed_before: int
    fence: int
    look: Look


def record_opening(opening: Opening) -> None:
    """Record id and fence; freeze the repository for the runs after this one when either says that it must be."""
    now = database_now()
    repository_id, run_id = opening.look.repository_id, opening.look.run_id
    seen = observe_repository_id(repository_id=repository_id, observed_hex=opening.observed_hex, run_id=run_id, now=now)
    if seen is Observation.SWAPPED:
        return
    if opening.look.earlier_state:
        # It was refused before the fence was put, which therefore tells the same, and no more.
        record_look(opening.look)
        return
    intended = Repository.objects.values_list("fence_intended", flat=True).get(pk=repository_id)
    reason = alarm(opening.stored_fence, KnownFences(intended=intended, confirmed=opening.confirmed_before))
    if reason is None:
        fence_confirm(repository_id=repository_id, fence=opening.fence)
        record_look(opening.look)
        return
    _freeze(repository_id, reason, run_id)


def record_look(look: Look) -> None:
    """Remember what was seen; freeze the repository for the runs after this one if it was an earlier state."""
    if look.earlier_state:
        why = f"The repository shows an earlier state than before: {look.earlier_state}. Is it an old copy?"
        with transaction.atomic():
            _freeze(look.repository_id, clean(why), look.run_id)
            state_was_earlier(repository_id=look.repository_id)
    elif look.seen is not None:
        state_seen(repository_id=look.repository_id, before=look.before, seen=look.seen, now=database_now())


def _freeze(repository_id: uuid.UUID, reason: str, run_id: uuid.UUID | None) -> None:
    logger.error("Repository %s is frozen: %s", repository_id, reason)
    repository_freeze(repository_id=repository_id, reason=reason, run_id=run_id, now=database_now())

"""What an opening tells about the repository: its id, what it shows, and the fence that it holds of us (A10).

Owns what is remembered of that, and the freeze when it must not be, in one transaction. `confirmed_before` was read
before the engine started and `fence_intended` is read now, after it opened: runs side by side then never look like a
rolled back repository or an older database.
"""

import logging
import uuid
from collections.abc import Sequence
from dataclasses import dataclass

from django.db import transaction

from jobs import transitions
from jobs.database_time import database_now
from repositories.control_plane import reindex_wanted
from repositories.engine.high_water import HighWater
from repositories.engine.process.protocol import ControllerInfo
from repositories.freezing import repository_freeze
from repositories.memory import state_seen, state_was_earlier
from repositories.models import Repository
from repositories.services import Observation, fence_confirm, observe_repository_id
from workers.fences import Alarm, KnownMark, StoredMark, alarm
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
    """One opening by one run; `stored` is what the repository held of this control plane before it."""

    observed_hex: str
    stored: StoredMark
    confirmed_before: int
    fence: int
    look: Look


def stored_mark(controllers: Sequence[ControllerInfo], repository_id: uuid.UUID) -> StoredMark:
    """Return what a repository holds of this control plane, whose id there is that of the repository's row."""
    mine = [StoredMark(each.epoch, each.highest_fence) for each in controllers if each.id == str(repository_id)]
    return mine[0] if mine else StoredMark(0, 0)


def record_opening(opening: Opening) -> Alarm | None:
    """Record id and fence; freeze the repository for the runs after this one when either says that it must be.

    Returns what the fence says: a run that is about to delete has to know.
    """
    repository_id = opening.look.repository_id
    if _is_swapped(opening.observed_hex, opening.look):
        return None
    if opening.look.earlier_state:
        # It was refused before the fence was put, which therefore tells the same, and no more.
        record_look(opening.look)
        return None
    row = Repository.objects.only("epoch", "fence_intended").get(pk=repository_id)
    known = KnownMark(row.epoch, intended=row.fence_intended, confirmed=opening.confirmed_before)
    found = alarm(opening.stored, known)
    if found is None:
        fence_confirm(repository_id=repository_id, fence=opening.fence)
        record_look(opening.look)
    else:
        _freeze(opening.look, found.reason, wants_reindex=found.wants_reindex)
    return found


def record_meeting(observed_hex: str, look: Look) -> None:
    """Record the id and the look of a run that puts no fence; what is swapped is frozen for the runs after it (G5)."""
    if not _is_swapped(observed_hex, look):
        record_look(look)


def record_look(look: Look) -> None:
    """Remember what was seen; freeze the repository for the runs after this one if it was an earlier state."""
    if look.earlier_state:
        why = f"The repository shows an earlier state than before: {look.earlier_state}. Is it an old copy?"
        with transaction.atomic():
            _freeze(look, clean(why))
            state_was_earlier(repository_id=look.repository_id)
    elif look.seen is not None:
        state_seen(repository_id=look.repository_id, before=look.before, seen=look.seen, now=database_now())


def _is_swapped(observed_hex: str, look: Look) -> bool:
    """Record the id; a different one than was adopted freezes, and the run's events say so."""
    now, repository_id, run_id = database_now(), look.repository_id, look.run_id
    with transaction.atomic():
        seen = observe_repository_id(repository_id=repository_id, observed_hex=observed_hex, run_id=run_id, now=now)
        if seen is not Observation.SWAPPED:
            return False
        if run_id is not None:
            reason = f"The repository at its location was swapped: it is {observed_hex}."
            transitions.froze(run_id, repository_id, reason, now=now)
    return True


def _freeze(look: Look, reason: str, *, wants_reindex: bool = False) -> None:
    # The reason may name sources: for who may see the repository, not for everyone who reads this log.
    logger.error("Repository %s is frozen; `./syncova ctl repository journal` tells why.", look.repository_id)
    now = database_now()
    with transaction.atomic():
        freeze = reindex_wanted if wants_reindex else repository_freeze
        is_new = freeze(repository_id=look.repository_id, reason=reason, run_id=look.run_id, now=now)
        if is_new and look.run_id is not None:
            transitions.froze(look.run_id, look.repository_id, reason, now=now)

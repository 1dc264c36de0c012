"""What workers have seen of a repository, so that any of them knows an earlier state of it (engine.md, section 5).

Owns these rows' writing, and that two runs side by side do not undo each other's words. The engine looks and judges;
freezing is the caller's.
"""

import contextlib
import datetime as dt
import uuid

import msgspec
from django.db import transaction

from repositories.engine.high_water import HighWater, confirmed, merge
from repositories.models import Repository, RepositoryMemory


def state_remembered(*, repository_id: uuid.UUID) -> HighWater:
    """Return what is remembered; to be asked for before the engine opens the repository."""
    return _state_of(RepositoryMemory.objects.filter(pk=repository_id).first())


def state_seen(*, repository_id: uuid.UUID, before: HighWater, seen: HighWater, now: dt.datetime) -> None:
    """Add what a look showed; `before` is what was remembered when it began."""
    with transaction.atomic():
        # The repository's row is locked, since that of its memory may not be there yet.
        Repository.objects.select_for_update(no_key=True).get(pk=repository_id)
        row = RepositoryMemory.objects.filter(pk=repository_id).first()
        state = msgspec.to_builtins(merge(before, seen, _state_of(row)))
        RepositoryMemory.objects.update_or_create(pk=repository_id, defaults={"state": state, "seen_at": now})


def state_was_earlier(*, repository_id: uuid.UUID) -> None:
    """Note that a look showed an earlier state than is remembered: somebody has to confirm that."""
    RepositoryMemory.objects.filter(pk=repository_id).update(is_contradicted=True)


def earlier_state_confirmed(*, repository_id: uuid.UUID) -> None:
    """Forget what was remembered if it was contradicted: what is there now is as it should be.

    Nobody has looked by the time that this is said, so that the next look is the memory's new beginning. Only the
    highest number of a prune stays remembered, as `high_water.confirmed` keeps it: it is not to be used again.
    """
    with transaction.atomic():
        row = RepositoryMemory.objects.select_for_update().filter(pk=repository_id, is_contradicted=True).first()
        if row is None:
            return
        row.state, row.is_contradicted = msgspec.to_builtins(confirmed(_state_of(row), HighWater())), False
        row.save(update_fields=["state", "is_contradicted"])
        # The run that found it was refused, and has put no fence.
        Repository.objects.filter(pk=repository_id).update(fence_confirmed=0)


def state_forgotten(*, repository_id: uuid.UUID) -> None:
    """Forget all: another repository takes the place."""
    RepositoryMemory.objects.filter(pk=repository_id).delete()


def _state_of(row: RepositoryMemory | None) -> HighWater:
    if row is not None:
        # A row that was changed by hand is as none.
        with contextlib.suppress(msgspec.ValidationError):
            return msgspec.convert(row.state, HighWater)
    return HighWater()

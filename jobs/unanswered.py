"""Admitted runs that nobody started: rung once more after 30 s, withdrawn after 60 s (execution.md, section 2).

Owns the two delays, and that what a freeze keeps from starting is withdrawn at once. A withdrawn run is waiting again:
its slot and its places in the limits are free, and the next admission gives it a new fence, so that a message that
comes late starts nothing.
"""

import datetime as dt
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from django.db.models import F, QuerySet

from jobs import transitions
from jobs.doorbell import Ring, ring_after_commit
from jobs.frozen import held_by_freeze
from jobs.gates import Held
from jobs.models import Run
from jobs.states import HeldCode, RunState

RING_AGAIN_AFTER: Final = dt.timedelta(seconds=30)
WITHDRAW_AFTER: Final = dt.timedelta(seconds=60)
# A first ring that the broker did not take is made up by the next pass, not only after 30 s.
RING_FIRST_AFTER: Final = dt.timedelta(seconds=5)
# By how often it was rung for.
_RING_AFTER: Final = (RING_FIRST_AFTER, RING_AGAIN_AFTER)


@dataclass(frozen=True, slots=True)
class Answered:
    """What a pass did about runs that nobody had started."""

    withdrawn: int
    rung_again: int


def ring_or_withdraw(*, now: dt.datetime) -> Answered:
    """Withdraw what is frozen or waited too long for its worker, ring again for the rest."""
    admitted = Run.objects.filter(state=RunState.QUEUED, admitted_at__isnull=False)
    columns = ("id", "fence", "admitted_at", "rings", "runner__name")
    rows = list(admitted.order_by("admitted_at").values_list(*columns))
    if not rows:
        return Answered(0, 0)
    frozen = _withdraw_frozen(admitted, now)
    withdrawn, rings = sum(frozen.values()), []
    for run_id, fence, admitted_at, rung, group in rows:
        if run_id in frozen or fence is None or admitted_at is None:
            continue
        waited = now - admitted_at
        if waited >= WITHDRAW_AFTER:
            withdrawn += transitions.withdraw(run_id, fence, now=now)
        elif rung < len(_RING_AFTER) and waited >= _RING_AFTER[rung]:
            rings.append(Ring(run_id, fence, group))
    ring_after_commit(rings, note_rung)
    return Answered(withdrawn, len(rings))


def _withdraw_frozen(admitted: QuerySet[Run], now: dt.datetime) -> dict[uuid.UUID, bool]:
    """Withdraw what a freeze holds; return of each whether it was: another one may have been first."""
    rows = list(held_by_freeze(admitted).values_list("id", "fence", "repository__name"))
    return {
        run_id: transitions.withdraw(run_id, fence, Held(HeldCode.FROZEN, name), now=now)
        for run_id, fence, name in rows
        if fence is not None
    }


def note_rung(rings: Sequence[Ring]) -> None:
    """Count rings that went out, so that the next passes know whether to ring again."""
    rung = Run.objects.filter(fence__in=[one.fence for one in rings], state=RunState.QUEUED)
    # A fence is given once: who has it is the run that it was given to.
    rung.update(rings=F("rings") + 1)

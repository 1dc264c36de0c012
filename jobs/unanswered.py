"""Admitted runs that nobody started: rung once more after 30 s, withdrawn after 60 s (execution.md, section 2).

Owns the two delays, and that what a freeze keeps from starting is withdrawn at once. A withdrawn run is waiting again:
its slot and its places in the limits are free, and the next admission gives it a new fence, so that a message that
comes late starts nothing.
"""

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from django.db.models import F, Q, QuerySet

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


@dataclass(frozen=True, slots=True)
class Answered:
    """What a pass did about runs that nobody had started."""

    withdrawn: int
    rung_again: int


def ring_or_withdraw(*, now: dt.datetime) -> Answered:
    """Withdraw what is frozen or waited too long for its worker, ring again for the rest."""
    admitted = Run.objects.filter(state=RunState.QUEUED, admitted_at__isnull=False)
    withdrawn = _withdraw_frozen(admitted, now)
    late = list(admitted.filter(admitted_at__lte=now - WITHDRAW_AFTER).values_list("id", "fence"))
    withdrawn += sum(transitions.withdraw(run_id, fence, now=now) for run_id, fence in late if fence is not None)
    due = admitted.filter(
        Q(rings=0, admitted_at__lte=now - RING_FIRST_AFTER) | Q(rings=1, admitted_at__lte=now - RING_AGAIN_AFTER),
        admitted_at__gt=now - WITHDRAW_AFTER,
    ).order_by("admitted_at")
    rows = due.values_list("id", "fence", "runner__name")
    rings = [Ring(run_id, fence, group) for run_id, fence, group in rows if fence is not None]
    ring_after_commit(rings, note_rung)
    return Answered(withdrawn, len(rings))


def _withdraw_frozen(admitted: QuerySet[Run], now: dt.datetime) -> int:
    rows = list(held_by_freeze(admitted).values_list("id", "fence", "repository__name"))
    return sum(
        transitions.withdraw(run_id, fence, Held(HeldCode.FROZEN, name), now=now)
        for run_id, fence, name in rows
        if fence is not None
    )


def note_rung(rings: Sequence[Ring]) -> None:
    """Count rings that went out, so that the next passes know whether to ring again."""
    rung = Run.objects.filter(fence__in=[one.fence for one in rings], state=RunState.QUEUED)
    # A fence is given once: who has it is the run that it was given to.
    rung.update(rings=F("rings") + 1)

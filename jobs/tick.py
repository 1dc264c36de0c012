"""One pass of the scheduler (A1): guard, dump, reaper, unanswered runs, zones, claim, deadlines, admission, seals.

Owns the order alone. Many at once are fine: each step is safe by its own transactions, so a pass that dies half-way
is no different from one that began later.
"""

import datetime as dt
from dataclasses import dataclass
from typing import Final

from jobs.admission import admit_waiting
from jobs.claims import claim_due
from jobs.clock_steps import correct_far_plans
from jobs.deadlines import expire_late
from jobs.groups import watch_groups
from jobs.pass_guard import PassStart, begin_pass, pass_wanted
from jobs.reaper import reap
from jobs.restored import notice_restore
from jobs.unanswered import ring_or_withdraw
from jobs.upkeep import claim_upkeep
from jobs.zone_rules import adopt_zone_rules
from repositories.lookups import lookups_forget
from repositories.services import inspections_sweep
from syncova_project.access.sealing import seal_entries

# A wish that came while a pass was on is answered at once, but a stream of wishes must not keep one task for ever.
_MOST_ROUNDS: Final = 3


@dataclass(frozen=True, slots=True)
class PassResult:
    """What a pass did; `began` is False when there was nothing to do for it."""

    began: bool = False
    orphaned: int = 0
    withdrawn: int = 0
    rung_again: int = 0
    queued: int = 0
    coalesced: int = 0
    flagged: int = 0
    expired: int = 0
    admitted: int = 0
    held: int = 0


def run_pass(*, now: dt.datetime | None = None) -> PassResult:
    """Do one pass and return what it did; `now` replaces the database's time (tests, simulations).

    Passes again while somebody asked for one in between, a few times at most.
    """
    result = PassResult()
    for _ in range(_MOST_ROUNDS):
        start = begin_pass(now)
        if start is None:
            break
        result = _do(start)
        if not pass_wanted():
            break
    return result


def _do(start: PassStart) -> PassResult:
    notice_restore(now=start.now)
    orphaned = reap(now=start.now, observed_since=start.observed_since)
    watch_groups(now=start.now, observed_since=start.observed_since)
    inspections_sweep(now=start.now)
    lookups_forget(now=start.now)
    answered = ring_or_withdraw(now=start.now)
    if start.observed_since == start.now:
        # A gap, or a clock that was set back.
        correct_far_plans(now=start.now)
    adopt_zone_rules(now=start.now)
    claimed = claim_due(now=start.now)
    kept_up = claim_upkeep(now=start.now)
    expired = expire_late(now=start.now)
    admitted = admit_waiting(now=start.now)
    seal_entries(now=start.now)
    return PassResult(
        began=True,
        orphaned=orphaned,
        withdrawn=answered.withdrawn,
        rung_again=answered.rung_again,
        queued=claimed.queued + kept_up.queued,
        coalesced=claimed.coalesced + kept_up.coalesced,
        flagged=claimed.flagged + kept_up.flagged,
        expired=expired,
        admitted=admitted.admitted,
        held=admitted.held,
    )

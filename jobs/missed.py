"""Whether an instant that passed while nothing claimed still becomes a run (A13; execution.md, section 4).

Pure. What its answer is called is a decision's reason.
"""

import datetime as dt
from typing import Final

from jobs.states import DecisionOutcome, MissedPolicy

# A pass comes every ten seconds and may take a while: up to here an instant is on time, whatever the policy.
ON_TIME: Final = dt.timedelta(minutes=1)

Refusal = tuple[DecisionOutcome, str]


def too_late_before(policy: MissedPolicy, within_seconds: int | None, now: dt.datetime) -> dt.datetime | None:
    """Return the moment before which instants no longer become runs at `now`, None: none is too late."""
    if policy is MissedPolicy.ONCE:
        return None
    within = dt.timedelta(seconds=within_seconds or 0) if policy is MissedPolicy.ONCE_WITHIN else ON_TIME
    return now - max(ON_TIME, within)


def refusal(policy: MissedPolicy, within_seconds: int | None, late: dt.timedelta) -> Refusal | None:
    """Return what becomes of the newest due instant instead of a run, None: it runs, `late` as it is."""
    if late <= ON_TIME or policy is MissedPolicy.ONCE:
        return None
    if policy is MissedPolicy.NEVER:
        return DecisionOutcome.SKIPPED, "missed_never"
    if late <= dt.timedelta(seconds=within_seconds or 0):
        return None
    return DecisionOutcome.EXPIRED, "missed_too_long"

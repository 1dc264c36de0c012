"""Whether schedules can keep a recovery-point objective: their widest gap over the next 400 days (B10).

Owns how far is looked, the refusal and its figures; jobs.calendar.widest measures, by wall clock between two runs of
one zone, so that daily keeps its 24 hours in autumn too.
"""

import datetime as dt
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from django.utils.translation import gettext

from jobs.calendar.durations import words
from jobs.calendar.interval import FARTHEST_YEARS, IntervalPlan
from jobs.calendar.plans import Plan
from jobs.calendar.widest import NEVER, widest_between
from syncova_project.errors import ValidationFailedError

_LOOKED: Final = dt.timedelta(days=400)
# A leap day may be eight years away, the anchor of a grid ten; whatever is planned at all comes within this time.
_REACH: Final = _LOOKED + FARTHEST_YEARS * dt.timedelta(days=366)
_MOMENT: Final = dt.timedelta(microseconds=1)

GapOf = Callable[[Sequence[Plan], dt.datetime], dt.timedelta | None]


@dataclass(frozen=True, slots=True)
class Horizon:
    """What is looked at: starts in (start, end]."""

    start: dt.datetime
    end: dt.datetime


def horizon(plans: Sequence[Plan], now: dt.datetime) -> Horizon:
    """Return the time to measure: the last start up to `now`, 400 days, and the start that ends the gap after them.

    So the gap that is going on counts whole, and plans that rarely come are looked at as far as they need.
    """
    before = [last.instant for plan in plans if (last := plan.latest_until(now)) is not None]
    end = now + _LOOKED
    beyond = [following.instant for plan in plans if (following := plan.next_after(end)) is not None]
    reached = [instant for instant in beyond if instant <= now + _REACH]
    return Horizon(max(before, default=now) - _MOMENT, min(reached, default=end))


def widest_gap(plans: Sequence[Plan], now: dt.datetime) -> dt.timedelta | None:
    """Return the widest gap between planned starts of all plans together; None when nothing is planned.

    Before the first start of all, the time from `now` to it is a gap too.
    """
    if len(plans) == 1 and isinstance(plans[0], IntervalPlan):
        return _gap_of_grid(plans[0], now)
    looked = horizon(plans, now)
    return widest_between(plans, looked.start, looked.end, since=now)


def refuse_broken_rpo(plans: Sequence[Plan], rpo_seconds: int, start: dt.datetime, gap_of: GapOf = widest_gap) -> None:
    """Raise ValidationFailedError, saying both figures, when the plans together cannot keep the objective.

    `gap_of` measures; whoever has windows passes a measure that knows them, and NEVER for no free instant.
    """
    objective = dt.timedelta(seconds=rpo_seconds)
    # Together they are never worse than the best of them: most answers need no merging.
    if len(plans) > 1 and any(_keeps(gap_of([plan], start), objective) for plan in dict.fromkeys(plans)):
        return
    gap = gap_of(plans, start)
    if _keeps(gap, objective):
        return
    told = {"gap": "", "rpo": words(rpo_seconds), "years": FARTHEST_YEARS}
    if gap is not None and gap != NEVER:
        told["gap"] = words(math.ceil(gap.total_seconds()))
    message = _sentence(plans, gap, start) % told
    raise ValidationFailedError(message, details={"rpo_seconds": message})


def _sentence(plans: Sequence[Plan], gap: dt.timedelta | None, now: dt.datetime) -> str:
    if gap is None and all(plan.next_after(now) is None for plan in plans):
        return gettext("The job has no schedule, so it cannot keep the recovery point objective of %(rpo)s.")
    if gap is None:
        return gettext(
            "The schedule plans no run within %(years)d years: it cannot keep the recovery point objective of %(rpo)s."
        )
    if gap == NEVER:
        return gettext(
            "Windows leave the schedule no free instant within 31 days: "
            "it cannot keep the recovery point objective of %(rpo)s."
        )
    if all(plan.latest_until(now) is None for plan in plans):
        return gettext(
            "The schedule leaves up to %(gap)s between now and its first run or between two runs: "
            "it cannot keep the recovery point objective of %(rpo)s."
        )
    return gettext(
        "The schedule leaves up to %(gap)s between two runs: it cannot keep the recovery point objective of %(rpo)s."
    )


def _gap_of_grid(plan: IntervalPlan, now: dt.datetime) -> dt.timedelta | None:
    following = plan.next_after(now)
    if following is None or following.instant > now + _REACH:
        return None
    return max(dt.timedelta(seconds=plan.every_seconds), following.instant - now)


def _keeps(gap: dt.timedelta | None, objective: dt.timedelta) -> bool:
    return gap is not None and gap <= objective

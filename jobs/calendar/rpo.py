"""Whether schedules can keep a recovery-point objective: their widest gap over the next 400 days (B10).

Owns the measuring: by wall clock between two runs of one zone, so that daily keeps its 24 hours in autumn too.
"""

import datetime as dt
import heapq
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from operator import itemgetter
from typing import Final

from django.utils.translation import gettext

from jobs.calendar.durations import words
from jobs.calendar.interval import IntervalPlan
from jobs.calendar.plans import Plan
from syncova_project.errors import ValidationFailedError

RPO_DAYS: Final = 400

# An instant, the wall time that it stands for if it follows one, and whose wall clock that is.
_Placed = tuple[dt.datetime, dt.datetime | None, str]
GapOf = Callable[[Sequence[Plan], dt.datetime], dt.timedelta | None]


def widest_gap(plans: Sequence[Plan], start: dt.datetime) -> dt.timedelta | None:
    """Return the widest gap between planned starts of all plans together; None when nothing is planned."""
    if len(plans) == 1 and isinstance(plans[0], IntervalPlan):
        return dt.timedelta(seconds=plans[0].every_seconds)
    end = start + dt.timedelta(days=RPO_DAYS)
    starts = heapq.merge(*(_starts(plan, start, end) for plan in plans), key=itemgetter(0))
    return max((_distance(before, after) for before, after in pairwise(starts)), default=None)


def refuse_broken_rpo(plans: Sequence[Plan], rpo_seconds: int, start: dt.datetime, gap_of: GapOf = widest_gap) -> None:
    """Raise ValidationFailedError, saying both figures, when the plans together cannot keep the objective.

    `gap_of` measures; whoever has windows passes a measure that knows them, and timedelta.max for no free instant.
    """
    objective = dt.timedelta(seconds=rpo_seconds)
    # Together they are never worse than the best of them: most answers need no merging.
    if len(plans) > 1 and any(_keeps(gap_of([plan], start), objective) for plan in plans):
        return
    gap = gap_of(plans, start)
    if _keeps(gap, objective):
        return
    if gap is None:
        sentence = gettext("The job has no schedule, so it cannot keep the recovery point objective of %(rpo)s.")
    elif gap == dt.timedelta.max:
        sentence = gettext(
            "Windows leave the schedule no free instant within 31 days: "
            "it cannot keep the recovery point objective of %(rpo)s."
        )
    else:
        sentence = gettext(
            "The schedule leaves up to %(gap)s between two runs: "
            "it cannot keep the recovery point objective of %(rpo)s."
        )
    told = {"gap": words(int(gap.total_seconds())) if gap is not None else "", "rpo": words(rpo_seconds)}
    message = sentence % told
    raise ValidationFailedError(message, details={"rpo_seconds": message})


def _keeps(gap: dt.timedelta | None, objective: dt.timedelta) -> bool:
    return gap is not None and gap <= objective


def _starts(plan: Plan, start: dt.datetime, end: dt.datetime) -> Iterator[_Placed]:
    zone = plan.zone_name
    for instant, nominal in plan.starts(start):
        if instant > end:
            return
        yield instant, nominal, zone


def _distance(before: _Placed, after: _Placed) -> dt.timedelta:
    (first, first_wall, first_zone), (second, second_wall, second_zone) = before, after
    if first_wall is not None and second_wall is not None and first_zone == second_zone:
        # Never more than real time: in a gap two wall times meet in one instant, and the later one stands for both.
        return min(second_wall - first_wall, second - first)
    return second - first

"""Whether schedules can keep a recovery-point objective: their widest gap over the next 400 days (B10).

Owns the refusal and its figures; jobs.calendar.widest measures, by wall clock between two runs of one zone, so that
daily keeps its 24 hours in autumn too.
"""

import datetime as dt
from collections.abc import Callable, Sequence
from typing import Final

from django.utils.translation import gettext

from jobs.calendar.durations import words
from jobs.calendar.interval import IntervalPlan
from jobs.calendar.plans import Plan
from jobs.calendar.widest import NEVER, widest_between
from syncova_project.errors import ValidationFailedError

RPO_DAYS: Final = 400

GapOf = Callable[[Sequence[Plan], dt.datetime], dt.timedelta | None]


def widest_gap(plans: Sequence[Plan], start: dt.datetime) -> dt.timedelta | None:
    """Return the widest gap between planned starts of all plans together; None when nothing is planned."""
    if len(plans) == 1 and isinstance(plans[0], IntervalPlan):
        return dt.timedelta(seconds=plans[0].every_seconds)
    return widest_between(plans, start, start + dt.timedelta(days=RPO_DAYS))


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
    if gap is None:
        sentence = gettext("The job has no schedule, so it cannot keep the recovery point objective of %(rpo)s.")
    elif gap == NEVER:
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

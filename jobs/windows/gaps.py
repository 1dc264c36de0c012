"""The widest gap between two starts of schedules after their windows (B10).

Owns which stretches are shut; jobs.calendar walks along them. What is postponed to six every morning keeps its 24 hours
in autumn too.
"""

import datetime as dt
from collections.abc import Iterator, Sequence
from typing import Final

from jobs import calendar
from jobs.windows.free import next_free
from jobs.windows.rules import Rule
from jobs.windows.stretches import Stretch, shut_stretches

# What a gap is when windows leave nothing free within their reach.
NEVER: Final = calendar.NEVER
_MOMENT: Final = dt.timedelta(microseconds=1)
# What is looked at for longer has few starts, and thousands of edges of windows between them.
_FAR: Final = dt.timedelta(days=800)


def widest_gap(plans: Sequence[calendar.Plan], rules: Sequence[Rule], start: dt.datetime) -> dt.timedelta | None:
    """Return the widest gap between starts, the one that is going on at `start` too; None when nothing is planned.

    `rules` are those that apply to the job's backups. NEVER: they leave no free instant somewhere. Where no start is
    free before `start`, the time from then to the first free one is a gap.
    """
    if not rules:
        return calendar.widest_gap(plans, start)
    looked = calendar.horizon(plans, start)
    if looked.end - looked.start > _FAR:
        shut = _shut_at_starts(plans, rules, looked)
    else:
        shut = shut_stretches(rules, looked.start, looked.end + _MOMENT)
    return calendar.widest_between(plans, looked.start, looked.end, shut, since=start)


def _shut_at_starts(
    plans: Sequence[calendar.Plan], rules: Sequence[Rule], looked: calendar.Horizon
) -> Iterator[Stretch]:
    """Yield what is shut from each start on that falls into it: for the walk as good as the whole stretch."""
    after: dt.datetime | None = looked.start
    while after is not None:
        following = [start[0] for plan in plans if (start := next(plan.starts(after), None)) is not None]
        first = min(following, default=None)
        if first is None or first > looked.end:
            return
        answer = next_free(rules, first)
        after = first
        if answer.block is not None:
            yield Stretch(first, answer.instant)
            after = None if answer.instant is None else answer.instant - _MOMENT

"""The widest gap between two starts of schedules after their windows (B10).

Owns which stretches are shut; jobs.calendar walks along them. What is postponed to six every morning keeps its 24 hours
in autumn too.
"""

import datetime as dt
from collections.abc import Sequence
from typing import Final

from jobs import calendar
from jobs.windows.rules import Rule
from jobs.windows.stretches import shut_stretches

# What a gap is when windows leave nothing free within their reach.
NEVER: Final = calendar.NEVER
_MOMENT: Final = dt.timedelta(microseconds=1)


def widest_gap(plans: Sequence[calendar.Plan], rules: Sequence[Rule], start: dt.datetime) -> dt.timedelta | None:
    """Return the widest gap between starts, the one that is going on at `start` too; None when nothing is planned.

    `rules` are those that apply to the job's backups. NEVER: they leave no free instant somewhere. Where no start is
    free before `start`, the time from then to the first free one is a gap.
    """
    if not rules:
        return calendar.widest_gap(plans, start)
    looked = calendar.horizon(plans, start)
    shut = shut_stretches(rules, looked.start, looked.end + _MOMENT)
    return calendar.widest_between(plans, looked.start, looked.end, shut, since=start)

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


def widest_gap(plans: Sequence[calendar.Plan], rules: Sequence[Rule], start: dt.datetime) -> dt.timedelta | None:
    """Return the widest gap between starts over the next 400 days, None when nothing is planned.

    `rules` are those that apply to the job's backups. NEVER: they leave no free instant somewhere.
    """
    if not rules:
        return calendar.widest_gap(plans, start)
    end = start + dt.timedelta(days=calendar.RPO_DAYS)
    return calendar.widest_between(plans, start, end, shut_stretches(rules, start, end))

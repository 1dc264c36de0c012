"""The next instants of a plan as people see them before saving it (B6): the very function that planning uses."""

import datetime as dt
from itertools import islice

from jobs.calendar.plans import Occurrence, Plan


def preview(plan: Plan, start: dt.datetime, count: int) -> list[Occurrence]:
    """Return up to `count` occurrences strictly later than `start`, with what is special about each."""
    return [plan.occurrence(one) for one in islice(plan.starts(start), count)]

"""The next instants of a plan as people see them before saving it (B6): the very function that planning uses."""

import datetime as dt

from jobs.calendar.plans import Occurrence, Plan


def preview(plan: Plan, start: dt.datetime, count: int) -> list[Occurrence]:
    """Return up to `count` occurrences strictly later than `start`, with what is special about each."""
    found: list[Occurrence] = []
    instant = start
    while len(found) < count:
        one = plan.next_after(instant)
        if one is None:
            break
        found.append(one)
        instant = one.instant
    return found

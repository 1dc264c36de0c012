"""The kinds of schedule by name: the one place that a further kind is added to."""

import datetime as dt
from collections.abc import Callable, Mapping
from typing import Final

from jobs.calendar.cron import parse_cron
from jobs.calendar.daily import parse_daily
from jobs.calendar.errors import ScheduleInvalidError
from jobs.calendar.fields import Fields
from jobs.calendar.hourly import parse_hourly
from jobs.calendar.interval import IntervalPlan, parse_interval, refuse_far_anchor
from jobs.calendar.manual import parse_manual
from jobs.calendar.monthly import parse_monthly
from jobs.calendar.plans import Plan
from jobs.calendar.weekly import parse_weekly

KINDS: Final[Mapping[str, Callable[[Fields, dt.datetime], Plan]]] = {
    "manual": parse_manual,
    "interval": parse_interval,
    "hourly": parse_hourly,
    "daily": parse_daily,
    "weekly": parse_weekly,
    "monthly": parse_monthly,
    "cron": parse_cron,
}


def parse(definition: object, *, anchor: dt.datetime) -> Plan:
    """Return the plan of the API's JSON; `anchor` is where an interval's grid begins when the JSON does not say.

    Raises ScheduleInvalidError, which names all fields that are wrong.
    """
    return _read(definition, anchor, is_new=False)


def parse_new(definition: object, *, now: dt.datetime) -> Plan:
    """Return the plan of a schedule that is being made; a grid without an anchor begins `now`.

    Raises ScheduleInvalidError as `parse` does, and for an anchor so far ahead that nothing is planned for years.
    """
    return _read(definition, now, is_new=True)


def _read(definition: object, anchor: dt.datetime, *, is_new: bool) -> Plan:
    if not isinstance(definition, Mapping):
        raise ScheduleInvalidError("schedule", "must be an object with a type.")
    fields = Fields(definition)
    kind = fields.word("type", sorted(KINDS))
    if kind not in KINDS:
        # Which fields it may have, nobody knows.
        fields.time_zone()
        raise ScheduleInvalidError.of(fields.noted)
    try:
        plan = KINDS[kind](fields, anchor)
        if is_new and isinstance(plan, IntervalPlan):
            refuse_far_anchor(plan, anchor)
    except ScheduleInvalidError as error:
        fields.finish(error)
        raise
    fields.finish()
    return plan

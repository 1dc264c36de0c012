"""The kind `cron`: five fields in a zone (B1-B5).

Owns what the fields mean: wall times or real time, days by month and by week. Reading is jobs.calendar.cron_fields,
words are jobs.calendar.cron_words.
"""

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, Final

from jobs.calendar.cron_fields import CronField, read_fields
from jobs.calendar.cron_words import Times, sentence
from jobs.calendar.dates import Dates
from jobs.calendar.errors import ScheduleInvalidError
from jobs.calendar.fields import Fields
from jobs.calendar.timetables import Timetable, TimetablePlan

_ALL_HOURS: Final = 24


@dataclass(frozen=True, slots=True)
class CronPlan(TimetablePlan):
    """An expression with what it comes to."""

    kind: ClassVar[str] = "cron"
    expression: str
    zone_name: str
    times: Times
    table: Timetable

    @property
    def timetable(self) -> Timetable:
        """Each hour with each minute, on the dates that match."""
        return self.table

    def definition(self) -> Mapping[str, Any]:
        """`{"type": "cron", "expression": "*/15 9-17 * * mon-fri", "time_zone": …}`."""
        return {"type": self.kind, "expression": self.expression, "time_zone": self.zone_name}

    def describe(self) -> str:
        """Every 15 minutes from 09:00 to 17:59 on Monday to Friday (Europe/Berlin)."""
        return sentence(self.times, self.table.dates, self.zone_name, real=self.table.real)


def parse_cron(fields: Fields, anchor: dt.datetime) -> CronPlan:
    """`{"type": "cron", "expression": …, "time_zone": …}`; refused when nothing after `anchor` matches."""
    plan = _read(" ".join(fields.text("expression").split()), fields.time_zone())
    if not _comes(plan, anchor):
        raise ScheduleInvalidError(
            "expression", f"{plan.expression} never comes in {plan.zone_name}: no date or time matches."
        )
    return plan


@lru_cache(maxsize=1024)
def _read(expression: str, zone_name: str) -> CronPlan:
    parts = read_fields(expression)
    minute, hour = parts[:2]
    times = Times(tuple(sorted(minute.values)), tuple(sorted(hour.values)))
    # A wildcard asks for each minute or hour there is; without one they are times on the wall (B5).
    table = Timetable(zone_name, _dates(parts), times.of_day(), real=minute.wildcard or hour.wildcard)
    return CronPlan(expression, zone_name, times, table)


def _comes(plan: CronPlan, anchor: dt.datetime) -> bool:
    """Tell whether anything comes after `anchor`: a date, and where gaps could swallow all its hours, a start."""
    if plan.table.real and len(plan.times.hours) < _ALL_HOURS:
        return next(plan.starts(anchor), None) is not None
    return next(plan.table.dates.forward(anchor.date()), None) is not None


def _dates(parts: Sequence[CronField]) -> Dates:
    _, _, day, month, weekday = parts
    return Dates(
        months=month.values,
        days=day.values,
        weekdays=frozenset((value - 1) % 7 for value in weekday.values),
        either=not day.wildcard and not weekday.wildcard,
    )

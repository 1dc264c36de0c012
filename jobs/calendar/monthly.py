"""The kind `monthly`: on some days of the month at hh:mm of a zone's wall clock (B1-B4).

A day that a month does not have is no date of that month; -1 is the last one whatever its number.
"""

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from django.utils.translation import gettext

from jobs.calendar.dates import LAST_DAY, Dates
from jobs.calendar.errors import ScheduleInvalidError
from jobs.calendar.fields import Fields
from jobs.calendar.phrases import month_days
from jobs.calendar.timetables import Timetable, TimetablePlan, since_midnight

# Every month has these; later ones are missing in some.
_SHORTEST_MONTH: Final = 28


@dataclass(frozen=True, slots=True)
class MonthlyPlan(TimetablePlan):
    """On `days` of the month (-1: the last) at `time` in the zone."""

    kind: ClassVar[str] = "monthly"
    days: frozenset[int]
    time: dt.time
    zone_name: str

    @property
    def timetable(self) -> Timetable:
        """One time on the dates of some days of the month."""
        return Timetable(self.zone_name, Dates(days=self.days), (since_midnight(self.time),))

    def definition(self) -> Mapping[str, Any]:
        """`{"type": "monthly", "days": [1, -1], "time": …, "time_zone": …}`, the last day last."""
        days = sorted(self.days, key=lambda day: 32 if day == LAST_DAY else day)
        return {"type": self.kind, "days": days, "time": f"{self.time:%H:%M}", "time_zone": self.zone_name}

    def describe(self) -> str:
        """Monthly on day 1 and the last day at 02:00 (Europe/Berlin)."""
        told = {"days": month_days(self.days), "time": f"{self.time:%H:%M}", "zone": self.zone_name}
        if max(self.days) > _SHORTEST_MONTH:
            return gettext("monthly on %(days)s, in months that have it, at %(time)s (%(zone)s)") % told
        return gettext("monthly on %(days)s at %(time)s (%(zone)s)") % told


def parse_monthly(fields: Fields, anchor: dt.datetime) -> MonthlyPlan:
    """`{"type": "monthly", "days": [1, -1], "time": "02:00", "time_zone": …}`."""
    numbers = fields.each("days", _number)
    return MonthlyPlan(numbers, fields.clock_time("time"), fields.time_zone())


def _number(day: object) -> int:
    if isinstance(day, bool) or not isinstance(day, int) or not (1 <= day <= 31 or day == LAST_DAY):
        raise ScheduleInvalidError("days", "must be days of the month from 1 to 31, or -1 for the last.")
    return day

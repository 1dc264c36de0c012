"""The kind `weekly`: on some days of the week at hh:mm of a zone's wall clock (B1-B4)."""

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from django.utils.translation import gettext

from jobs.calendar.dates import Dates
from jobs.calendar.errors import ScheduleInvalidError
from jobs.calendar.fields import Fields
from jobs.calendar.phrases import weekdays
from jobs.calendar.timetables import Timetable, TimetablePlan, since_midnight

DAY_NAMES: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")


@dataclass(frozen=True, slots=True)
class WeeklyPlan(TimetablePlan):
    """On `days` (Monday is 0) at `time` in the zone."""

    kind: ClassVar[str] = "weekly"
    days: frozenset[int]
    time: dt.time
    zone_name: str

    @property
    def timetable(self) -> Timetable:
        """One time on the dates of some weekdays."""
        return Timetable(self.zone_name, Dates(weekdays=self.days), (since_midnight(self.time),))

    def definition(self) -> Mapping[str, Any]:
        """`{"type": "weekly", "days": ["sat", "sun"], "time": "22:00", "time_zone": …}`, days in the week's order."""
        days = [DAY_NAMES[day] for day in sorted(self.days)]
        return {"type": self.kind, "days": days, "time": f"{self.time:%H:%M}", "time_zone": self.zone_name}

    def describe(self) -> str:
        """Weekly on Saturday and Sunday at 22:00 (Europe/Berlin)."""
        told = {"days": weekdays(self.days), "time": f"{self.time:%H:%M}", "zone": self.zone_name}
        return gettext("weekly on %(days)s at %(time)s (%(zone)s)") % told


def parse_weekly(fields: Fields, anchor: dt.datetime) -> WeeklyPlan:
    """`{"type": "weekly", "days": ["sat", "sun"], "time": "22:00", "time_zone": …}`; names in any case."""
    numbers = fields.each("days", _number)
    return WeeklyPlan(numbers, fields.clock_time("time"), fields.time_zone())


def _number(day: object) -> int:
    if not isinstance(day, str) or day.lower() not in DAY_NAMES:
        raise ScheduleInvalidError("days", f"must be names of days: {', '.join(DAY_NAMES)}.")
    return DAY_NAMES.index(day.lower())

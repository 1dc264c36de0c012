"""The kind `hourly`: at minute m of each real hour, as cron's `m * * * *` (B1; execution.md, section 4)."""

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from django.utils.translation import gettext

from jobs.calendar.dates import Dates
from jobs.calendar.fields import Fields
from jobs.calendar.timetables import Timetable, TimetablePlan, minutes_of_day


@dataclass(frozen=True, slots=True)
class HourlyPlan(TimetablePlan):
    """Whenever the zone's clock shows `minute`; the zone matters where its offset is no whole hour."""

    kind: ClassVar[str] = "hourly"
    minute: int
    zone_name: str = "UTC"

    @property
    def timetable(self) -> Timetable:
        """24 times on every date, in real time."""
        return Timetable(self.zone_name, Dates(), minutes_of_day(range(self.minute, 24 * 60, 60)), real=True)

    def definition(self) -> Mapping[str, Any]:
        """`{"type": "hourly", "minute": 30}`, with the zone where it is not UTC."""
        zone = {} if self.zone_name == "UTC" else {"time_zone": self.zone_name}
        return {"type": self.kind, "minute": self.minute, **zone}

    def describe(self) -> str:
        """Hourly at minute 30 (UTC)."""
        return gettext("hourly at minute %(minute)d (%(zone)s)") % {"minute": self.minute, "zone": self.zone_name}


def parse_hourly(fields: Fields, anchor: dt.datetime) -> HourlyPlan:
    """`{"type": "hourly", "minute": 30}`, and a `time_zone` if wanted."""
    return HourlyPlan(fields.integer("minute", least=0, most=59), fields.time_zone())

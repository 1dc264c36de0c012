"""The kind `daily`: at hh:mm of a zone's wall clock, each local day once (B1-B4)."""

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from django.utils.translation import gettext

from jobs.calendar.dates import Dates
from jobs.calendar.fields import Fields
from jobs.calendar.timetables import Timetable, TimetablePlan, since_midnight


@dataclass(frozen=True, slots=True)
class DailyPlan(TimetablePlan):
    """Each day at `time` in the zone."""

    kind: ClassVar[str] = "daily"
    time: dt.time
    zone_name: str

    @property
    def timetable(self) -> Timetable:
        """One time on every date."""
        return Timetable(self.zone_name, Dates(), (since_midnight(self.time),))

    def definition(self) -> Mapping[str, Any]:
        """`{"type": "daily", "time": "02:30", "time_zone": "Europe/Berlin"}`."""
        return {"type": self.kind, "time": f"{self.time:%H:%M}", "time_zone": self.zone_name}

    def describe(self) -> str:
        """Daily at 02:30 (Europe/Berlin)."""
        return gettext("daily at %(time)s (%(zone)s)") % {"time": f"{self.time:%H:%M}", "zone": self.zone_name}


def parse_daily(fields: Fields, anchor: dt.datetime) -> DailyPlan:
    """`{"type": "daily", "time": "02:30", "time_zone": …}`; without a zone it follows UTC, never the server (B4)."""
    return DailyPlan(fields.clock_time("time"), fields.time_zone())

"""The kind `daily`: at hh:mm of a zone's wall clock, each local day once (B1-B4)."""

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from django.utils.translation import gettext

from jobs.calendar import wallclock
from jobs.calendar.fields import Fields
from jobs.calendar.plans import Occurrence
from jobs.calendar.spans import count_by_steps
from jobs.calendar.zones import load_zone

# Every local day has its run, so a few days around any instant hold the answer.
_HORIZON_DAYS: Final = 4


@dataclass(frozen=True, slots=True)
class DailyPlan:
    """Each day at `time` in the zone."""

    kind: ClassVar[str] = "daily"
    time: dt.time
    zone_name: str

    def next_after(self, instant: dt.datetime) -> Occurrence | None:
        """The next day's run."""
        zone = load_zone(self.zone_name)
        return wallclock.next_after(instant, zone, self._times, horizon_days=_HORIZON_DAYS)

    def latest_until(self, instant: dt.datetime) -> Occurrence | None:
        """The last day's run."""
        zone = load_zone(self.zone_name)
        return wallclock.latest_until(instant, zone, self._times, horizon_days=_HORIZON_DAYS)

    def count(self, first: dt.datetime, last: dt.datetime, limit: int) -> tuple[int, bool]:
        """By stepping, no further than the limit."""
        return count_by_steps(self, first, last, limit)

    def definition(self) -> Mapping[str, Any]:
        """`{"type": "daily", "time": "02:30", "time_zone": "Europe/Berlin"}`."""
        return {"type": self.kind, "time": f"{self.time:%H:%M}", "time_zone": self.zone_name}

    def describe(self) -> str:
        """Daily at 02:30 (Europe/Berlin)."""
        return gettext("daily at %(time)s (%(zone)s)") % {"time": f"{self.time:%H:%M}", "zone": self.zone_name}

    def _times(self, date: dt.date) -> Sequence[dt.time]:
        return (self.time,)


def parse_daily(fields: Fields, anchor: dt.datetime) -> DailyPlan:
    """`{"type": "daily", "time": "02:30", "time_zone": …}`; without a zone it follows UTC, never the server (B4)."""
    time = fields.clock_time("time")
    name = fields.text("time_zone", "UTC") or "UTC"
    load_zone(name)
    return DailyPlan(time, name)

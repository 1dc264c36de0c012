"""An independent and slow account of daily schedules: every minute of real time, asked what its local clock shows."""

import datetime as dt
from zoneinfo import ZoneInfo


def daily_instants(time: dt.time, zone: ZoneInfo, first: dt.date, days: int) -> list[dt.datetime]:
    """Return when "daily at `time`" runs on each of `days` local dates, by looking at every minute.

    The first minute that shows the wanted date and time is the run. A date whose clock never shows it runs later by
    the length of the gap that swallowed it: that is the jump between two minutes that enclose the wanted wall time.
    """
    wanted = [dt.datetime.combine(first + dt.timedelta(days=n), time) for n in range(days)]
    found: dict[dt.datetime, dt.datetime] = {}
    minute = dt.datetime.combine(first - dt.timedelta(days=3), dt.time(), dt.UTC)
    end = minute + dt.timedelta(days=days + 6)
    before = _wall(minute, zone)
    while minute < end:
        minute += dt.timedelta(minutes=1)
        wall = _wall(minute, zone)
        for nominal in wanted:
            if nominal in found:
                continue
            if wall == nominal:
                found[nominal] = minute
            elif before < nominal < wall and wall - before > dt.timedelta(minutes=1):
                gap = wall - before - dt.timedelta(minutes=1)
                found[nominal] = _first_showing(nominal + gap, minute, zone)
        before = wall
    return sorted(set(found.values()))


def _first_showing(wall: dt.datetime, minute: dt.datetime, zone: ZoneInfo) -> dt.datetime:
    while _wall(minute, zone) != wall:
        minute += dt.timedelta(minutes=1)
    return minute


def _wall(instant: dt.datetime, zone: ZoneInfo) -> dt.datetime:
    return instant.astimezone(zone).replace(tzinfo=None, fold=0)

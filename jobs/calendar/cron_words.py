"""Cron expressions in words (B6): "every 15 minutes from 09:00 to 17:59 on Monday to Friday (Europe/Berlin)".

Owns the sentence; it tells the values that match, not the spelling of the expression.
"""

import datetime as dt
from dataclasses import dataclass
from typing import Final

from django.utils.translation import gettext

from jobs.calendar.dates import ALL_DAYS, ALL_MONTHS, ALL_WEEKDAYS, Dates
from jobs.calendar.durations import every
from jobs.calendar.phrases import listing, month_days, months, numbers, weekdays

# So many times of the day are named one by one.
_MOST_NAMED: Final = 6


@dataclass(frozen=True, slots=True)
class Times:
    """Each of the hours with each of the minutes, ascending."""

    minutes: tuple[int, ...]
    hours: tuple[int, ...]

    def of_day(self) -> tuple[dt.timedelta, ...]:
        """Return them since midnight."""
        return tuple(dt.timedelta(hours=hour, minutes=minute) for hour in self.hours for minute in self.minutes)


def sentence(times: Times, dates: Dates, zone: str, *, real: bool) -> str:
    """Return when it comes, on which dates, and in which zone."""
    told = {"times": _times(times), "dates": _dates(dates), "zone": zone}
    if len(times.hours) * len(times.minutes) > _MOST_NAMED:
        return (gettext("%(times)s %(dates)s (%(zone)s)") if told["dates"] else gettext("%(times)s (%(zone)s)")) % told
    if real and told["dates"]:
        return gettext("whenever the clock shows %(times)s %(dates)s (%(zone)s)") % told
    if real:
        return gettext("whenever the clock shows %(times)s (%(zone)s)") % told
    if told["dates"]:
        return gettext("at %(times)s %(dates)s (%(zone)s)") % told
    return gettext("daily at %(times)s (%(zone)s)") % told


def _times(times: Times) -> str:
    if len(times.hours) * len(times.minutes) <= _MOST_NAMED:
        return listing([f"{hour:02d}:{minute:02d}" for hour in times.hours for minute in times.minutes])
    hours = _hours(times.hours)
    return f"{_minutes(times.minutes)} {hours}" if hours else _minutes(times.minutes)


def _minutes(minutes: tuple[int, ...]) -> str:
    step = 60 // len(minutes)
    if minutes == tuple(range(0, 60, step)):
        return every(60 * step)
    if len(minutes) == 1:
        return gettext("hourly at minute %(minute)d") % {"minute": minutes[0]}
    return gettext("at the minutes %(minutes)s of the hour") % {"minutes": numbers(minutes)}


def _hours(hours: tuple[int, ...]) -> str:
    if len(hours) == 24:
        return ""
    if len(hours) == hours[-1] - hours[0] + 1:
        told = {"first": f"{hours[0]:02d}:00", "last": f"{hours[-1]:02d}:59"}
        return gettext("from %(first)s to %(last)s") % told
    return gettext("in the hours %(hours)s") % {"hours": numbers(hours)}


def _dates(dates: Dates) -> str:
    parts = _days(dates)
    if dates.months != ALL_MONTHS:
        parts.append(gettext("in %(months)s") % {"months": months(dates.months)})
    return " ".join(parts)


def _days(dates: Dates) -> list[str]:
    if dates.either:
        told = {"days": month_days(dates.days), "weekdays": weekdays(dates.weekdays)}
        return [gettext("on %(days)s and on each %(weekdays)s") % told]
    parts = []
    if dates.days < ALL_DAYS:
        parts.append(gettext("on %(days)s") % {"days": month_days(dates.days)})
    if dates.weekdays < ALL_WEEKDAYS:
        told = {"weekdays": weekdays(dates.weekdays)}
        parts.append((gettext("if that is %(weekdays)s") if parts else gettext("on %(weekdays)s")) % told)
    return parts

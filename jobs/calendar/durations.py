"""Durations in words, for sentences about schedules."""

from typing import Final

from django.utils.translation import gettext, ngettext

_DAY: Final = 24 * 3600
_HOUR: Final = 3600
_MINUTE: Final = 60


def words(seconds: int) -> str:
    """Return "4 hours", "1 day" or "61 days 1 hour": exact, from the largest unit down, so that two can be compared."""
    told, rest = [], seconds
    for unit in (_DAY, _HOUR, _MINUTE, 1):
        count, rest = divmod(rest, unit)
        if count:
            told.append(_of_one_unit(count, unit))
    return " ".join(told) or _of_one_unit(0, 1)


def _of_one_unit(count: int, unit: int) -> str:
    told = {"n": count}
    if unit == _DAY:
        return ngettext("%(n)d day", "%(n)d days", count) % told
    if unit == _HOUR:
        return ngettext("%(n)d hour", "%(n)d hours", count) % told
    if unit == _MINUTE:
        return ngettext("%(n)d minute", "%(n)d minutes", count) % told
    return ngettext("%(n)d second", "%(n)d seconds", count) % told


def every(seconds: int) -> str:
    """Return "every 6 hours"; a distance of 24 hours is no day, so days are told in hours."""
    if seconds % _DAY == 0:
        hours = seconds // _HOUR
        return gettext("every %(n)d hours") % {"n": hours}
    if seconds == _HOUR:
        return gettext("every hour")
    if seconds == _MINUTE:
        return gettext("every minute")
    unit = next(each for each in (_HOUR, _MINUTE, 1) if seconds % each == 0)
    return gettext("every %(duration)s") % {"duration": _of_one_unit(seconds // unit, unit)}

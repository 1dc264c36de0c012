"""Durations in words, for sentences about schedules."""

from typing import Final

from django.utils.translation import gettext, ngettext

_DAY: Final = 24 * 3600
_HOUR: Final = 3600
_MINUTE: Final = 60


def words(seconds: int) -> str:
    """Return "4 hours" or "1 day": the largest unit that divides it."""
    if seconds % _DAY == 0 and seconds:
        return ngettext("%(n)d day", "%(n)d days", seconds // _DAY) % {"n": seconds // _DAY}
    if seconds % _HOUR == 0 and seconds:
        return ngettext("%(n)d hour", "%(n)d hours", seconds // _HOUR) % {"n": seconds // _HOUR}
    if seconds % _MINUTE == 0 and seconds:
        return ngettext("%(n)d minute", "%(n)d minutes", seconds // _MINUTE) % {"n": seconds // _MINUTE}
    return ngettext("%(n)d second", "%(n)d seconds", seconds) % {"n": seconds}


def every(seconds: int) -> str:
    """Return "every 6 hours"; a distance of 24 hours is no day, so days are told in hours."""
    if seconds % _DAY == 0:
        hours = seconds // _HOUR
        return gettext("every %(n)d hours") % {"n": hours}
    if seconds == _HOUR:
        return gettext("every hour")
    if seconds == _MINUTE:
        return gettext("every minute")
    return gettext("every %(duration)s") % {"duration": words(seconds)}

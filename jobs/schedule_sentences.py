"""What happened to a schedule, in words (H7): made when they are read, from the codes and parameters of its events.

Owns these sentences alone. A code of a newer version is shown as it is.
"""

import datetime as dt
from collections.abc import Callable, Mapping
from typing import Any, Final

from django.utils.translation import gettext as _

from jobs import calendar
from jobs.models import ScheduleEvent

# Where a grid begins says nothing in a sentence about how far apart it is.
_ANCHOR: Final = dt.datetime(2000, 1, 1, tzinfo=dt.UTC)


def event_sentence(event: ScheduleEvent) -> str:
    """Return what happened."""
    told = _SENTENCES.get(event.code)
    return told(event.parameters) if told is not None else event.code


def _changed(told: Mapping[str, Any]) -> str:
    if "after" not in told:
        return _("What becomes of missed runs was changed.")
    return _("Changed from %(before)s to %(after)s.") % {
        "before": _words(told.get("before")),
        "after": _words(told["after"]),
    }


def _moved(sentence: str, told: Mapping[str, Any]) -> str:
    return sentence % {"before": told.get("before") or _("never"), "after": told.get("after") or _("never")}


def _words(definition: object) -> str:
    try:
        return calendar.parse(definition, anchor=_ANCHOR).describe()
    except calendar.ScheduleInvalidError:
        return _("what cannot be planned")


_SENTENCES: Final[Mapping[str, Callable[[Mapping[str, Any]], str]]] = {
    "created": lambda told: _("Created."),
    "changed": _changed,
    "deleted": lambda told: _("Deleted."),
    "paused": lambda told: _("Paused with its job."),
    "resumed": lambda told: _("Resumed with its job: planned from then on."),
    "flagged": lambda told: _("Flagged: it cannot be planned. %(message)s") % {"message": told.get("message", "")},
    "unflagged": lambda told: _("Planned again."),
    "recomputed": lambda told: _moved(_("New zone rules moved its next instant from %(before)s to %(after)s."), told),
    "clock_set_back": lambda told: _moved(
        _("The clock had stood far ahead: its next instant is %(after)s, not %(before)s."), told
    ),
}

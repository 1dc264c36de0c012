"""How far the calendar goes: the years of its dates, and from where a look ahead may begin.

Owns these limits and the reading of such an instant.
"""

import datetime as dt
from typing import Final

from jobs.calendar.errors import ScheduleInvalidError

# Dates are planned in these years: what lies next to the ends of Python's calendar has no room for offsets and steps.
FIRST_YEAR: Final = 2
LAST_YEAR: Final = 9990
# No rule that fires at all waits longer: 29 February on one weekday comes after 40 years where a leap year is left out.
HORIZON_YEARS: Final = 60
# Between these years whatever comes at all is found, so that "never" is true.
EARLIEST_VIEW: Final = FIRST_YEAR + 1
LATEST_VIEW: Final = LAST_YEAR - HORIZON_YEARS


def read_view_start(text: str) -> dt.datetime:
    """Return the instant that is looked ahead from, UTC; raises ScheduleInvalidError, which names `from`."""
    try:
        moment = dt.datetime.fromisoformat(text)
        if moment.tzinfo is None:
            raise ValueError
        start = moment.astimezone(dt.UTC)
    except OverflowError:
        raise _out_of_reach() from None
    except ValueError:
        raise ScheduleInvalidError(
            "from", "must be an instant with its offset, such as 2026-01-31T02:30:00+01:00."
        ) from None
    if not EARLIEST_VIEW <= start.year <= LATEST_VIEW:
        raise _out_of_reach()
    return start


def _out_of_reach() -> ScheduleInvalidError:
    return ScheduleInvalidError(
        "from", f"must be from the year {EARLIEST_VIEW:04d} to {LATEST_VIEW}: the calendar ends with {LAST_YEAR}."
    )

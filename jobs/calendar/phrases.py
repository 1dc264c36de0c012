"""Lists and names for sentences about schedules: "Monday to Friday", "1, 15 and the last".

Owns words in the active language; which dates or times are meant, the kinds say.
"""

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Final

from django.utils.dates import MONTHS, WEEKDAYS
from django.utils.translation import gettext

from jobs.calendar.dates import LAST_DAY

# From here on a row of neighbours is told as "from ... to ...".
_RUN: Final = 3


def listing(parts: Sequence[str]) -> str:
    """Return "a", "a and b" or "a, b and c"."""
    if len(parts) < 2:
        return "".join(parts)
    return gettext("%(first)s and %(last)s") % {"first": ", ".join(parts[:-1]), "last": parts[-1]}


def weekdays(days: Iterable[int]) -> str:
    """Return days of the week by name, Monday (0) first; a row over the week's end is one row."""
    ordered = sorted(days)
    start = next((day for day in ordered if (day - 1) % 7 not in ordered), 0)
    turned = sorted(ordered, key=lambda day: (day - start) % 7)
    rows = _rows([(day - start) % 7 for day in turned])
    if max(map(len, rows)) < _RUN:
        return listing([str(WEEKDAYS[day]) for day in ordered])
    return listing([_row([str(WEEKDAYS[(number + start) % 7]) for number in row]) for row in rows])


def months(numbers: Iterable[int]) -> str:
    """Return months by name."""
    return listing([_row([str(MONTHS[number]) for number in row]) for row in _rows(sorted(numbers))])


def month_days(days: Iterable[int]) -> str:
    """Return "day 1, 15 and the last day"."""
    numbers = sorted(set(days) - {LAST_DAY})
    parts = [_row([str(number) for number in row]) for row in _rows(numbers)]
    if not parts:
        return gettext("the last day")
    if LAST_DAY in days:
        return gettext("day %(days)s and the last day") % {"days": ", ".join(parts)}
    return gettext("day %(days)s") % {"days": listing(parts)}


def numbers(values: Iterable[int]) -> str:
    """Return "0, 20 and 40" or "9 to 17"."""
    return listing([_row([str(value) for value in row]) for row in _rows(sorted(values))])


def _rows(ordered: Sequence[int]) -> list[list[int]]:
    keyed = groupby(enumerate(ordered), key=lambda pair: pair[1] - pair[0])
    rows = [[value for _, value in group] for _, group in keyed]
    return [part for row in rows for part in ([row] if len(row) >= _RUN else [[value] for value in row])]


def _row(names: Sequence[str]) -> str:
    if len(names) == 1:
        return names[0]
    return gettext("%(first)s to %(last)s") % {"first": names[0], "last": names[-1]}

"""Reading of cron expressions: five fields of numbers, names, ranges, steps and lists (B5).

Owns the dialect, which is Debian cron's. What other dialects add (seconds, `L`, `#`, `?`, `5/15`) is refused by name
instead of read as something near it.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from jobs.calendar.errors import ScheduleInvalidError

LONGEST: Final = 500
_MACROS: Final[Mapping[str, str]] = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_ITEM: Final = re.compile(r"(?:\*|([0-9]+|[a-z]+)(?:-([0-9]+|[a-z]+))?)(?:/([0-9]+))?", re.IGNORECASE)
_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS: Final = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")


@dataclass(frozen=True, slots=True)
class CronField:
    """The values of one field; a wildcard is what starts with `*`, with a step or without."""

    values: frozenset[int]
    wildcard: bool


@dataclass(frozen=True, slots=True)
class _Form:
    """What a field may hold: `least` to `most` and names; `cycle` is set where ranges wrap over the end."""

    name: str
    least: int
    most: int
    names: Mapping[str, int] = field(default_factory=dict)
    cycle: int = 0

    @property
    def size(self) -> int:
        """How many different values there are."""
        return self.cycle or self.most - self.least + 1


_FORMS: Final = (
    _Form("minute", 0, 59),
    _Form("hour", 0, 23),
    _Form("day of the month", 1, 31),
    _Form("month", 1, 12, {name: number for number, name in enumerate(_MONTHS, 1)}),
    # Sunday is 0 and 7, so that a range may begin or end with it.
    _Form("day of the week", 0, 7, {name: number for number, name in enumerate(_DAYS)}, cycle=7),
)


def read_fields(expression: str) -> list[CronField]:
    """Return minute, hour, day of the month, month, day of the week (Sunday is 0); errors name `expression`."""
    text = expression.lower()
    if len(expression) > LONGEST or not expression.isascii() or not expression.isprintable():
        raise _invalid(f"must be five fields of plain characters, {LONGEST} at most.")
    if text.startswith("@") and text not in _MACROS:
        raise _invalid(f"{expression!r} is none of {', '.join(_MACROS)}.")
    # In any case, and quoted as it was written.
    parts = _MACROS.get(text, expression).split()
    if len(parts) != len(_FORMS):
        raise _invalid(f"must have five fields (minute, hour, day, month, day of the week), not {len(parts)}.")
    return [_field(part, form) for part, form in zip(parts, _FORMS, strict=True)]


def _field(text: str, form: _Form) -> CronField:
    values = [value for item in text.split(",") for value in _item(item, form)]
    return CronField(frozenset(values), text.startswith("*"))


def _item(text: str, form: _Form) -> list[int]:
    match = _ITEM.fullmatch(text)
    if match is None:
        raise _invalid(f"{text!r} is no {form.name}: write numbers, ranges such as 1-5, steps such as */2, or lists.")
    first, last, step = match.groups()
    if first is None:
        least, most = form.least, form.least + form.size - 1
    else:
        least = _value(first, form)
        most = _value(last, form) if last is not None else least
    if step is not None and first is not None and last is None:
        raise _invalid(f"{text!r} is read in two ways; write {first}-{form.most}/{step} for a {form.name} with a step.")
    if most < least:
        if not form.cycle:
            raise _invalid(f"{text!r} runs backwards: {least} comes after {most}.")
        most += form.cycle
    values = range(least, most + 1, _step(step, form))
    return [value % form.cycle for value in values] if form.cycle else list(values)


def _value(text: str, form: _Form) -> int:
    if not text.isdigit():
        if text.lower() not in form.names:
            raise _invalid(f"{text!r} is no {form.name}.")
        return form.names[text.lower()]
    if len(text) > 2:
        raise _invalid(f"{text} is no {form.name}: write one or two digits, from {form.least} to {form.most}.")
    if not form.least <= int(text) <= form.most:
        raise _invalid(f"{text} is no {form.name}: from {form.least} to {form.most}.")
    return int(text)


def _step(text: str | None, form: _Form) -> int:
    if text is None:
        return 1
    if len(text) > 2:
        raise _invalid(f"a step of {text} is not read: write one or two digits, from 1 to {form.size}.")
    if not 1 <= int(text) <= form.size:
        raise _invalid(f"a step of {text} does not fit the {form.name}: from 1 to {form.size}.")
    return int(text)


def _invalid(sentence: str) -> ScheduleInvalidError:
    return ScheduleInvalidError("expression", sentence)

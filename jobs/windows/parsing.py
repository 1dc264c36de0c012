"""The API's JSON of a window, read with errors that name the field, and written again.

Owns the fields of both shapes. `kinds` is backup and prune unless told otherwise; a recurring window has a length,
never an end (B8).
"""

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import Any, Final

from jobs.calendar.errors import FieldsInvalidError, ScheduleInvalidError
from jobs.calendar.fields import Fields
from jobs.states import RunKind, WindowKind
from jobs.windows.rules import Level, Rule
from jobs.windows.shapes import MAX_LENGTH, OneOff, Recurring, Shape

DAYS: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
DEFAULT_KINDS: Final = (RunKind.BACKUP, RunKind.PRUNE)
# What a window can hold back; a restore is never held.
KINDS: Final = tuple(kind for kind in RunKind if kind is not RunKind.RESTORE)

# Stands in for an instant that is wrong.
_NEVER: Final = dt.datetime.max.replace(tzinfo=dt.UTC)


class WindowInvalidError(FieldsInvalidError):
    """A window that cannot be evaluated; fields are relative to the window, for example `length_seconds`."""


def parse(definition: object) -> Rule:
    """Return the rule of one window's JSON; raises WindowInvalidError, which names all fields that are wrong.

    `{"type": "blackout", "days": ["mon"], "start": "08:00", "length_seconds": 36000, "time_zone": "Europe/Berlin"}`
    or `{"type": "allowed", "starts_at": ISO, "ends_at": ISO}`, each with an optional `name`, `kinds` and `level`.
    """
    if not isinstance(definition, Mapping):
        raise WindowInvalidError("window", "must be an object with a type.")
    fields = Fields(definition, "shape of window")
    kind = fields.word("type", WindowKind.values)
    name = fields.text("name") or kind
    level = fields.word("level", [str(level) for level in Level], default=Level.INSTALLATION)
    kinds = fields.words("kinds", KINDS, DEFAULT_KINDS)
    shape = _shape(fields)
    try:
        fields.finish()
    except ScheduleInvalidError as error:
        raise WindowInvalidError.of(error.problems) from error
    return Rule(name, WindowKind(kind), frozenset(RunKind(each) for each in kinds), shape, Level(level))


def parse_all(definitions: object) -> list[Rule]:
    """Return the rules of a list of windows; an error names all fields that are wrong, with their windows' places."""
    if not isinstance(definitions, Sequence) or isinstance(definitions, str | bytes):
        raise WindowInvalidError("windows", "must be a list of windows.")
    rules, problems = list[Rule](), dict[str, str]()
    for index, definition in enumerate(definitions):
        try:
            rules.append(parse(definition))
        except WindowInvalidError as error:
            problems |= {f"windows.{index}.{name}": told for name, told in error.problems.items()}
    if problems:
        raise WindowInvalidError.of(problems)
    return rules


def definition_of(rule: Rule) -> dict[str, Any]:
    """Return the JSON of a rule, without its name and level; it parses to an equal rule."""
    kinds = [str(kind) for kind in RunKind if kind in rule.kinds]
    shape = rule.shape
    if isinstance(shape, OneOff):
        times = {"starts_at": shape.starts_at.isoformat(), "ends_at": shape.ends_at.isoformat()}
        return {"type": str(rule.kind), "kinds": kinds, **times}
    return {
        "type": str(rule.kind),
        "kinds": kinds,
        "days": [DAYS[day - 1] for day in sorted(shape.days)],
        "start": f"{shape.start:%H:%M}",
        "length_seconds": int(shape.length.total_seconds()),
        "time_zone": shape.zone_name,
    }


def _shape(fields: Fields) -> Shape:
    if not fields.has("starts_at") and not fields.has("ends_at"):
        # Empty ones are taken, so that they are as good as absent.
        fields.instant("starts_at"), fields.instant("ends_at")
        days = frozenset(DAYS.index(day) + 1 for day in fields.words("days", DAYS, DAYS))
        start = fields.clock_time("start")
        seconds = fields.integer("length_seconds", least=1, most=int(MAX_LENGTH.total_seconds()))
        return Recurring(days, start, dt.timedelta(seconds=seconds), fields.time_zone())
    starts_at, ends_at = fields.instant("starts_at"), fields.instant("ends_at")
    for name, instant in (("starts_at", starts_at), ("ends_at", ends_at)):
        if instant is None:
            fields.note(name, "is missing: a window that opens once has both instants.")
    if starts_at is not None and ends_at is not None and ends_at <= starts_at:
        fields.note("ends_at", "must be later than starts_at.")
    return OneOff(starts_at or _NEVER, ends_at or _NEVER)

"""The API's JSON of a window, read with errors that name the field, and written again.

Owns the fields of both shapes. `kinds` is backup and prune unless told otherwise; a recurring window has a length,
never an end (B8).
"""

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import Any, Final

from jobs.calendar import ScheduleInvalidError
from jobs.calendar.fields import Fields
from jobs.states import RunKind, WindowKind
from jobs.windows.rules import Level, Rule
from jobs.windows.shapes import MAX_LENGTH, OneOff, Recurring, Shape
from syncova_project.errors import ValidationFailedError

DAYS: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
DEFAULT_KINDS: Final = (RunKind.BACKUP, RunKind.PRUNE)
# What a window can hold back; a restore is never held.
KINDS: Final = tuple(kind for kind in RunKind if kind is not RunKind.RESTORE)


class WindowInvalidError(ValidationFailedError):
    """A window that cannot be evaluated; `field` is relative to the window, for example `length_seconds`."""

    def __init__(self, field: str, sentence: str) -> None:
        super().__init__(f"{field}: {sentence}", details={field: sentence})
        self.field = field


def parse(definition: object) -> Rule:
    """Return the rule of one window's JSON; raises WindowInvalidError, which names the field.

    `{"type": "blackout", "days": ["mon"], "start": "08:00", "length_seconds": 36000, "time_zone": "Europe/Berlin"}`
    or `{"type": "allowed", "starts_at": ISO, "ends_at": ISO}`, each with an optional `name`, `kinds` and `level`.
    """
    if not isinstance(definition, Mapping):
        raise WindowInvalidError("window", "must be an object with a type.")
    fields = Fields({name: value for name, value in definition.items() if name not in ("days", "kinds")})
    try:
        kind = _word(fields, "type", WindowKind.values)
        name = fields.text("name") or kind
        level = Level(_word(fields, "level", [str(level) for level in Level], default=Level.INSTALLATION))
        kinds = frozenset(RunKind(each) for each in _words(definition, "kinds", [*KINDS], DEFAULT_KINDS))
        shape = _shape(fields, definition)
        fields.finish()
    except ScheduleInvalidError as error:
        sentence = str(error.details.get(error.field, error.message)).replace("kind of schedule", "shape of window")
        raise WindowInvalidError(error.field, sentence) from error
    return Rule(name, WindowKind(kind), kinds, shape, level)


def parse_all(definitions: object) -> list[Rule]:
    """Return the rules of a list of windows; an error names the window's place in it."""
    if not isinstance(definitions, Sequence) or isinstance(definitions, str | bytes):
        raise WindowInvalidError("windows", "must be a list of windows.")
    rules = []
    for index, definition in enumerate(definitions):
        try:
            rules.append(parse(definition))
        except WindowInvalidError as error:
            sentence = str(error.details[error.field])
            raise WindowInvalidError(f"windows.{index}.{error.field}", sentence) from error
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


def _shape(fields: Fields, definition: Mapping[str, Any]) -> Shape:
    starts_at, ends_at = fields.instant("starts_at"), fields.instant("ends_at")
    if starts_at is None and ends_at is None:
        days = frozenset(DAYS.index(day) + 1 for day in _words(definition, "days", DAYS, DAYS))
        start = fields.clock_time("start")
        seconds = fields.integer("length_seconds", least=1, most=int(MAX_LENGTH.total_seconds()))
        return Recurring(days, start, dt.timedelta(seconds=seconds), fields.time_zone())
    if "days" in definition:
        raise WindowInvalidError("days", "is no field of this shape of window.")
    if starts_at is None or ends_at is None:
        missing = "starts_at" if starts_at is None else "ends_at"
        raise WindowInvalidError(missing, "is missing: a window that opens once has both instants.")
    if ends_at <= starts_at:
        raise WindowInvalidError("ends_at", "must be later than starts_at.")
    return OneOff(starts_at, ends_at)


def _word(fields: Fields, name: str, known: Sequence[str], default: str = "") -> str:
    word = fields.text(name, default)
    if word not in known:
        raise WindowInvalidError(name, f"must be one of {', '.join(known)}.")
    return word


def _words(definition: Mapping[str, Any], name: str, known: Sequence[str], default: Sequence[str]) -> Sequence[str]:
    words = definition.get(name)
    if words is None:
        return default
    known_ones = [str(word) for word in known]
    if not isinstance(words, list | tuple) or not words or any(word not in known_ones for word in words):
        raise WindowInvalidError(name, f"must be a list of some of {', '.join(known_ones)}.")
    return words

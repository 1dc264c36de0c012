"""Generated schedules of every calendar kind, each with the rule that it was made from.

The rule is what the reader of the JSON must come to; it is built beside the text and shares no code with the reader.
"""

import datetime as dt
from calendar import monthrange
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

WEEK = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
ALL_DAYS = frozenset(range(1, 32))
KINDS = ("hourly", "daily", "weekly", "monthly", "cron")


@dataclass(frozen=True)
class Rule:
    """Dates by months, days (-1 the last) and weekdays (Monday is 0), times of the day, and what they follow."""

    times: frozenset[tuple[int, int]]
    real: bool = False
    months: frozenset[int] = frozenset(range(1, 13))
    days: frozenset[int] = ALL_DAYS
    weekdays: frozenset[int] = frozenset(range(7))
    either: bool = False

    def holds(self, wall: dt.datetime) -> bool:
        """Tell whether the rule names this local minute."""
        return (wall.hour, wall.minute) in self.times and self.has_date(wall.date())

    def has_date(self, date: dt.date) -> bool:
        """Tell whether the rule names this date."""
        last = monthrange(date.year, date.month)[1]
        day = date.day in self.days or (-1 in self.days and date.day == last)
        weekday = date.weekday() in self.weekdays
        return date.month in self.months and (day or weekday if self.either else day and weekday)


def schedule(kind: str, zone: str, random: Random, hours: Sequence[int] = range(24)) -> tuple[dict[str, Any], Rule]:
    """Return a schedule of the kind in the zone, and its rule; a single time of the day is in one of the hours."""
    hour, minute = random.choice(hours), random.randrange(60)
    clock = {"time": f"{hour:02d}:{minute:02d}", "time_zone": zone}
    times = frozenset({(hour, minute)})
    if kind == "hourly":
        rule = Rule(frozenset((each, minute) for each in range(24)), real=True)
        return {"type": "hourly", "minute": minute, "time_zone": zone}, rule
    if kind == "daily":
        return {"type": "daily", **clock}, Rule(times)
    if kind == "weekly":
        days = random.sample(range(7), random.randint(1, 7))
        return {"type": "weekly", "days": [WEEK[day] for day in days], **clock}, Rule(times, weekdays=frozenset(days))
    if kind == "monthly":
        days = random.sample([-1, *range(1, 32)], random.randint(1, 4))
        return {"type": "monthly", "days": days, **clock}, Rule(times, days=frozenset(days))
    return _cron(zone, random)


def _cron(zone: str, random: Random) -> tuple[dict[str, Any], Rule]:
    minute, minutes = _field(random, 0, 59, weight=2)
    hour, hours = _field(random, 0, 23, weight=2)
    day, days = _field(random, 1, 31, weight=5)
    month, months = _field(random, 1, 12, weight=8, names=dict(enumerate(MONTHS, 1)))
    weekday, numbers = _weekday(random)
    rule = Rule(
        frozenset((h, m) for h in hours for m in minutes),
        real=minute.startswith("*") or hour.startswith("*"),
        months=frozenset(months),
        days=frozenset(days),
        weekdays=frozenset((number - 1) % 7 for number in numbers),
        either=not day.startswith("*") and not weekday.startswith("*"),
    )
    expression = " ".join((minute, hour, day, month, weekday))
    return {"type": "cron", "expression": expression, "time_zone": zone}, rule


def _field(
    random: Random, least: int, most: int, weight: int, names: dict[int, str] | None = None
) -> tuple[str, set[int]]:
    """Return the text of a field and its values; `*` weighs as much as `weight` other forms."""
    if random.randrange(weight + 4) < weight:
        return "*", set(range(least, most + 1))
    texts, values = [], set[int]()
    for _ in range(random.randint(1, 3)):
        first, last = sorted((random.randint(least, most), random.randint(least, most)))
        step = random.randint(1, 9)
        text, found = random.choice(
            [
                (_spelt(first, names, random), {first}),
                (f"{_spelt(first, names, random)}-{_spelt(last, names, random)}", set(range(first, last + 1))),
                (f"{first}-{last}/{step}", set(range(first, last + 1, step))),
                (f"*/{step}", set(range(least, most + 1, step))),
            ]
        )
        texts.append(text)
        values |= found
    return ",".join(texts), values


def _weekday(random: Random) -> tuple[str, set[int]]:
    """Sunday is 0 and 7, and a range goes on over the end of the week."""
    if random.randrange(3):
        return random.choice([("*", set(range(7))), ("*/2", {0, 2, 4, 6})])
    first, length = random.randrange(7), random.randint(1, 6)
    numbers = [(first + n) % 7 for n in range(length)]
    names = dict(enumerate(("sun", *WEEK[:6])))
    last = _spelt(numbers[-1], names, random)
    text = _spelt(first, names, random) if length == 1 else f"{_spelt(first, names, random)}-{last}"
    return text.replace("-0", "-7"), set(numbers)


def _spelt(number: int, names: dict[int, str] | None, random: Random) -> str:
    if names is None or random.randrange(2):
        return str(number)
    return random.choice([names[number], names[number].upper(), names[number].title()])

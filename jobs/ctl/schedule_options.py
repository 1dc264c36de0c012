"""From options to the API's schedule: --daily 02:00, --every 6h, --weekly sat,sun@22:00, --cron '0 2 * * *'.

Owns the spelling of options. What a schedule means, and which kinds there are, the server says.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from repositories.console.failures import CommandError
from repositories.engine.display import show_text

_PARTS: Final = re.compile(r"(\d+)\s*(d|h|min|m|s)", re.ASCII)
# Nine digits of seconds are thirty years.
_LONGEST: Final = 10**9
_SECONDS: Final = {"d": 86400, "h": 3600, "min": 60, "m": 60, "s": 1}
_WEEKDAYS: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_DAYS_AT: Final = re.compile(r"([^@]+)@((?:[01][0-9]|2[0-3]):[0-5][0-9])")


def schedule_of(given: Mapping[str, str | None], time_zone: str | None) -> dict[str, Any]:
    """Return the schedule of the options by kind (`every`, `hourly`, `daily`, `weekly`, `monthly`, `cron`).

    None of them means by hand only.
    """
    named = {kind: value for kind, value in given.items() if value is not None}
    if len(named) > 1:
        raise CommandError(f"{_listing(tuple(named))} exclude each other", hint="give one")
    zone = {"time_zone": time_zone} if time_zone is not None else {}
    if not named:
        if zone:
            raise without_kind("--time-zone")
        return {"type": "manual"}
    ((kind, value),) = named.items()
    if kind != "every":
        return {"type": kind, **_KINDS[kind](value), **zone}
    if zone:
        raise CommandError("--every counts distances and has no time zone", hint="leave out --time-zone")
    return {"type": "interval", "every_seconds": seconds_of(value, "--every")}


def without_kind(option: str) -> CommandError:
    """Return the refusal of an option that says something of a schedule where there is none."""
    return CommandError(f"{option} needs {_listing(tuple(_KINDS), 'or')}", hint="say when the job runs")


def missed_of(text: str | None) -> dict[str, Any]:
    """Return what becomes of instants that passed while the server was away: `once`, `never`, or a time such as 6h."""
    if text is None:
        return {}
    if text in ("once", "never"):
        return {"missed": text}
    return {"missed": "once_within", "missed_within_seconds": seconds_of(text, "--missed")}


def seconds_of(text: str, option: str) -> int:
    """Return the seconds of `6h`, `90min`, `1d12h`; `option` is what gives it."""
    compact = text.strip().lower()
    parts = _PARTS.findall(compact)
    if not parts or "".join(number + unit for number, unit in parts) != re.sub(r"\s", "", compact):
        told = show_text(_shortened(text))
        raise CommandError(f"{option}: {told} is no length of time", hint="write it as 6h, 90min or 1d12h")
    # A number of any length is compared by its digits first: turning it into one has a limit of its own.
    seconds = sum(int(number) * _SECONDS[unit] for number, unit in parts if len(number.lstrip("0")) <= 10)
    if any(len(number.lstrip("0")) > 10 for number, _ in parts) or seconds > _LONGEST:
        told = show_text(_shortened(text))
        raise CommandError(f"{option}: {told} is too long a time", hint="give some hours or days")
    return seconds


def spelled(seconds: int) -> str:
    """Return seconds as options have them, exact: `7d`, `1d12h`, `90s` as `1min30s`."""
    told, rest = "", seconds
    for unit in ("d", "h", "min", "s"):
        count, rest = divmod(rest, _SECONDS[unit])
        told += f"{count}{unit}" if count else ""
    return told or "0s"


def _hourly(value: str) -> dict[str, Any]:
    if re.fullmatch(r"[0-9]{1,2}", value) is None:
        raise CommandError(f"--hourly: {show_text(_shortened(value))} is no minute", hint="write it as 0, 15 or 30")
    return {"minute": int(value)}


def _weekly(value: str) -> dict[str, Any]:
    days, time = _days_at("--weekly", value, "sat,sun@22:00")
    if not all(day.lower() in _WEEKDAYS for day in days):
        why = f"--weekly: a day of the week is one of {', '.join(_WEEKDAYS)}"
        raise CommandError(why, hint="write it as sat,sun@22:00")
    return {"days": days, "time": time}


def _monthly(value: str) -> dict[str, Any]:
    days, time = _days_at("--monthly", value, "1,15,last@02:00")
    numbers = [-1 if day.lower() == "last" else int(day) if re.fullmatch(r"[0-9]{1,2}", day) else None for day in days]
    if None in numbers:
        raise CommandError("--monthly: a day of the month is a number or last", hint="write it as 1,15,last@02:00")
    return {"days": numbers, "time": time}


def _days_at(option: str, value: str, example: str) -> tuple[list[str], str]:
    match = _DAYS_AT.fullmatch(value)
    if match is None:
        raise CommandError(f"{option}: {show_text(_shortened(value))} is not DAYS@HH:MM", hint=f"write it as {example}")
    return [day.strip() for day in match[1].split(",")], match[2]


_KINDS: Final[Mapping[str, Callable[[str], dict[str, Any]]]] = {
    "daily": lambda value: {"time": value},
    "hourly": _hourly,
    "weekly": _weekly,
    "monthly": _monthly,
    "cron": lambda value: {"expression": value},
}


def _listing(kinds: tuple[str, ...], word: str = "and") -> str:
    options = [f"--{kind}" for kind in kinds]
    return f"{', '.join(options[:-1])} {word} {options[-1]}"


def _shortened(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:40]}…"

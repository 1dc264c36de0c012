"""From options to the API's schedule: --daily 02:00, --every 6h, --cron '0 2 * * *'.

Owns the spelling of options. What a schedule means, and which kinds there are, the server says.
"""

import re
from typing import Any, Final

from repositories.console.failures import CommandError
from repositories.engine.display import show_text

_PARTS: Final = re.compile(r"(\d+)\s*(d|h|min|m|s)", re.ASCII)
# Nine digits of seconds are thirty years.
_LONGEST: Final = 10**9
_SECONDS: Final = {"d": 86400, "h": 3600, "min": 60, "m": 60, "s": 1}


def schedule_of(daily: str | None, every: str | None, cron: str | None, time_zone: str | None) -> dict[str, Any]:
    """Return the schedule that the options name; none of them means by hand only."""
    given = [value for value in (daily, every, cron) if value is not None]
    if len(given) > 1:
        raise CommandError("--daily, --every and --cron exclude each other", hint="give one")
    if every is not None:
        if time_zone is not None:
            raise CommandError("--every counts distances and has no time zone", hint="leave out --time-zone")
        return {"type": "interval", "every_seconds": seconds_of(every)}
    if not given:
        if time_zone is not None:
            raise CommandError("--time-zone needs --daily or --cron", hint="say when the job runs")
        return {"type": "manual"}
    zone = {"time_zone": time_zone} if time_zone is not None else {}
    if daily is not None:
        return {"type": "daily", "time": daily, **zone}
    return {"type": "cron", "expression": cron, **zone}


def seconds_of(text: str) -> int:
    """Return the seconds of `6h`, `90min`, `1d12h`."""
    compact = text.strip().lower()
    parts = _PARTS.findall(compact)
    if not parts or "".join(number + unit for number, unit in parts) != re.sub(r"\s", "", compact):
        raise CommandError(f"{show_text(text)} is no length of time", hint="write it as 6h, 90min or 1d12h")
    # A number of any length is compared by its digits first: turning it into one has a limit of its own.
    seconds = sum(int(number) * _SECONDS[unit] for number, unit in parts if len(number.lstrip("0")) <= 10)
    if any(len(number.lstrip("0")) > 10 for number, _ in parts) or seconds > _LONGEST:
        raise CommandError(f"{show_text(_shortened(text))} is too long a time", hint="give some hours or days")
    return seconds


def _shortened(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:40]}…"

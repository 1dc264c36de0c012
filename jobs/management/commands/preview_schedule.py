"""`manage preview_schedule`: what a schedule comes to, by the calendar alone (B6); no database, no server.

Owns the reading of the command line and the output. Exit 2 and the field's name for what cannot be planned.
"""

import json
import re
from argparse import ArgumentParser
from collections.abc import Mapping, Sequence
from typing import Any, Final

from django.core.management.base import BaseCommand, CommandError

from jobs import calendar, windows
from jobs.previews import preview_rows
from jobs.states import RunKind
from repositories.engine.display import show_text

MOST: Final = 10_000


class Command(BaseCommand):
    """Print the sentence and the next instants of a schedule."""

    help = "Print what a schedule means and when it is due next; needs no server."
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the schedule and the stretch of time."""
        parser.add_argument("--schedule", required=True, metavar="JSON", help="as the API takes it")
        parser.add_argument("--from", dest="start", required=True, metavar="ISO", help="instant with its offset")
        parser.add_argument("--count", default=10, metavar="N", help=f"how many instants, 1 to {MOST} (10)")
        parser.add_argument("--windows", metavar="JSON", help="a list of windows, as the API takes them")
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        """Parse, plan, print."""
        try:
            start = calendar.read_view_start(options["start"])
            count = _count(options["count"])
            rules = _rules(options["windows"])
            plan = calendar.parse_new(_json("schedule", options["schedule"]), now=start)
            rows = preview_rows([plan], rules, start=start, count=count)
        except (calendar.ScheduleInvalidError, windows.WindowInvalidError) as error:
            raise CommandError(error.message, returncode=2) from error
        if len(rows) < count and plan.kind != "manual":
            self.stderr.write(f"That is all: the calendar ends with the year {calendar.LAST_YEAR}.")
        description = plan.describe()
        if options["json"]:
            self.stdout.write(json.dumps({"description": description, "instants": rows}))
            return
        self.stdout.write(description)
        for row in rows:
            self.stdout.write("  ".join([row["utc"], row["local"], *row["notes"], *_window_words(row)]))


def _window_words(row: Mapping[str, Any]) -> list[str]:
    """Return which window shuts an instant and when its run starts, or into which one it merges; else nothing."""
    by = f"by {show_text(row['window']['name'])}" if "window" in row else ""
    if "merges_into" in row:
        return [f"into {row['merges_into']}", *([by] if by else [])]
    return [f"{by} to {row['starts_at']}" if row["starts_at"] else by] if by else []


def _json(field: str, text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise calendar.ScheduleInvalidError(field, "must be JSON.") from None


def _count(given: str | int) -> int:
    text = str(given)
    if not re.fullmatch("-?[0-9]{1,18}", text):
        raise calendar.ScheduleInvalidError("count", f"must be a whole number from 1 to {MOST}, not {show_text(text)}.")
    if not 1 <= int(text) <= MOST:
        raise calendar.ScheduleInvalidError("count", f"must be from 1 to {MOST}, not {int(text)}.")
    return int(text)


def _rules(text: str | None) -> Sequence[windows.Rule]:
    return windows.applicable(windows.parse_all(_json("windows", text or "[]")), RunKind.BACKUP)

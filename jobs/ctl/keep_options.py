"""The keep rules on command lines of `./syncova ctl`: which backups a deletion, or a plan of deletions, leaves.

Owns their options and what the API is asked by them. Which backups that keeps is the engine's.
"""

from dataclasses import dataclass
from typing import Annotated, Final

from typer import Option

from jobs.ctl.api import Json
from jobs.ctl.schedule_options import seconds_of
from repositories.console.options import OutputOptions

_COUNTS: Final = ("keep_last", "keep_hourly", "keep_daily", "keep_weekly", "keep_monthly", "keep_yearly")


@dataclass(frozen=True, slots=True, kw_only=True)
class KeepOptions(OutputOptions):
    """What to keep; nothing given is no rule."""

    keep_last: Annotated[int, Option("--keep-last", metavar="N", min=0, help="Keep the newest N.")] = 0
    keep_hourly: Annotated[int, Option("--keep-hourly", metavar="N", min=0, help="And one for each of N hours.")] = 0
    keep_daily: Annotated[int, Option("--keep-daily", metavar="N", min=0, help="And one for each of N days.")] = 0
    keep_weekly: Annotated[int, Option("--keep-weekly", metavar="N", min=0, help="And one for each of N weeks.")] = 0
    keep_monthly: Annotated[int, Option("--keep-monthly", metavar="N", min=0, help="And one for each of N months.")] = 0
    keep_yearly: Annotated[int, Option("--keep-yearly", metavar="N", min=0, help="And one for each of N years.")] = 0
    keep_within: Annotated[
        str | None, Option("--keep-within", metavar="TIME", help="And all within this time before the newest: 36h.")
    ] = None
    keep_tag: Annotated[tuple[str, ...], Option("--keep-tag", metavar="TAG", help="And all with this tag.")] = ()


def keep_order(options: KeepOptions) -> Json:
    """Return the fields of an order that say what to keep, those alone that are given."""
    order: Json = {name: count for name in _COUNTS if (count := getattr(options, name))}
    if options.keep_within is not None:
        order["keep_within_seconds"] = seconds_of(options.keep_within)
    if options.keep_tag:
        order["keep_tags"] = list(options.keep_tag)
    return order

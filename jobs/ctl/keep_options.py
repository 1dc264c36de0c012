"""The keep rules on command lines of `./syncova ctl`: which backups a deletion, or a plan of deletions, leaves.

Owns what the API is asked by them; their names are repositories.console.keep_rules'.
"""

from dataclasses import dataclass
from typing import Final

from jobs.ctl.api import Json
from jobs.ctl.schedule_options import seconds_of
from repositories.console import keep_rules
from repositories.console.options import OutputOptions

_COUNTS: Final = ("keep_last", "keep_hourly", "keep_daily", "keep_weekly", "keep_monthly", "keep_yearly")


@dataclass(frozen=True, slots=True, kw_only=True)
class KeepOptions(OutputOptions):
    """What to keep; nothing given is no rule."""

    keep_last: keep_rules.Last = 0
    keep_hourly: keep_rules.Hourly = 0
    keep_daily: keep_rules.Daily = 0
    keep_weekly: keep_rules.Weekly = 0
    keep_monthly: keep_rules.Monthly = 0
    keep_yearly: keep_rules.Yearly = 0
    keep_within: keep_rules.Within = None
    keep_tag: keep_rules.Tag = ()


def keep_order(options: KeepOptions) -> Json:
    """Return the fields of an order that say what to keep, those alone that are given."""
    order: Json = {name: count for name in _COUNTS if (count := getattr(options, name))}
    if options.keep_within is not None:
        order["keep_within_seconds"] = seconds_of(options.keep_within, "--keep-within")
    if options.keep_tag:
        order["keep_tags"] = list(options.keep_tag)
    return order

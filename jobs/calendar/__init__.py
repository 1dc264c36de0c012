"""The calendar: schedules as values that answer "when next?", pure, with no database and no clock (B1-B6, B10).

This is the front door: parse what the API takes, ask for instants, a sentence, a preview, a widest gap.
A further kind is one module with a plan class and one line in `registry.KINDS`.
"""

from jobs.calendar.errors import ScheduleInvalidError
from jobs.calendar.fingerprints import NO_ZONE, fingerprint, is_stale, zone_rules, zone_rules_of
from jobs.calendar.limits import LAST_YEAR, read_view_start
from jobs.calendar.plans import Note, Occurrence, Plan
from jobs.calendar.preview import preview
from jobs.calendar.registry import KINDS, parse, parse_new
from jobs.calendar.rpo import Horizon, horizon, refuse_broken_rpo, widest_gap
from jobs.calendar.spans import Span, span
from jobs.calendar.timetables import wall_occurrence
from jobs.calendar.widest import NEVER, widest_between
from jobs.calendar.zones import TZDATA_VERSION

__all__ = [
    "KINDS",
    "LAST_YEAR",
    "NEVER",
    "NO_ZONE",
    "TZDATA_VERSION",
    "Horizon",
    "Note",
    "Occurrence",
    "Plan",
    "ScheduleInvalidError",
    "Span",
    "fingerprint",
    "horizon",
    "is_stale",
    "parse",
    "parse_new",
    "preview",
    "read_view_start",
    "refuse_broken_rpo",
    "span",
    "wall_occurrence",
    "widest_between",
    "widest_gap",
    "zone_rules",
    "zone_rules_of",
]

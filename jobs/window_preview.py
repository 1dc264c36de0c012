"""What a window does, before it is saved or while it holds: when it is open, and which planned starts it moves (B9).

Owns the reading; writes nothing. A window is judged by what would be planned without it.
"""

import datetime as dt
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

from jobs import windows
from jobs.models import Job
from jobs.objectives import broken_by, plans_of, rules_of
from jobs.window_rows import current_rules
from syncova_project.access.visibility import visible_groups, within_sight

# Jobs that are looked at, and instants of each: enough to see what a window does, bounded whatever there is.
MOST_JOBS: Final = 200
MOST_INSTANTS: Final = 200
_REACH: Final = dt.timedelta(days=400)


@dataclass(frozen=True, slots=True)
class Moved:
    """The first planned instant of a job that the window moves; `starts_at` None: windows leave none in 31 days."""

    job: Job
    planned: dt.datetime
    starts_at: dt.datetime | None


@dataclass(frozen=True, slots=True)
class WindowPreview:
    """The window's next openings, what it moves, and the names of the jobs whose objectives cannot be kept with it."""

    openings: Sequence[windows.Opening]
    moved: Sequence[Moved]
    broken: Sequence[str]

    @property
    def stopped(self) -> Sequence[str]:
        """Names of the jobs of whose starts the window leaves none."""
        return _stopped(self.moved)


def window_preview(rule: windows.Rule, count: int, *, replaces: uuid.UUID | None, now: dt.datetime) -> WindowPreview:
    """Return what `rule` does from `now` on, beside all windows that are saved but for the one that it replaces."""
    without = current_rules(without=replaces)
    rules = [*without, rule]
    shown = islice(rule.shape.openings(now, now + _REACH), count)
    broken = names_seen(broken_by(rules, changed=rule, now=now))
    return WindowPreview(list(shown), _moved(rule, rules, without, now), broken)


def stopped_by(rule: windows.Rule, *, saved_as: uuid.UUID, now: dt.datetime) -> Sequence[str]:
    """Return the names of the jobs that a saved window leaves no start within 31 days, if the caller sees them."""
    without = current_rules(without=saved_as)
    return _stopped(_moved(rule, [*without, rule], without, now))


def _stopped(moved: Sequence[Moved]) -> list[str]:
    return [one.job.name for one in moved if one.starts_at is None]


def _moved(
    rule: windows.Rule, rules: Sequence[windows.Rule], without: Sequence[windows.Rule], now: dt.datetime
) -> list[Moved]:
    kept = Job.objects.filter(deleted_at__isnull=True, paused_at__isnull=True).order_by("name", "id")
    moved = []
    for job in within_sight(kept, "repository__worker_group")[:MOST_JOBS]:
        if rules_of(job, [rule]):
            found = _first_moved(job, rules_of(job, rules), rules_of(job, without), now)
            moved += [] if found is None else [found]
    return moved


def names_seen(names: Sequence[str]) -> Sequence[str]:
    """Return the names of those jobs that the caller sees."""
    if visible_groups() is None or not names:
        return names
    seen = within_sight(Job.objects.filter(name__in=names), "repository__worker_group")
    known = set(seen.values_list("name", flat=True))
    return [name for name in names if name in known]


def _first_moved(
    job: Job, rules: Sequence[windows.Rule], without: Sequence[windows.Rule], now: dt.datetime
) -> Moved | None:
    found = []
    for plan in plans_of(job):
        for instant, _ in islice(plan.starts(now), MOST_INSTANTS):
            starts_at = windows.next_free(rules, instant).instant
            if starts_at != windows.next_free(without, instant).instant:
                found.append(Moved(job, instant, starts_at))
                break
    return min(found, key=lambda one: one.planned, default=None)

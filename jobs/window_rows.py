"""Rows of windows as rules, the lock between those who change them and those who plan by them, and held subjects.

Owns the reading. A row that cannot be evaluated is logged and left out: backups that go on harm less than none at all.
"""

import datetime as dt
import logging
import uuid
from collections.abc import Sequence
from typing import Final

from django.db import connection

from jobs import windows
from jobs.calendar.zones import load_zone
from jobs.models import Window
from jobs.poison import POISON
from jobs.states import RunKind, WindowKind
from syncova_project.instants import instant

logger = logging.getLogger(__name__)

# Any number that nobody else takes in this database (jobs.admission and jobs.dependencies do); it has to stay the same.
WINDOWS_LOCK: Final = 7_365_003


def current_rules(*, without: uuid.UUID | None = None) -> Sequence[windows.Rule]:
    """Return all windows as they stand now, but for the one left out, in the order of their names."""
    rows = Window.objects.order_by("name", "id")
    kept = rows if without is None else rows.exclude(id=without)
    return tuple(rule for row in kept if (rule := _readable(row)) is not None)


def rule_of(row: Window) -> windows.Rule:
    """Return the rule of one row; whether its zone is known shows when it is evaluated."""
    level, owner = windows.Level.INSTALLATION, ""
    if row.repository_id is not None:
        level, owner = windows.Level.REPOSITORY, str(row.repository_id)
    elif row.job_id is not None:
        level, owner = windows.Level.JOB, str(row.job_id)
    kinds = frozenset(RunKind(kind) for kind in row.kinds)
    return windows.Rule(row.name, WindowKind(row.kind), kinds, _shape(row), level, owner)


def plan_by_windows() -> None:
    """Keep windows from changing until this transaction ends: what it plans is what they say."""
    _lock("SELECT pg_advisory_xact_lock_shared(%s)")


def change_windows() -> None:
    """Wait for those who plan by windows, and let nobody begin until this transaction ends."""
    _lock("SELECT pg_advisory_xact_lock(%s)")


def subject_of(answer: windows.Answer) -> str:
    """Return what a held run says of its window: how it is shut, until when ("-": no end is near), and its name."""
    if answer.block is None:
        return ""
    until = instant(answer.instant) or "-"
    return f"{answer.block.code} {until} {answer.block.name}"


def read_subject(subject: str) -> tuple[str, dt.datetime | None, str]:
    """Return code, instant and name of what `subject_of` wrote; of any other text, that text as the name."""
    code, _, rest = subject.partition(" ")
    until, _, name = rest.partition(" ")
    try:
        return code, None if until in ("", "-") else dt.datetime.fromisoformat(until), name
    except ValueError:
        # A list of runs must not end with an error for one row that something else has written.
        return "", None, subject


def _shape(row: Window) -> windows.Shape:
    if row.starts_at is not None and row.ends_at is not None:
        return windows.OneOff(row.starts_at, row.ends_at)
    if row.days is None or row.start_time is None or row.length_seconds is None:
        raise ValueError(f"window {row.id} is neither one-off nor recurring")
    length = dt.timedelta(seconds=row.length_seconds)
    return windows.Recurring(frozenset(row.days), row.start_time, length, row.time_zone)


def _readable(row: Window) -> windows.Rule | None:
    try:
        rule = rule_of(row)
        if isinstance(rule.shape, windows.Recurring):
            load_zone(rule.shape.zone_name)
        return rule
    except POISON:
        logger.exception("Window %s cannot be evaluated and is left out", row.id)
        return None


def _lock(statement: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement, [WINDOWS_LOCK])

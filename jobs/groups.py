"""Worker groups that nobody serves any more, and that are served again: noticed by passes, told once each (6.5, C3).

Owns `runners.dead_since` and its event. A group that only drains is not dead; one that nobody ever served is none.
"""

import datetime as dt
import logging
from typing import Final

from django.db.models import Exists, OuterRef

from jobs.models import Runner, WorkerProcess
from jobs.occupancy import SEEN_WITHIN
from jobs.states import RunnerKind
from syncova_project.access.services import audit_record

# A worker that is started anew is away for some seconds; that is nothing to tell.
TELL_AFTER: Final = dt.timedelta(seconds=60)
ACTOR: Final = "scheduler"

logger = logging.getLogger(__name__)


def watch_groups(*, now: dt.datetime, observed_since: dt.datetime) -> int:
    """Note which groups have no process and tell of those that stay so; return how many were told.

    Silence counts only while it is observed: with the database away no worker could give a sign of life.
    """
    if now - observed_since <= SEEN_WITHIN:
        return 0
    seen = WorkerProcess.objects.filter(runner=OuterRef("pk"), last_seen__gt=now - SEEN_WITHIN)
    groups = Runner.objects.filter(kind=RunnerKind.GROUP, source_roots__isnull=False).annotate(served=Exists(seen))
    told = 0
    for runner in groups:
        if runner.served and runner.dead_since is not None:
            told += _back(runner, now)
        elif not runner.served and runner.dead_since is None:
            Runner.objects.filter(id=runner.id, dead_since__isnull=True).update(dead_since=now, dead_told=False)
        elif not runner.served and not runner.dead_told and now - (runner.dead_since or now) >= TELL_AFTER:
            told += _dead(runner, now)
    return told


def is_served(group: str, now: dt.datetime) -> bool:
    """Tell whether a process of the worker group is there, be it one that takes no further runs."""
    return WorkerProcess.objects.filter(runner__name__iexact=group, last_seen__gt=now - SEEN_WITHIN).exists()


def _dead(runner: Runner, now: dt.datetime) -> int:
    if not Runner.objects.filter(id=runner.id, dead_told=False).update(dead_told=True):
        return 0
    logger.error("The worker group %s is dead: no process of it since %s", runner.name, runner.dead_since)
    _record(runner, "worker_group.dead", now)
    return 1


def _back(runner: Runner, now: dt.datetime) -> int:
    dead = Runner.objects.filter(id=runner.id, dead_since__isnull=False)
    if not dead.update(dead_since=None, dead_told=False) or not runner.dead_told:
        return 0
    logger.warning("The worker group %s is served again", runner.name)
    _record(runner, "worker_group.back", now)
    return 1


def _record(runner: Runner, action: str, now: dt.datetime) -> None:
    since = runner.dead_since.isoformat() if runner.dead_since else ""
    details = {"group": runner.name, "since": since}
    audit_record(actor=ACTOR, action=action, subject_type="runner", subject_id=runner.id, now=now, details=details)

"""New zone rules: the first pass that runs with a newer tzdata computes stored instants anew, with an event (5.5).

Owns that sweep. What is due already was promised and is claimed as it stands. An older tzdata never undoes a newer one,
so that two hosts in the middle of an update do not argue.
"""

import datetime as dt
import re
import uuid
from collections.abc import Sequence
from typing import Final

from django.db import transaction

from jobs import calendar
from jobs.flags import flag_schedule
from jobs.models import Job, Schedule, ScheduleEvent, SchedulerState
from jobs.planning import columns_of
from jobs.poison import POISON
from jobs.states import ScheduleKind, ScheduleState

BATCH: Final = 500
_BEFORE_ALL: Final[uuid.UUID | None] = uuid.UUID(int=0)


def adopt_zone_rules(*, now: dt.datetime, version: str = calendar.TZDATA_VERSION) -> int:
    """Compute instants anew where they were stored under rules before `version`; return how many moved.

    A batch a transaction; a pass that dies half-way leaves the rest to the next one, and none moves twice.
    """
    known = SchedulerState.objects.values_list("tzdata_version", flat=True).first()
    if known is None or _order(known) >= _order(version):
        return 0
    moved, last = 0, _BEFORE_ALL
    while last is not None:
        last, found = _adopt_batch(last, version, now)
        moved += found
    SchedulerState.objects.filter(tzdata_version=known).update(tzdata_version=version)
    return moved


def _adopt_batch(last: uuid.UUID | None, version: str, now: dt.datetime) -> tuple[uuid.UUID | None, int]:
    planned = Schedule.objects.filter(
        state=ScheduleState.ACTIVE, deleted_at__isnull=True, next_at__gt=now, job__deleted_at__isnull=True
    ).exclude(kind__in=(ScheduleKind.MANUAL, ScheduleKind.INTERVAL))
    with transaction.atomic():
        ids = dict(planned.filter(id__gt=last).order_by("id").values_list("id", "job_id")[:BATCH])
        list(Job.objects.select_for_update(no_key=True).filter(id__in=set(ids.values())).order_by("id"))
        rows = list(planned.filter(id__in=list(ids)).select_for_update(no_key=True, of=("self",)).order_by("id"))
        moved = _adopt(rows, version, now)
    return (max(ids) if len(ids) == BATCH else None), moved


def _adopt(schedules: Sequence[Schedule], version: str, now: dt.datetime) -> int:
    changed, events = [], []
    for schedule in schedules:
        try:
            plan = calendar.parse(schedule.definition, anchor=schedule.anchor)
            following = _following(schedule, plan, now)
        except POISON as error:
            flag_schedule(schedule, error, now=now)
            continue
        columns, before = columns_of(following), schedule.next_at
        if columns["next_at"] != before:
            told = {"zone_rules": version, "before": _iso(before), "after": _iso(columns["next_at"])}
            events.append(ScheduleEvent(schedule=schedule, at=now, code="recomputed", parameters=told))
        for name, value in columns.items():
            setattr(schedule, name, value)
        schedule.fingerprint = calendar.fingerprint(plan, anchor=schedule.anchor)
        changed.append(schedule)
    Schedule.objects.bulk_update(changed, ["next_at", "next_wall", "fingerprint"])
    ScheduleEvent.objects.bulk_create(events)
    return len(events)


def _following(schedule: Schedule, plan: calendar.Plan, now: dt.datetime) -> calendar.Occurrence | None:
    """Return when the promised wall time comes now, be it in the past: then it is due at once."""
    floor = schedule.last_planned_at or schedule.created_at
    if schedule.next_wall:
        promised = calendar.wall_occurrence(dt.datetime.fromisoformat(schedule.next_wall), plan.zone_name)
        if promised.instant > floor:
            return promised
    return plan.next_after(max(now, floor))


def _order(version: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", version)]


def _iso(instant: dt.datetime | None) -> str | None:
    return None if instant is None else instant.astimezone(dt.UTC).isoformat()

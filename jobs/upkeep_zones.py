"""New zone rules reach plans of upkeep as they reach schedules: moved, or planned again when their zone is known (5.5).

Owns these two moves. An installation has a few plans for each repository, so all of them are looked through at once.
"""

import datetime as dt
from typing import Final

from django.db import transaction
from django.db.models import Q

from jobs import calendar
from jobs.models import UpkeepPlan
from jobs.planning import planned, promised_of
from jobs.poison import POISON
from jobs.states import DecisionOutcome
from jobs.upkeep import ACTOR, decide_span, flag_plan
from syncova_project.access.services import audit_record

BATCH: Final = 500


def adopt_upkeep_rules(*, now: dt.datetime, version: str) -> int:
    """Compute the instants of plans anew whose zones have other rules now; return how many moved.

    What is due is claimed as it was promised.
    """
    kept = UpkeepPlan.objects.filter(deleted_at__isnull=True)
    stale = [rules for rules in set(kept.values_list("zone_rules", flat=True)) if calendar.is_stale(rules)]
    if not stale:
        return 0
    chosen = kept.filter(~Q(flag="") | Q(next_at__gt=now), zone_rules__in=stale).select_related("repository")
    locked = chosen.select_for_update(skip_locked=True, of=("self",), no_key=True)
    with transaction.atomic():
        return sum(_adopt(plan, version, now) for plan in locked.order_by("next_at", "id")[:BATCH])


def _adopt(plan: UpkeepPlan, version: str, now: dt.datetime) -> bool:
    try:
        with transaction.atomic():
            schedule = calendar.parse(plan.definition, anchor=plan.anchor)
            return _plan_again(plan, schedule, version, now) if plan.flag else _move(plan, schedule, version, now)
    except POISON as error:
        flag_plan(plan, error)
        return False


def _move(plan: UpkeepPlan, schedule: calendar.Plan, version: str, now: dt.datetime) -> bool:
    columns, before = planned(schedule, promised_of(plan, schedule, now)), plan.next_at
    if columns["zone_rules"] == calendar.NO_ZONE:
        columns |= {"next_at": plan.next_at, "next_wall": plan.next_wall}
    UpkeepPlan.objects.filter(id=plan.id).update(**columns)
    if columns["next_at"] == before:
        return False
    _tell(plan, "upkeep.recomputed", now, zone_rules=version, before=before, after=columns["next_at"])
    return True


def _plan_again(plan: UpkeepPlan, schedule: calendar.Plan, version: str, now: dt.datetime) -> bool:
    """Take the flag off: the zone that could not be found is known now."""
    if plan.next_at is not None and plan.next_at <= now:
        span = calendar.span(schedule, plan.next_at, now)
        decide_span(plan, span, DecisionOutcome.SKIPPED, "unknown_zone", now=now)
    columns = planned(schedule, schedule.next_after(now))
    UpkeepPlan.objects.filter(id=plan.id).update(flag="", **columns)
    _tell(plan, "upkeep.unflagged", now, zone_rules=version, after=columns["next_at"])
    return True


def _tell(plan: UpkeepPlan, action: str, now: dt.datetime, **told: object) -> None:
    details = {name: value.isoformat() if isinstance(value, dt.datetime) else value for name, value in told.items()}
    audit_record(
        actor=ACTOR,
        action=action,
        subject_type="repository",
        subject_id=plan.repository_id,
        now=now,
        details={"kind": plan.kind, **details},
    )

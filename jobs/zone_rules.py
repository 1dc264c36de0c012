"""New zone rules: passes with newer zone data compute the stored instants that they change anew, with an event (5.5).

Owns which rows follow older rules, and the move of schedules. Batches, soonest due first: a pass never waits for all
of 100,000. What is due already was promised and is claimed as it stands. Older zone data never undoes what newer has
done, so that two hosts in the middle of an update do not argue.
"""

import datetime as dt
import re
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from django.db import connection, transaction

from jobs import calendar, decisions
from jobs.flags import UNPLANNABLE, flag_schedule
from jobs.models import Schedule, ScheduleEvent, SchedulerState
from jobs.planning import planned, promised_of
from jobs.poison import POISON
from jobs.postponed import recompute_waiting, revive_stuck
from jobs.states import DecisionOutcome, ScheduleState
from jobs.upkeep_zones import adopt_upkeep_rules
from jobs.window_rows import change_windows, current_rules

BATCH: Final = 500
BATCHES_A_PASS: Final = 2
UNKNOWN_ZONE: Final = "unknown_zone"

# From one value of the index to the next: as many steps as zones are in use, whatever the number of schedules.
_IN_USE: Final = """
WITH RECURSIVE known (rules) AS (
    (SELECT zone_rules FROM schedules WHERE deleted_at IS NULL ORDER BY zone_rules LIMIT 1)
    UNION ALL
    SELECT (
        SELECT zone_rules FROM schedules
        WHERE deleted_at IS NULL AND zone_rules > known.rules ORDER BY zone_rules LIMIT 1
    ) FROM known WHERE known.rules IS NOT NULL
)
SELECT rules FROM known WHERE rules IS NOT NULL
"""
_SOONEST: Final = """
SELECT soonest.id FROM unnest(%(stale)s::text[]) AS stale (rules)
CROSS JOIN LATERAL (
    SELECT id, next_at FROM schedules
    WHERE zone_rules = stale.rules AND deleted_at IS NULL AND state = %(active)s AND next_at > %(now)s
    ORDER BY next_at, id LIMIT %(most)s
) AS soonest
ORDER BY soonest.next_at, soonest.id LIMIT %(most)s
"""
_SET: Final = """
UPDATE schedules SET next_at = moved.next_at, next_wall = moved.next_wall, zone_rules = moved.zone_rules,
    fingerprint = moved.fingerprint
FROM unnest(%s::uuid[], %s::timestamptz[], %s::text[], %s::text[], %s::text[])
    AS moved (id, next_at, next_wall, zone_rules, fingerprint)
WHERE schedules.id = moved.id
"""


@dataclass(frozen=True, slots=True)
class _Anew:
    """A schedule as it is computed by the rules of today."""

    schedule: Schedule
    columns: dict[str, Any]
    fingerprint: str


def adopt_zone_rules(*, now: dt.datetime, version: str = calendar.TZDATA_VERSION) -> int:
    """Compute anew what was stored by rules that are not today's, some batches of it; return how many instants moved.

    Each batch is a transaction: a pass that dies half-way leaves the rest to the next one, and none moves twice.
    """
    if not _is_newest(version, now):
        return 0
    stale, moved = stale_rules(), adopt_upkeep_rules(now=now, version=version)
    for _ in range(BATCHES_A_PASS if stale else 0):
        seen, found = _adopt_batch(stale, version, now)
        moved += found
        if seen < BATCH:
            break
    if stale:
        _revive(stale, version, now)
    return moved


def stale_rules() -> list[str]:
    """Return what schedules say of the rules that they follow where that is not what the rules are today."""
    with connection.cursor() as cursor:
        cursor.execute(_IN_USE)
        return [rules for (rules,) in cursor.fetchall() if calendar.is_stale(rules)]


def _is_newest(version: str, now: dt.datetime) -> bool:
    """Tell whether no pass has run with newer zone data; the first with this lets windows say anew what they hold."""
    known = SchedulerState.objects.values_list("tzdata_version", flat=True).first()
    if known is None or _order(known) > _order(version):
        return False
    if _order(known) < _order(version):
        with transaction.atomic():
            change_windows()
            if SchedulerState.objects.filter(tzdata_version=known).update(tzdata_version=version):
                rules = current_rules()
                revive_stuck(rules, now=now)
                recompute_waiting(rules, now=now)
    return True


def _adopt_batch(stale: Sequence[str], version: str, now: dt.datetime) -> tuple[int, int]:
    with transaction.atomic():
        with connection.cursor() as cursor:
            values: dict[str, Any] = {"stale": list(stale), "now": now, "most": BATCH}
            values["active"] = ScheduleState.ACTIVE.value
            cursor.execute(_SOONEST, values)
            ids = [row[0] for row in cursor.fetchall()]
        # What is being claimed, paused or changed right now is left to the next batch: nobody waits for anybody.
        chosen = Schedule.objects.filter(id__in=ids, zone_rules__in=stale, state=ScheduleState.ACTIVE, next_at__gt=now)
        locked = chosen.select_for_update(skip_locked=True, of=("self", "job"), no_key=True).select_related("job")
        return len(ids), _adopt(list(locked.order_by("next_at", "id")), version, now)


def _adopt(schedules: Sequence[Schedule], version: str, now: dt.datetime) -> int:
    computed, events = [], []
    for schedule in schedules:
        try:
            anew = _computed(schedule, now)
        except POISON as error:
            flag_schedule(schedule, error, now=now)
            continue
        computed.append(anew)
        before, after = schedule.next_at, anew.columns["next_at"]
        if after != before:
            told = {"zone_rules": version, "before": _iso(before), "after": _iso(after)}
            events.append(ScheduleEvent(schedule=schedule, at=now, code="recomputed", parameters=told))
    if computed:
        with connection.cursor() as cursor:
            cursor.execute(_SET, [list(column) for column in zip(*map(_row, computed), strict=True)])
    ScheduleEvent.objects.bulk_create(events)
    return len(events)


def _computed(schedule: Schedule, now: dt.datetime) -> _Anew:
    plan = calendar.parse(schedule.definition, anchor=schedule.anchor)
    columns = planned(plan, promised_of(schedule, plan, now))
    if columns["zone_rules"] == calendar.NO_ZONE:
        columns |= {"next_at": schedule.next_at, "next_wall": schedule.next_wall}
    return _Anew(schedule, columns, calendar.fingerprint(plan, anchor=schedule.anchor))


def _row(anew: _Anew) -> tuple[uuid.UUID, dt.datetime | None, str, str, str]:
    columns = anew.columns
    return anew.schedule.id, columns["next_at"], columns["next_wall"], columns["zone_rules"], anew.fingerprint


def _revive(stale: Sequence[str], version: str, now: dt.datetime) -> None:
    """Plan again, from now on, the schedules that were flagged for a zone that is known now (5.6)."""
    with transaction.atomic():
        flagged = Schedule.objects.filter(
            zone_rules__in=stale,
            state=ScheduleState.FLAGGED,
            state_code=UNPLANNABLE,
            state_parameters__error=calendar.ScheduleInvalidError.__name__,
            deleted_at__isnull=True,
        )
        locked = flagged.select_for_update(skip_locked=True, of=("self", "job"), no_key=True).select_related("job")
        for schedule in locked.order_by("id")[:BATCH]:
            try:
                with transaction.atomic():
                    _plan_again(schedule, version, now)
            except POISON:
                # Still not to be planned: it is looked at again when the rules of its zone change.
                rules = calendar.zone_rules_of(schedule.definition)
                Schedule.objects.filter(id=schedule.id).update(zone_rules=rules)


def _plan_again(schedule: Schedule, version: str, now: dt.datetime) -> None:
    plan = calendar.parse(schedule.definition, anchor=schedule.anchor)
    decisions.decide_due(schedule, plan, DecisionOutcome.SKIPPED, UNKNOWN_ZONE, now=now)
    Schedule.objects.filter(id=schedule.id).update(
        state=ScheduleState.ACTIVE,
        state_code="",
        state_parameters={},
        fingerprint=calendar.fingerprint(plan, anchor=schedule.anchor),
        **planned(plan, plan.next_after(now)),
    )
    told = {"after": UNPLANNABLE, "zone_rules": version}
    ScheduleEvent.objects.create(schedule=schedule, at=now, code="unflagged", parameters=told)


def _order(version: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", version)]


def _iso(instant: dt.datetime | None) -> str | None:
    return None if instant is None else instant.astimezone(dt.UTC).isoformat()

"""Due instants that no run of their own stands for: another run of the job has not ended, or the instant ran already.

Owns what a refused run means (D1, H7), for all of a batch at once: thousands of jobs may still run when they are due.
"""

import datetime as dt
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from jobs import calendar, decisions, missed
from jobs.due import Step
from jobs.models import Run, ScheduleDecision
from jobs.states import ACTIVE_STATES, DecisionOutcome, MissedPolicy, Trigger


def coalesced(steps: Sequence[Step], *, now: dt.datetime) -> tuple[int, list[ScheduleDecision]]:
    """Return how many steps merged into a run that has not ended, and the decisions to be written of them.

    What was too late for its schedule is told as that, not as merged. A run of the very instant needs no word. A run
    that stood for the instants before has its decision go on.
    """
    if not steps:
        return 0, []
    there = _there(steps)
    merged = [step for step in steps if (step.schedule.id, step.span.newest) not in there]
    active = _active({step.schedule.job_id for step in merged})
    last = decisions.last_of([step.schedule.id for step in merged])
    goes_on, new = [], []
    for step in merged:
        late, span = _by_policy(step, now)
        if late is not None:
            new.append(late)
        run_id, held_code = active.get(step.schedule.job_id, (None, ""))
        before = last.get(step.schedule.id)
        if late is None and before is not None and run_id is not None and decisions.goes_on(before, span, run_id):
            goes_on.append(before)
            continue
        told: dict[str, Any] = {"run_id": run_id, "held_code": held_code} if run_id else {}
        outcome = DecisionOutcome.COALESCED
        new.append(decisions.range_row(step.schedule, span, outcome, "job_active", now=now, **told))
    decisions.lengthen(goes_on)
    return len(merged), new


def _by_policy(step: Step, now: dt.datetime) -> tuple[ScheduleDecision | None, calendar.Span]:
    """Return the decision over the instants that the schedule would not have run any more, and those that merge.

    The newest instant is never too late: its step would have been refused.
    """
    policy, within = MissedPolicy(step.schedule.missed), step.schedule.missed_within_seconds
    before = missed.too_late_before(policy, within, now)
    if before is None or step.span.first >= before:
        return None, step.span
    late = calendar.span(step.plan, step.span.first, before - dt.timedelta(microseconds=1))
    following = step.plan.next_after(late.newest)
    refusal = missed.refusal(policy, within, now - late.newest)
    if following is None or refusal is None:
        return None, step.span
    told: dict[str, Any] = {"within_seconds": within} if within else {}
    row = decisions.range_row(step.schedule, late, *refusal, now=now, **told)
    return row, calendar.span(step.plan, following.instant, step.span.newest)


def _there(steps: Sequence[Step]) -> set[tuple[uuid.UUID | None, dt.datetime]]:
    """Return the instants of the steps that have a run of their own."""
    instants = {step.span.newest for step in steps}
    schedules = [step.schedule.id for step in steps]
    same = Run.objects.filter(schedule_id__in=schedules, scheduled_for__in=instants, trigger=Trigger.SCHEDULE)
    return set(same.values_list("schedule_id", "scheduled_for"))


def _active(job_ids: set[uuid.UUID]) -> Mapping[uuid.UUID | None, tuple[uuid.UUID, str]]:
    runs = Run.objects.filter(job_id__in=job_ids, state__in=ACTIVE_STATES)
    return {job_id: (run_id, held) for job_id, run_id, held in runs.values_list("job_id", "id", "held_code")}

"""Due instants that no run of their own stands for: another run of the job has not ended, or the instant ran already.

Owns what a refused run means (D1, H7), for all of a batch at once: thousands of jobs may still run when they are due.
"""

import datetime as dt
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from jobs import decisions
from jobs.due import Step
from jobs.models import Run, ScheduleDecision
from jobs.states import ACTIVE_STATES, DecisionOutcome, Trigger


def coalesced(steps: Sequence[Step], *, now: dt.datetime) -> tuple[int, list[ScheduleDecision]]:
    """Return how many steps merged into a run that has not ended, and the decisions to be written of them.

    A run of the very instant needs no word. A run that stood for the instants before has its decision go on.
    """
    if not steps:
        return 0, []
    there = _there(steps)
    merged = [step for step in steps if (step.schedule.id, step.span.newest) not in there]
    active = _active({step.schedule.job_id for step in merged})
    last = decisions.last_of([step.schedule.id for step in merged])
    goes_on, new = [], []
    for step in merged:
        run_id, held_code = active.get(step.schedule.job_id, (None, ""))
        before = last.get(step.schedule.id)
        if before is not None and run_id is not None and decisions.goes_on(before, step.span, run_id):
            goes_on.append(before)
            continue
        told: dict[str, Any] = {"run_id": run_id, "held_code": held_code} if run_id else {}
        outcome = DecisionOutcome.COALESCED
        new.append(decisions.range_row(step.schedule, step.span, outcome, "job_active", now=now, **told))
    decisions.lengthen(goes_on)
    return len(merged), new


def _there(steps: Sequence[Step]) -> set[tuple[uuid.UUID | None, dt.datetime]]:
    """Return the instants of the steps that have a run of their own."""
    instants = {step.span.newest for step in steps}
    schedules = [step.schedule.id for step in steps]
    same = Run.objects.filter(schedule_id__in=schedules, scheduled_for__in=instants, trigger=Trigger.SCHEDULE)
    return set(same.values_list("schedule_id", "scheduled_for"))


def _active(job_ids: set[uuid.UUID]) -> Mapping[uuid.UUID | None, tuple[uuid.UUID, str]]:
    runs = Run.objects.filter(job_id__in=job_ids, state__in=ACTIVE_STATES)
    return {job_id: (run_id, held) for job_id, run_id, held in runs.values_list("job_id", "id", "held_code")}

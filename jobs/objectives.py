"""Recovery-point objectives of jobs against their schedules and windows (B10).

Owns which windows count for which job. The measuring is jobs.windows', the refusal's words are jobs.calendar's.
"""

import datetime as dt
from collections.abc import Sequence
from dataclasses import replace

from django.db.models import Q
from django.utils.translation import gettext

from jobs import calendar, windows
from jobs.flags import NO_FREE_INSTANT
from jobs.models import Job, Schedule
from jobs.states import RunKind, ScheduleState
from jobs.window_rows import current_rules
from syncova_project.errors import ValidationFailedError


def refuse_broken_rpo(
    job: Job, plans: Sequence[calendar.Plan], *, now: dt.datetime, own: Sequence[windows.Rule] = ()
) -> None:
    """Raise ValidationFailedError, saying both figures and windows at fault, when the plans cannot keep the objective.

    `own` are rules of the job's level that are not saved yet: they hold for it beside those that are.
    """
    if job.rpo_seconds is None:
        return
    rules = rules_of(job, [*current_rules(), *(replace(rule, owner=str(job.id)) for rule in own)])

    def gap_of(some: Sequence[calendar.Plan], start: dt.datetime) -> dt.timedelta | None:
        return windows.widest_gap(some, rules, start)

    try:
        calendar.refuse_broken_rpo(plans, job.rpo_seconds, now, gap_of)
    except ValidationFailedError as error:
        if not (at_fault := _at_fault(job, plans, rules, now)):
            raise
        named = ", ".join(repr(rule.name) for rule in at_fault)
        message = f"{error.message} " + gettext("Without these windows it could: %(windows)s.") % {"windows": named}
        raise ValidationFailedError(message, details={"rpo_seconds": message}) from None


def _at_fault(
    job: Job, plans: Sequence[calendar.Plan], rules: Sequence[windows.Rule], now: dt.datetime
) -> Sequence[windows.Rule]:
    """Return the windows of which any one is in the way, else all where they are so together."""
    alone = [one for one in rules if _keeps(job, plans, [rule for rule in rules if rule is not one], now)]
    return alone or (rules if _keeps(job, plans, (), now) else ())


def broken_by(rules: Sequence[windows.Rule], *, changed: windows.Rule, now: dt.datetime) -> list[str]:
    """Return the names of the jobs whose objectives `rules` break and that would keep them without the changed window.

    A job that cannot keep its own anyway is not the window's fault. `rules` without it: what its deletion breaks.
    """
    beside = [rule for rule in rules if rule.name != changed.name]
    others = beside if len(beside) < len(rules) else [*beside, changed]
    broken = []
    for job in Job.objects.filter(deleted_at__isnull=True, rpo_seconds__isnull=False).order_by("name"):
        if not rules_of(job, [changed]):
            continue
        plans = plans_of(job)
        if not _keeps(job, plans, rules, now) and _keeps(job, plans, others, now):
            broken.append(job.name)
    return broken


def rules_of(job: Job, rules: Sequence[windows.Rule]) -> Sequence[windows.Rule]:
    """Return the windows that hold a job's backups."""
    return windows.applicable(rules, RunKind.BACKUP, repository=str(job.repository_id), job=str(job.id))


def _keeps(job: Job, plans: Sequence[calendar.Plan], rules: Sequence[windows.Rule], now: dt.datetime) -> bool:
    gap = windows.widest_gap(plans, rules_of(job, rules), now)
    return gap is not None and gap.total_seconds() <= (job.rpo_seconds or 0)


def plans_of(job: Job) -> list[calendar.Plan]:
    """Return the plans of the job's schedules that are planned, those that windows alone keep from it among them.

    One that cannot be planned is flagged by the next claim.
    """
    planned = Q(state=ScheduleState.ACTIVE) | Q(state=ScheduleState.FLAGGED, state_code=NO_FREE_INSTANT)
    plans = []
    for schedule in Schedule.objects.filter(planned, job=job, deleted_at__isnull=True).order_by("id"):
        try:
            plans.append(calendar.parse(schedule.definition, anchor=schedule.anchor))
        except calendar.ScheduleInvalidError:
            continue
    return plans

"""What a due schedule comes to: the instants that are claimed, the run or why there is none, and where it stands then.

Owns the judgement, pure but for its inputs: jobs.claims locks, reads and writes. Order: calendar, missed, windows.
"""

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass

from jobs import calendar, missed, windows
from jobs.models import Schedule
from jobs.planning import following_of
from jobs.states import DecisionOutcome, MissedPolicy, RunKind
from jobs.window_rows import subject_of


@dataclass(frozen=True, slots=True)
class Step:
    """One due schedule: its claimed instants, its next one, and the start of the run, None: `refusal` says why."""

    schedule: Schedule
    plan: calendar.Plan
    span: calendar.Span
    following: calendar.Occurrence | None
    starts_at: dt.datetime | None
    refusal: missed.Refusal | None = None
    # How a window shut the moment of the claim, "" when it did not.
    held: str = ""

    @property
    def is_stuck(self) -> bool:
        """Whether windows leave no instant within their reach: it is flagged, not tried in silence (B8)."""
        return self.refusal is not None and self.refusal[0] is DecisionOutcome.NO_FREE_INSTANT


def step_of(schedule: Schedule, rules: Sequence[windows.Rule], now: dt.datetime) -> Step:
    """Judge a schedule that is due at `now`; raises what is wrong with its row."""
    plan = calendar.parse(schedule.definition, anchor=schedule.anchor)
    planned = schedule.next_at or now
    # Later than what was planned and than now: no instant twice, no drift, whatever clock or calendar did.
    following = following_of(schedule, plan, max(planned, now))
    span = calendar.span(plan, planned, now)
    too_late = missed.refusal(MissedPolicy(schedule.missed), schedule.missed_within_seconds, now - span.newest)
    if too_late is not None:
        return Step(schedule, plan, span, following, None, too_late)
    # A window gates the start, and it is now that the run could start.
    answer = windows.next_free(job_rules(schedule, rules), max(now, span.newest))
    if answer.block is None:
        return Step(schedule, plan, span, following, span.newest)
    if answer.instant is None:
        nothing = (DecisionOutcome.NO_FREE_INSTANT, "no_free_instant")
        return Step(schedule, plan, span, following, None, nothing, subject_of(answer))
    return Step(schedule, plan, span, following, answer.instant, held=subject_of(answer))


def job_rules(schedule: Schedule, rules: Sequence[windows.Rule]) -> Sequence[windows.Rule]:
    """Return the windows that hold the backups of a schedule's job."""
    job = schedule.job
    return windows.applicable(rules, RunKind.BACKUP, repository=str(job.repository_id), job=str(job.id))

"""What a due schedule comes to: the instants that are claimed, the run or why there is none, and where it stands then.

Owns the judgement, pure but for its inputs: jobs.claims locks, reads and writes. Order: calendar, missed, windows.
Thousands are due at one instant by a few plans, so what a plan or a set of windows answers is asked once a batch.
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


class Judge:
    """Judges the schedules that are due at `now`, by the windows `rules`."""

    def __init__(self, rules: Sequence[windows.Rule], now: dt.datetime) -> None:
        self._rules = rules
        self._now = now
        self._spans: dict[tuple[calendar.Plan, dt.datetime], calendar.Span] = {}
        self._following: dict[tuple[calendar.Plan, dt.datetime, str, str], calendar.Occurrence | None] = {}
        self._free: dict[tuple[Sequence[windows.Rule], dt.datetime], windows.Answer] = {}

    def step_of(self, schedule: Schedule) -> Step:
        """Judge one schedule; raises what is wrong with its row."""
        plan = calendar.parse(schedule.definition, anchor=schedule.anchor)
        due_at = schedule.next_at or self._now
        # Later than what was planned and than now: no instant twice, no drift, whatever clock or calendar did.
        following = self._following_of(schedule, plan, max(due_at, self._now))
        span = self._span(plan, due_at)
        late = self._now - span.newest
        too_late = missed.refusal(MissedPolicy(schedule.missed), schedule.missed_within_seconds, late)
        if too_late is not None:
            return Step(schedule, plan, span, following, None, too_late)
        # A window gates the start, and it is now that the run could start.
        answer = self._next_free(schedule, max(self._now, span.newest))
        if answer.block is None:
            return Step(schedule, plan, span, following, span.newest)
        if answer.instant is None:
            nothing = (DecisionOutcome.NO_FREE_INSTANT, "no_free_instant")
            return Step(schedule, plan, span, following, None, nothing, subject_of(answer))
        return Step(schedule, plan, span, following, answer.instant, held=subject_of(answer))

    def _span(self, plan: calendar.Plan, due_at: dt.datetime) -> calendar.Span:
        key = (plan, due_at)
        if key not in self._spans:
            self._spans[key] = calendar.span(plan, due_at, self._now)
        return self._spans[key]

    def _following_of(
        self, schedule: Schedule, plan: calendar.Plan, instant: dt.datetime
    ) -> calendar.Occurrence | None:
        key = (plan, instant, schedule.next_wall, schedule.zone_rules)
        if key not in self._following:
            self._following[key] = following_of(schedule, plan, instant)
        return self._following[key]

    def _next_free(self, schedule: Schedule, instant: dt.datetime) -> windows.Answer:
        key = (job_rules(schedule, self._rules), instant)
        if key not in self._free:
            self._free[key] = windows.next_free(*key)
        return self._free[key]


def job_rules(schedule: Schedule, rules: Sequence[windows.Rule]) -> Sequence[windows.Rule]:
    """Return the windows that hold the backups of a schedule's job."""
    job = schedule.job
    return windows.applicable(rules, RunKind.BACKUP, repository=str(job.repository_id), job=str(job.id))

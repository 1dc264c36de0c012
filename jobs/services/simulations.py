"""The simulator on the rows of an installation: its jobs, windows, limits, and how long runs took (5.10).

Owns the reading and the guesses. Changes nothing.
"""

import datetime as dt
import uuid
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from django.db.models import F, Window
from django.db.models.functions import RowNumber

from jobs import calendar, simulation
from jobs.candidates import SourceLimit, source_limits
from jobs.models import Job, JobDependency, Run, Schedule
from jobs.occupancy import live_slots
from jobs.states import RunState, ScheduleState
from jobs.window_rows import current_rules

# The longest of the last ten: a night that fits only on average does not fit.
_RUNS: Final = 10


@dataclass(frozen=True, slots=True)
class Assumptions:
    """What a simulation takes for granted: how long a job takes that has never run, slots of each worker group (None:
    those of live workers, at least one), and jobs that do not exist yet.
    """

    unknown_duration: dt.timedelta = dt.timedelta(hours=1)
    slots: int | None = None
    added: Sequence[simulation.SimulatedJob] = ()


@dataclass(frozen=True, slots=True)
class Forecast:
    """A simulation, and the names of the jobs with runs in it whose durations are guesses."""

    simulation: simulation.Simulation
    guessed: Sequence[str]


def forecast(days: int, assumptions: Assumptions, *, now: dt.datetime) -> Forecast:
    """Play the next days of all jobs that are neither deleted nor paused."""
    known = _durations()
    kept = Job.objects.filter(deleted_at__isnull=True, paused_at__isnull=True).select_related("repository", "runner")
    rows = list(kept.order_by("name", "id"))
    sources, plans, waits_for = source_limits({job.id for job in rows}), _plans(), _waits_for()
    jobs = [
        replace(
            _simulated(job, plans, sources, known.get(job.id, assumptions.unknown_duration)),
            waits_for=tuple(waits_for.get(job.id, ())),
        )
        for job in rows
    ]
    jobs += assumptions.added
    live = live_slots(now)
    slots = {job.runner_id: assumptions.slots or max(1, live.get(job.runner_id, 0)) for job in jobs}
    played = simulation.simulate(jobs, current_rules(), slots, start=now, end=now + dt.timedelta(days=days))
    playing = {run.job.id for run in played.runs}
    return Forecast(played, [job.name for job in rows if job.id in playing and job.id not in known])


def _simulated(
    job: Job,
    plans: Mapping[uuid.UUID, Sequence[calendar.Plan]],
    sources: Mapping[uuid.UUID, Sequence[SourceLimit]],
    duration: dt.timedelta,
) -> simulation.SimulatedJob:
    repository = job.repository
    return simulation.SimulatedJob(
        id=job.id,
        name=job.name,
        plans=plans.get(job.id, ()),
        duration=duration,
        priority=job.priority,
        repository_id=repository.id,
        repository_name=repository.name,
        repository_limit=1 if repository.serial_gate else repository.max_concurrent_runs,
        runner_id=job.runner_id,
        group=job.runner.name,
        sources=tuple(sources.get(job.id, ())),
    )


def _waits_for() -> Mapping[uuid.UUID, Sequence[uuid.UUID]]:
    found: dict[uuid.UUID, list[uuid.UUID]] = defaultdict(list)
    for job_id, predecessor_id in JobDependency.objects.values_list("job_id", "predecessor_id"):
        found[job_id].append(predecessor_id)
    return found


def _durations() -> dict[uuid.UUID, dt.timedelta]:
    """Return the longest of each job's last runs that made a backup."""
    ended = Run.objects.filter(
        state__in=(RunState.SUCCEEDED, RunState.PARTIAL_FAILURE), job__isnull=False, started_at__isnull=False
    )
    newest = Window(RowNumber(), partition_by=[F("job_id")], order_by=[F("created_at").desc(), F("id").desc()])
    rows = ended.annotate(place=newest).filter(place__lte=_RUNS).values_list("job_id", "started_at", "finished_at")
    longest: dict[uuid.UUID, dt.timedelta] = {}
    for job_id, started_at, finished_at in rows:
        if job_id is not None and started_at is not None and finished_at is not None:
            longest[job_id] = max(longest.get(job_id, dt.timedelta(0)), finished_at - started_at)
    return longest


def _plans() -> Mapping[uuid.UUID, Sequence[calendar.Plan]]:
    plans: dict[uuid.UUID, list[calendar.Plan]] = defaultdict(list)
    for schedule in Schedule.objects.filter(deleted_at__isnull=True, state=ScheduleState.ACTIVE).order_by("id"):
        plan = _readable(schedule)
        if plan is not None:
            plans[schedule.job_id].append(plan)
    return plans


def _readable(schedule: Schedule) -> calendar.Plan | None:
    """Return the plan of a schedule, None for one that the next claim will flag: a simulation changes nothing."""
    try:
        return calendar.parse(schedule.definition, anchor=schedule.anchor)
    except calendar.ScheduleInvalidError:
        return None

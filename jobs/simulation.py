"""What nights will look like: due instants, windows, limits and durations played forward, by the rules that hold.

Owns the playing, pure: what is due comes from jobs.calendar, what is free from jobs.windows, and who may start from
jobs.admission.choose itself. Knows no retries, failures or freezes: it shows what was planned, not what goes wrong.
"""

import datetime as dt
import heapq
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from jobs import calendar, windows
from jobs.admission import choose
from jobs.candidates import RESERVE_AFTER, Candidate, Likeness, Place, SourceLimit
from jobs.gates import Held
from jobs.occupancy import Occupancy
from jobs.queue import order_key
from jobs.states import HeldCode, RunKind, Trigger

# So many starts are some seconds; what comes after them is left out, and the result says so.
MOST_RUNS: Final = 50_000


@dataclass(frozen=True, slots=True)
class SimulatedJob:
    """A job as far as it matters to others: when it is due, how long it takes, and what it occupies meanwhile."""

    id: uuid.UUID
    name: str
    plans: Sequence[calendar.Plan]
    duration: dt.timedelta
    priority: str
    repository_id: uuid.UUID
    repository_name: str
    repository_limit: int
    runner_id: uuid.UUID
    group: str
    sources: tuple[SourceLimit, ...] = ()
    # Jobs that it waits for (C4); here each run succeeds, so they only have to end first.
    waits_for: tuple[uuid.UUID, ...] = ()


@dataclass(frozen=True, slots=True)
class Wait:
    """What a run waited for, and how long."""

    held: Held
    length: dt.timedelta


@dataclass(slots=True)
class SimulatedRun:
    """One planned run; `starts_at` is None while it waits, at the end too if the days did not last for it."""

    number: int
    job: SimulatedJob
    planned: dt.datetime
    first_free: dt.datetime
    starts_at: dt.datetime | None = None
    ends_at: dt.datetime | None = None
    waits: list[Wait] = field(default_factory=list)
    merged: int = 0
    held: Held | None = None
    held_since: dt.datetime | None = None


@dataclass(frozen=True, slots=True)
class Misfit:
    """A run that does not fit its window: it runs on `over` after it has shut, or is `crowded_out` to a later one."""

    run: SimulatedRun
    over: dt.timedelta
    crowded_out: bool


@dataclass(frozen=True, slots=True)
class Simulation:
    """All runs in the order of their instants, those that do not fit, and instants that windows leave no start."""

    runs: Sequence[SimulatedRun]
    misfits: Sequence[Misfit]
    stuck: Sequence[tuple[SimulatedJob, dt.datetime]]
    is_cut: bool


@dataclass(slots=True)
class _Play:
    rules: Sequence[windows.Rule]
    slots: Mapping[uuid.UUID, int]
    end: dt.datetime
    events: list[tuple[dt.datetime, int, int]] = field(default_factory=list)
    due: list[calendar.Plan] = field(default_factory=list)
    runs: list[SimulatedRun] = field(default_factory=list)
    waiting: list[SimulatedRun] = field(default_factory=list)
    running: list[SimulatedRun] = field(default_factory=list)
    stuck: list[tuple[SimulatedJob, dt.datetime]] = field(default_factory=list)


# What an event asks for; ends come before dues, as a reaper comes before a claim.
_LOOK, _DUE = 0, 1


def simulate(
    jobs: Sequence[SimulatedJob],
    rules: Sequence[windows.Rule],
    slots: Mapping[uuid.UUID, int],
    *,
    start: dt.datetime,
    end: dt.datetime,
) -> Simulation:
    """Play the jobs from `start` to `end`; `slots` are those of each runner, all free at the beginning."""
    play = _Play(rules, slots, end)
    planned = [(job, plan) for job in jobs for plan in job.plans]
    for index, (_, plan) in enumerate(planned):
        _plan_next(play, plan, index, start)
    while play.events and len(play.runs) < MOST_RUNS:
        now = play.events[0][0]
        while play.events and play.events[0][0] == now:
            _, what, index = heapq.heappop(play.events)
            if what == _DUE:
                job, plan = planned[index]
                _claim(play, job, now)
                _plan_next(play, plan, index, now)
        _admit(play, now)
    misfits = [misfit for run in play.runs if (misfit := _misfit(run, _rules_of(play, run.job))) is not None]
    return Simulation(play.runs, misfits, play.stuck, is_cut=len(play.runs) >= MOST_RUNS)


def _plan_next(play: _Play, plan: calendar.Plan, index: int, after: dt.datetime) -> None:
    following = plan.next_after(after)
    if following is not None and following.instant <= play.end:
        heapq.heappush(play.events, (following.instant, _DUE, index))


def _claim(play: _Play, job: SimulatedJob, now: dt.datetime) -> None:
    _end_finished(play, now)
    active = next((run for run in (*play.waiting, *play.running) if run.job.id == job.id), None)
    if active is not None:
        active.merged += active.planned != now
        return
    answer = windows.next_free(_rules_of(play, job), now)
    if answer.instant is None:
        play.stuck.append((job, now))
        return
    run = SimulatedRun(len(play.runs), job, now, answer.instant)
    if answer.block is not None:
        run.held, run.held_since = Held(HeldCode.WINDOW, answer.block.name), now
        heapq.heappush(play.events, (answer.instant, _LOOK, 0))
    play.runs.append(run)
    play.waiting.append(run)


def _admit(play: _Play, now: dt.datetime) -> None:
    _end_finished(play, now)
    waiting = [run for run in play.waiting if run.first_free <= now]
    waiting.sort(key=lambda run: order_key(run.job.priority, run.first_free, uuid.UUID(int=run.number + 1), now))
    ready = {str(run.number): run for run in waiting}
    candidates = [
        Candidate(number, _likeness(run.job, _dependency(play, run)), now - run.first_free >= RESERVE_AFTER)
        for number, run in ready.items()
    ]
    passed, held = choose(candidates, _occupancy(play, now))
    for candidate in passed:
        _start(play, ready[candidate.run_id], now)
    for candidate, reason in held:
        _hold(play, ready[candidate.run_id], reason, now)


def _dependency(play: _Play, run: SimulatedRun) -> Held | None:
    """Return what is still to end of the jobs that a run waits for, as jobs.dependencies judges it."""
    if not run.job.waits_for:
        return None
    unfinished = [other for other in (*play.waiting, *play.running) if other.planned <= run.planned]
    names = [other.job.name for other in unfinished if other.job.id in run.job.waits_for]
    return Held(HeldCode.DEPENDENCY, min(names)) if names else None


def _start(play: _Play, run: SimulatedRun, now: dt.datetime) -> None:
    _note_wait(run, now)
    run.held, run.starts_at, run.ends_at = None, now, now + run.job.duration
    play.waiting.remove(run)
    play.running.append(run)
    heapq.heappush(play.events, (run.ends_at, _LOOK, 0))


def _hold(play: _Play, run: SimulatedRun, reason: Held, now: dt.datetime) -> None:
    """Write down a reason that changed, and look again when the window that it waits in or for has its next edge."""
    rules, edge = _rules_of(play, run.job), None
    if reason.code is HeldCode.WINDOW:
        again = windows.next_free(rules, now)
        reason, edge = Held(HeldCode.WINDOW, again.block.name if again.block else ""), again.instant
    if reason == run.held:
        return
    _note_wait(run, now)
    run.held, run.held_since = reason, now
    if reason.code is not HeldCode.WINDOW:
        shut = next(windows.shut_stretches(rules, now, now + windows.REACH), None)
        edge = shut.start if shut is not None else None
    if edge is not None:
        heapq.heappush(play.events, (edge, _LOOK, 0))


def _note_wait(run: SimulatedRun, now: dt.datetime) -> None:
    if run.held is not None and run.held_since is not None and now > run.held_since:
        run.waits.append(Wait(run.held, now - run.held_since))


def _end_finished(play: _Play, now: dt.datetime) -> None:
    play.running = [run for run in play.running if run.ends_at is not None and run.ends_at > now]


def _occupancy(play: _Play, now: dt.datetime) -> Occupancy:
    occupancy = Occupancy(slots=dict(play.slots), rules=play.rules, now=now)
    for run in play.running:
        _likeness(run.job).occupy(occupancy)
    return occupancy


def _likeness(job: SimulatedJob, dependency: Held | None = None) -> Likeness:
    return Likeness(
        kind=RunKind.BACKUP,
        trigger=Trigger.SCHEDULE,
        repository=Place(job.repository_id, job.repository_name, job.repository_limit),
        runner_id=job.runner_id,
        group=job.group,
        job_id=str(job.id),
        sources=job.sources,
        dependency=dependency,
    )


def _rules_of(play: _Play, job: SimulatedJob) -> Sequence[windows.Rule]:
    return windows.applicable(play.rules, RunKind.BACKUP, repository=str(job.repository_id), job=str(job.id))


def _misfit(run: SimulatedRun, rules: Sequence[windows.Rule]) -> Misfit | None:
    """Return how a run misses its window, None where it fits or has none."""
    if not rules or run.starts_at is None or run.ends_at is None:
        return None
    shut = next(windows.shut_stretches(rules, run.starts_at, run.ends_at), None)
    over = run.ends_at - shut.start if shut is not None else dt.timedelta(0)
    crowded_out = next(windows.shut_stretches(rules, run.first_free, run.starts_at), None) is not None
    return Misfit(run, over, crowded_out) if over or crowded_out else None

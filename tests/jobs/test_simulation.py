"""The simulator: nights that do not fit, runs that wait and for what, from known durations and limits (5.10)."""

import datetime as dt
import uuid
from typing import Any

import pytest

from jobs import calendar, windows
from jobs.candidates import SourceLimit
from jobs.simulation import SimulatedJob, Simulation, simulate
from tests.jobs.builders import NOW

HOUR, DAY = dt.timedelta(hours=1), dt.timedelta(days=1)
RUNNER, VAULT = uuid.UUID(int=1), uuid.UUID(int=2)
MIDNIGHT = NOW.replace(hour=0)
NIGHT = {"type": "allowed", "start": "22:00", "length_seconds": 8 * 3600, "name": "night"}


def job(number: int, hours: float, time: str = "22:00", **fields: Any) -> SimulatedJob:
    plans = fields.pop("plans", None) or [calendar.parse({"type": "daily", "time": time}, anchor=NOW)]
    values: dict[str, Any] = {
        "id": uuid.UUID(int=100 + number),
        "name": f"job {number}",
        "plans": plans,
        "duration": hours * HOUR,
        "priority": "normal",
        "repository_id": VAULT,
        "repository_name": "vault",
        "repository_limit": 1,
        "runner_id": RUNNER,
        "group": "default",
    }
    return SimulatedJob(**(values | fields))


def play(*jobs: SimulatedJob, rules: list[dict[str, Any]] | None = None, slots: int = 4, days: int = 1) -> Simulation:
    parsed = [windows.parse(one) for one in rules or []]
    return simulate(jobs, parsed, {RUNNER: slots}, start=MIDNIGHT, end=MIDNIGHT + days * DAY)


def starts(played: Simulation) -> list[tuple[str, float | None]]:
    """Return each run's job and its start in hours since midnight."""
    return [(run.job.name, (run.starts_at - MIDNIGHT) / HOUR if run.starts_at else None) for run in played.runs]


def waits(played: Simulation) -> list[list[tuple[str, str, float]]]:
    return [[(each.held.code, each.held.subject, each.length / HOUR) for each in run.waits] for run in played.runs]


def test_one_job_runs_when_it_is_due() -> None:
    played = play(job(1, 2), days=3)
    assert starts(played) == [("job 1", 22), ("job 1", 46), ("job 1", 70)]
    assert (played.misfits, played.stuck, played.is_cut, waits(played)) == ([], [], False, [[], [], []])


def test_runs_wait_for_their_repository_one_after_the_other() -> None:
    """By the admission's own order: priority first."""
    played = play(job(1, 2), job(2, 3), job(3, 1, priority="critical"))
    assert starts(played) == [("job 1", 23), ("job 2", 25), ("job 3", 22)]
    assert waits(played) == [[("repository_limit", "vault", 1)], [("repository_limit", "vault", 3)], []]


def test_the_night_that_does_not_fit_is_named() -> None:
    """Three jobs of three hours in a night of eight: the last runs on by an hour."""
    played = play(job(1, 3), job(2, 3), job(3, 3), rules=[NIGHT])
    misfit = played.misfits[0]
    assert [(one.run.job.name, one.over, one.crowded_out) for one in played.misfits] == [("job 3", HOUR, False)]
    assert misfit.run.starts_at == MIDNIGHT + 28 * HOUR
    assert play(job(1, 2), job(2, 3), job(3, 3), rules=[NIGHT]).misfits == []


def test_a_run_that_finds_no_room_in_its_night_is_crowded_out_to_the_next() -> None:
    played = play(job(1, 9), job(2, 1), rules=[NIGHT])
    assert starts(played) == [("job 1", 22), ("job 2", 46)]
    assert [(one.run.job.name, one.over, one.crowded_out) for one in played.misfits] == [
        ("job 1", HOUR, False),
        ("job 2", dt.timedelta(0), True),
    ]
    assert waits(played)[1] == [("repository_limit", "vault", 8), ("window", "night", 16)]


def test_slots_sources_and_other_repositories() -> None:
    """Two slots, of which one is kept for restores; a source that two repositories share."""
    other: dict[str, Any] = {"repository_id": uuid.UUID(int=3), "repository_name": "attic"}
    played = play(job(1, 2), job(2, 2, **other), slots=2)
    assert waits(played)[1] == [("restore_slot", "default", 2)]
    home = (SourceLimit(uuid.UUID(int=9), "/home", 1),)
    played = play(job(1, 2, sources=home), job(2, 2, sources=home, **other))
    assert waits(played)[1] == [("source_limit", "/home", 2)]
    assert waits(play(job(1, 2), job(2, 2, **other))) == [[], []]


def test_a_run_waits_for_the_end_of_what_its_job_waits_for() -> None:
    """C4: of the same night, not of one that is planned later."""
    other: dict[str, Any] = {"repository_id": uuid.UUID(int=3), "repository_name": "attic"}
    first = job(1, 2)
    after, before = job(2, 1, waits_for=(first.id,), **other), job(3, 1, "21:00", waits_for=(first.id,), **other)
    played = play(first, after, before)
    assert sorted(starts(played)) == [("job 1", 22), ("job 2", 24), ("job 3", 21)]
    assert [each for each in waits(played) if each] == [[("dependency", "job 1", 2)]]


def test_a_job_that_takes_longer_than_its_distance_merges_instants() -> None:
    hourly = [calendar.parse({"type": "interval", "every_seconds": 3600}, anchor=MIDNIGHT)]
    played = play(job(1, 2.5, plans=hourly))
    assert starts(played)[:3] == [("job 1", 1), ("job 1", 4), ("job 1", 7)]
    assert [run.merged for run in played.runs][:2] == [2, 2]


def test_a_blackout_postpones_and_a_shut_month_is_told() -> None:
    played = play(job(1, 1), rules=[{"type": "blackout", "start": "21:00", "length_seconds": 7200, "name": "tea"}])
    assert (starts(played), waits(played)) == ([("job 1", 23)], [[("window", "tea", 1)]])
    shut = play(job(1, 1), rules=[{"type": "blackout", "start": "00:00", "length_seconds": 86400}])
    assert [(one.name, at) for one, at in shut.stuck] == [("job 1", MIDNIGHT + 22 * HOUR)]
    assert shut.runs == []


@pytest.mark.parametrize("limit", [1, 2, 3])
def test_no_limit_is_ever_exceeded(limit: int) -> None:
    """At any moment: no more runs of a repository than its limit, and each planned instant accounted for."""
    jobs = [job(number, 0.5 + number % 4, f"{number % 24:02}:00", repository_limit=limit) for number in range(30)]
    played = play(*jobs, slots=40, days=4)
    spans = [(run.starts_at, run.ends_at) for run in played.runs if run.starts_at and run.ends_at]
    for begin, _ in spans:
        assert sum(1 for start, end in spans if start <= begin < end) <= limit
    assert len(played.runs) + sum(run.merged for run in played.runs) == 30 * 4

"""The metronome asks for a pass when something falls due, once, and makes passes where nobody else does (6.12)."""

import datetime as dt
from typing import Any

import pytest

from jobs.database_time import database_now
from jobs.models import Run, SchedulerState
from jobs.pass_guard import pass_wanted
from jobs.tick import run_pass
from tests.jobs.builders import make_schedule
from tests.jobs.test_doorbell import wishes
from workers.metronome import LEAST_SECONDS, Metronome

pytestmark = pytest.mark.django_db

TICK = 10.0


def ago(seconds: float) -> dt.datetime:
    return database_now() - dt.timedelta(seconds=seconds)


def passed(at: dt.datetime) -> None:
    SchedulerState.objects.update_or_create(id=1, defaults={"last_pass_at": at, "requests_seen": wishes()})


def look(metronome: Metronome, capture: Any) -> float:
    with capture(execute=True):
        return metronome.look()


def test_it_sleeps_until_the_next_instant_and_no_longer_than_a_tick(django_capture_on_commit_callbacks: Any) -> None:
    passed(database_now())
    metronome = Metronome(TICK)
    assert look(metronome, django_capture_on_commit_callbacks) == TICK
    make_schedule(next_at=ago(-3600))
    assert look(metronome, django_capture_on_commit_callbacks) == TICK
    make_schedule(next_at=ago(-4))
    assert 0 < look(metronome, django_capture_on_commit_callbacks) <= 4.1
    assert not pass_wanted()


def test_it_asks_once_for_what_is_due_and_the_pass_starts_it(django_capture_on_commit_callbacks: Any) -> None:
    """Between two ticks: a pass that began a moment ago would else refuse the next tick as well."""
    passed(ago(2))
    schedule = make_schedule(next_at=ago(1))
    metronome, before = Metronome(TICK), wishes()
    assert look(metronome, django_capture_on_commit_callbacks) == LEAST_SECONDS
    assert pass_wanted()
    assert look(metronome, django_capture_on_commit_callbacks) == TICK
    assert wishes() == before + 1, "a worker that answers late was asked twice"
    assert run_pass().queued == 1
    assert Run.objects.get().schedule_id == schedule.id


def test_it_makes_a_pass_itself_when_nobody_else_does(django_capture_on_commit_callbacks: Any) -> None:
    passed(ago(3 * TICK + 1))
    make_schedule(next_at=ago(1))
    assert look(Metronome(TICK), django_capture_on_commit_callbacks) == TICK
    assert Run.objects.count() == 1
    SchedulerState.objects.all().delete()
    assert look(Metronome(TICK), django_capture_on_commit_callbacks) == TICK
    assert SchedulerState.objects.count() == 1

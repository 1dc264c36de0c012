"""New zone rules reach stored instants: moved with an event, none lost, none twice, bad rows apart (5.5, 5.6).

Rows stand as an older tzdata left them: an instant an hour off, the wall time that it was for, another fingerprint.
"""

import datetime as dt
from typing import Any

import pytest
from django.core.management import call_command

from jobs import zone_rules
from jobs.calendar import TZDATA_VERSION, fingerprint, parse
from jobs.claims import Claimed, claim_due
from jobs.models import Run, Schedule, ScheduleEvent, SchedulerState
from jobs.tick import run_pass
from jobs.zone_rules import adopt_zone_rules
from tests.jobs.builders import NOW, make_schedule

pytestmark = pytest.mark.django_db

HOUR, DAY = dt.timedelta(hours=1), dt.timedelta(days=1)
# NOW is 03:00 in Berlin.
BERLIN = {"type": "daily", "time": "04:00", "time_zone": "Europe/Berlin"}
COMES_AT = NOW + HOUR


@pytest.fixture(autouse=True)
def older_rules() -> None:
    SchedulerState.objects.create(tzdata_version="2020.1")


def stored(definition: dict[str, Any] = BERLIN, **fields: Any) -> Schedule:
    values: dict[str, Any] = {"next_at": COMES_AT + HOUR, "next_wall": "2026-11-30T04:00", "fingerprint": "older"}
    return make_schedule(definition=definition, **(values | fields))


def again(schedule: Schedule) -> Schedule:
    schedule.refresh_from_db()
    return schedule


def test_an_instant_moves_with_its_rules_and_says_so() -> None:
    """5.5."""
    schedule = stored()
    assert adopt_zone_rules(now=NOW) == 1
    assert (again(schedule).next_at, schedule.next_wall) == (COMES_AT, "2026-11-30T04:00")
    assert schedule.fingerprint == fingerprint(parse(BERLIN, anchor=schedule.anchor), anchor=schedule.anchor)
    event = ScheduleEvent.objects.get(schedule=schedule, code="recomputed")
    assert event.parameters == {
        "zone_rules": TZDATA_VERSION,
        "before": "2026-11-30T04:00:00+00:00",
        "after": "2026-11-30T03:00:00+00:00",
    }
    assert SchedulerState.objects.get().tzdata_version == TZDATA_VERSION
    Schedule.objects.update(next_at=COMES_AT + HOUR)
    assert adopt_zone_rules(now=NOW) == 0
    assert again(schedule).next_at == COMES_AT + HOUR


def test_a_wall_time_that_has_passed_by_the_new_rules_runs_at_once() -> None:
    """Nothing is lost: at 04:30 the old rules had the 04:00 run still before them."""
    schedule, now = stored(), COMES_AT + HOUR / 2
    assert run_pass(now=now).queued == 1
    assert Run.objects.get().scheduled_for == COMES_AT
    assert (again(schedule).next_at, schedule.next_wall) == (COMES_AT + DAY, "2026-12-01T04:00")


def test_a_wall_time_that_was_claimed_by_the_old_rules_does_not_come_again() -> None:
    """Nothing twice: the old rules had 04:00 at what is 03:00 now, and it is claimed as it was promised."""
    schedule = stored(next_at=NOW)
    assert run_pass(now=NOW).queued == 1
    assert Run.objects.get().scheduled_for == NOW
    assert (again(schedule).next_at, schedule.next_wall) == (COMES_AT + DAY, "2026-12-01T04:00")
    assert claim_due(now=COMES_AT + HOUR) == Claimed()


def test_real_time_goes_on_from_now() -> None:
    schedule = stored({"type": "hourly", "minute": 30}, next_wall="", next_at=NOW + HOUR)
    assert adopt_zone_rules(now=NOW) == 1
    assert again(schedule).next_at == NOW + HOUR / 2


def test_what_the_rules_do_not_move_has_no_event() -> None:
    right = stored(next_at=COMES_AT)
    due = stored(next_at=NOW)
    interval = stored({"type": "interval", "every_seconds": 7200}, next_wall="", next_at=NOW + HOUR)
    assert adopt_zone_rules(now=NOW) == 0
    assert not ScheduleEvent.objects.exists()
    assert again(right).fingerprint != "older"
    assert (again(due).next_at, again(interval).next_at) == (NOW, NOW + HOUR)


@pytest.mark.parametrize(
    "definition",
    [
        {"type": "daily", "time": "04:00", "time_zone": "Europe/Atlantis"},
        {"type": "cron", "expression": "0 0 30 2 *", "time_zone": "Europe/Berlin"},
        {"type": "weekly", "days": 7, "time": "04:00"},
        [],
    ],
)
def test_a_row_that_cannot_be_planned_is_flagged_and_stops_no_other(
    definition: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """5.6; batches go on behind it."""
    monkeypatch.setattr(zone_rules, "BATCH", 2)
    schedules = [stored() for _ in range(5)]
    Schedule.objects.filter(id=schedules[2].id).update(definition=definition)
    assert adopt_zone_rules(now=NOW) == 4
    assert [again(each).state for each in schedules] == ["active", "active", "flagged", "active", "active"]
    assert again(schedules[4]).next_at == COMES_AT
    assert ScheduleEvent.objects.filter(schedule=schedules[2], code="flagged").exists()


@pytest.mark.parametrize(
    ("known", "version", "moved"),
    [
        ("", "2026.6", 1),
        ("2026.9", "2026.10", 1),
        ("2026.10", "2026.9", 0),
        ("2027.1", "2026.12", 0),
        ("2026.6", "2026.6", 0),
    ],
)
def test_only_newer_rules_are_adopted(known: str, version: str, moved: int) -> None:
    """Two hosts in the middle of an update do not argue."""
    SchedulerState.objects.update(tzdata_version=known)
    stored()
    assert adopt_zone_rules(now=NOW, version=version) == moved
    assert SchedulerState.objects.get().tzdata_version == (version if moved else known)


def test_the_columns_are_what_the_models_say() -> None:
    call_command("makemigrations", "--check", "--dry-run", verbosity=0)

"""New zone rules reach stored instants: moved with an event, none lost, none twice, bad rows apart (5.5, 5.6).

Rows stand as an older tzdata left them: an instant an hour off, the wall time that it was for, other rules of the zone.
"""

import datetime as dt
from collections.abc import Callable
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext

from jobs import zone_rules
from jobs.calendar import TZDATA_VERSION, fingerprint, parse, zone_rules_of
from jobs.claims import Claimed, claim_due
from jobs.models import Run, Schedule, ScheduleDecision, ScheduleEvent, SchedulerState
from jobs.sentences import decision_sentence
from jobs.services import WindowInput, window_create
from jobs.tick import run_pass
from jobs.zone_rules import adopt_zone_rules
from tests.jobs.builders import NOW, make_run, make_schedule

pytestmark = pytest.mark.django_db

HOUR, DAY = dt.timedelta(hours=1), dt.timedelta(days=1)
# NOW is 03:00 in Berlin.
BERLIN = {"type": "daily", "time": "04:00", "time_zone": "Europe/Berlin"}
COMES_AT = NOW + HOUR
OLDER = "Europe/Berlin 0123456789abcdef"


@pytest.fixture(autouse=True)
def older_rules() -> None:
    SchedulerState.objects.create(tzdata_version="2020.1")


def stored(definition: dict[str, Any] = BERLIN, **fields: Any) -> Schedule:
    values: dict[str, Any] = {"next_at": COMES_AT + HOUR, "next_wall": "2026-11-30T04:00", "zone_rules": OLDER}
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
    hourly = {"type": "hourly", "minute": 30, "time_zone": "Europe/Berlin"}
    schedule = stored(hourly, next_wall="", next_at=NOW + HOUR)
    assert adopt_zone_rules(now=NOW) == 1
    assert again(schedule).next_at == NOW + HOUR / 2


def test_what_the_rules_do_not_move_has_no_event() -> None:
    right = stored(next_at=COMES_AT)
    due = stored(next_at=NOW)
    every = {"type": "interval", "every_seconds": 7200}
    interval = stored(every, next_wall="", next_at=NOW + HOUR, zone_rules="")
    assert adopt_zone_rules(now=NOW) == 0
    assert not ScheduleEvent.objects.exists()
    assert again(right).zone_rules == zone_rules_of(BERLIN)
    assert (again(due).next_at, again(interval).next_at) == (NOW, NOW + HOUR)
    assert again(interval).zone_rules == "-"


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
    monkeypatch.setattr(zone_rules, "BATCHES_A_PASS", 3)
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
        # What a host with older rules has written since is mended.
        ("2026.6", "2026.6", 1),
    ],
)
def test_only_newer_rules_are_adopted(known: str, version: str, moved: int) -> None:
    """Two hosts in the middle of an update do not argue."""
    SchedulerState.objects.update(tzdata_version=known)
    stored()
    assert adopt_zone_rules(now=NOW, version=version) == moved
    assert SchedulerState.objects.get().tzdata_version == (version if moved else known)


def queries_of(work: Callable[[], object]) -> list[str]:
    with CaptureQueriesContext(connection) as queries:
        work()
    return [query["sql"] for query in queries]


def test_an_installation_sweeps_nothing_that_follows_the_rules_of_today() -> None:
    """However many schedules are stored: the first pass asks which rules they follow, by the index, and reads none."""
    SchedulerState.objects.update(tzdata_version="")
    schedules = [stored(next_at=COMES_AT, zone_rules=zone_rules_of(BERLIN)) for _ in range(3)]
    asked = queries_of(lambda: adopt_zone_rules(now=NOW))
    assert SchedulerState.objects.get().tzdata_version == TZDATA_VERSION
    assert not any("definition" in one or 'UPDATE "schedules"' in one for one in asked)
    assert {again(one).next_at for one in schedules} == {COMES_AT}
    job = schedules[0].job
    for number in range(300):
        make_schedule(job, zone_rules=f"Zone/{number % 30} 0123456789abcdef")
    with connection.cursor() as cursor:
        # What the database believes of small tables hangs on when it last looked at them.
        cursor.execute("ANALYZE schedules")
        cursor.execute("SET LOCAL enable_seqscan = off")
        cursor.execute(f"EXPLAIN {zone_rules._IN_USE}")
        assert "schedules_by_zone_rules" in str(cursor.fetchall())


def test_only_zones_whose_rules_changed_are_computed_anew() -> None:
    """5.5: a newer version of the zone data differs in a handful of zones."""
    london = {"type": "daily", "time": "04:00", "time_zone": "Europe/London"}
    moved, kept = stored(), stored(london, zone_rules=zone_rules_of(london))
    assert adopt_zone_rules(now=NOW) == 1
    assert (again(moved).next_at, again(kept).next_at) == (COMES_AT, COMES_AT + HOUR)


def test_a_pass_moves_some_batches_and_those_due_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """It never waits for all of 100,000; the next passes go on."""
    monkeypatch.setattr(zone_rules, "BATCH", 1)
    later = {"next_at": COMES_AT + 3 * HOUR, "next_wall": "2026-11-30T06:00"}
    schedules = [stored(BERLIN | {"time": "06:00"}, **later), stored(), stored(BERLIN | {"time": "06:00"}, **later)]
    assert run_pass(now=NOW).began
    assert again(schedules[1]).next_at == COMES_AT
    assert Schedule.objects.filter(zone_rules=OLDER).count() == 1
    run_pass(now=NOW + dt.timedelta(seconds=10))
    assert not Schedule.objects.filter(zone_rules=OLDER).exists()


def test_what_somebody_else_holds_is_left_to_the_next_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    """A claim or a change that is going on is never waited for."""
    asked = queries_of(lambda: (stored(), adopt_zone_rules(now=NOW)))
    locking = [one for one in asked if '"jobs"' in one and "FOR NO KEY UPDATE" in one]
    assert locking
    assert all("SKIP LOCKED" in one for one in locking)


def flagged(**fields: Any) -> Schedule:
    """Return a schedule whose zone this host's data knows, and that of the host which flagged it did not."""
    told = {"error": "ScheduleInvalidError", "message": "time_zone: 'Europe/Berlin' is not the name of a time zone."}
    values: dict[str, Any] = {"state": "flagged", "state_code": "unplannable", "state_parameters": told}
    return stored(**(values | {"next_at": NOW - 2 * DAY, "zone_rules": "Europe/Berlin"} | fields))


def test_a_zone_that_is_known_now_is_planned_again_with_an_event() -> None:
    """5.6; what passed meanwhile is told."""
    schedule = flagged()
    assert run_pass(now=NOW).queued == 0
    assert (again(schedule).state, schedule.state_code, schedule.state_parameters) == ("active", "", {})
    assert (schedule.next_at, schedule.next_wall) == (COMES_AT, "2026-11-30T04:00")
    event = ScheduleEvent.objects.get(schedule=schedule, code="unflagged")
    assert event.parameters == {"after": "unplannable", "zone_rules": TZDATA_VERSION}
    decision = ScheduleDecision.objects.get(schedule=schedule)
    assert (decision.outcome, decision.reason_code, decision.count) == ("skipped", "unknown_zone", 3)
    assert "did not know the schedule's time zone" in decision_sentence(decision)
    assert run_pass(now=COMES_AT).queued == 1


def test_what_is_still_not_to_be_planned_stays_flagged_and_is_looked_at_once() -> None:
    unknown = flagged(definition=BERLIN | {"time_zone": "Europe/Atlantis"}, zone_rules="")
    refused = flagged(state_parameters={"error": "IntegrityError", "message": "refused"})
    assert adopt_zone_rules(now=NOW) == 0
    assert (again(unknown).state, unknown.zone_rules) == ("flagged", "Europe/Atlantis")
    assert again(refused).state == "flagged"
    assert not ScheduleEvent.objects.exists()


def test_a_claim_that_meets_an_unknown_zone_leaves_what_revives_it() -> None:
    """The name of the zone stands where newer zone data is looked for."""
    schedule = stored(next_at=NOW, zone_rules="")
    Schedule.objects.filter(id=schedule.id).update(definition=BERLIN | {"time_zone": "Europe/Atlantis"})
    assert claim_due(now=NOW) == Claimed(flagged=1)
    assert again(schedule).zone_rules == "Europe/Atlantis"
    assert zone_rules.stale_rules() == []


def test_windows_hold_until_what_the_new_rules_say() -> None:
    """A run that a window postponed waits for the window's wall time, not for the instant that it had."""
    night = {"type": "blackout", "start": "02:00", "length_seconds": 2 * 3600, "time_zone": "Europe/Berlin"}
    window_create(WindowInput("night", night), actor="alice", now=NOW)
    run = make_run(held_code="window", held_subject="older", held_since=NOW, not_before=NOW + 5 * HOUR)
    adopt_zone_rules(now=NOW)
    run.refresh_from_db()
    assert run.not_before == COMES_AT


def test_the_columns_are_what_the_models_say() -> None:
    call_command("makemigrations", "--check", "--dry-run", verbosity=0)

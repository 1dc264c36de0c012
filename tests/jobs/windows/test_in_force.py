"""Windows on real rows: claims postpone, admission holds, changes reach what waits (B7-B9, C3, H7)."""

import datetime as dt
from typing import Any

import pytest

from jobs.admission import Admitted, admit_waiting
from jobs.claims import Claimed, claim_due
from jobs.models import Run, Schedule, ScheduleDecision, ScheduleEvent, Window
from jobs.sentences import decision_sentence, flag_sentence, held_sentence, postponed_sentence
from jobs.services import WindowInput, run_request, window_change, window_delete
from syncova_project.access.models import AuditEntry
from tests.jobs.builders import NOW, make_job, make_run, make_schedule, make_worker
from tests.jobs.windows.builders import DAWN, NIGHT, make_window
from tests.repositories.builders import make_repository

pytestmark = pytest.mark.django_db

DAY, HOUR = dt.timedelta(days=1), dt.timedelta(hours=1)
ALWAYS = {"type": "blackout", "start": "00:00", "length_seconds": 86400}


def again(row: Any) -> Any:
    row.refresh_from_db()
    return row


def test_a_claim_inside_a_blackout_is_postponed_with_its_reason_and_decision() -> None:
    """B7: to the first free instant, not dropped; C3, H7: run and row say why."""
    make_window()
    schedule = make_schedule()
    assert claim_due(now=NOW) == Claimed(queued=1)
    run = Run.objects.get()
    assert (run.scheduled_for, run.not_before, run.held_code) == (NOW, DAWN, "window")
    sentence = "Waits until 2026-11-30 06:00:00 UTC: the blackout quiet holds it."
    assert held_sentence(run) == postponed_sentence(run) == sentence
    decision = ScheduleDecision.objects.get()
    assert (decision.outcome, decision.reason_code, decision.run_id, decision.count) == (
        "postponed",
        "window",
        run.id,
        1,
    )
    assert decision_sentence(decision) == "1 planned run postponed to 2026-11-30 06:00:00 UTC by the window quiet."
    # A14: the grid does not move.
    assert again(schedule).next_at == NOW + DAY


def test_a_postponed_run_starts_at_its_instant_and_not_before() -> None:
    make_worker(last_seen=DAWN)
    make_window()
    make_schedule()
    claim_due(now=NOW)
    assert admit_waiting(now=DAWN - dt.timedelta(seconds=1)) == Admitted()
    assert admit_waiting(now=DAWN) == Admitted(admitted=1)
    assert (again(Run.objects.get()).held_code, Run.objects.get().held_since) == ("", None)


def test_instants_that_pass_meanwhile_merge_into_the_postponed_run() -> None:
    """H7: nothing lost, nothing twice; each has its row."""
    make_window()
    make_schedule(definition={"type": "interval", "every_seconds": 3600}, anchor=NOW - DAY)
    for hours in range(4):
        claim_due(now=NOW + hours * HOUR)
    assert Run.objects.count() == 1
    told = list(ScheduleDecision.objects.order_by("id").values_list("outcome", "first_at", "last_at", "count"))
    assert told == [("postponed", NOW, NOW, 1), ("coalesced", NOW + HOUR, NOW + 3 * HOUR, 3)]


def test_missed_instants_and_a_window_are_two_decisions_of_one_run() -> None:
    make_window()
    make_schedule()
    claim_due(now=NOW + 3 * DAY)
    told = ScheduleDecision.objects.order_by("id").values_list("outcome", "count", "last_at")
    assert list(told) == [("skipped", 3, NOW + 2 * DAY), ("postponed", 1, NOW + 3 * DAY)]
    assert Run.objects.get().not_before == DAWN + 3 * DAY


def test_a_run_that_waited_into_a_blackout_is_held_at_admission() -> None:
    """Windows gate the start: what was free at the claim may be shut when a slot is."""
    make_worker()
    make_window()
    run = make_run()
    assert admit_waiting(now=NOW) == Admitted(held=1)
    assert (again(run).held_code, run.held_subject) == ("window", "blackout 2026-11-30T06:00:00Z quiet")
    # The same reason is not written again at each pass.
    since = run.held_since
    assert admit_waiting(now=NOW + HOUR) == Admitted(held=1)
    assert again(run).held_since == since


@pytest.mark.parametrize(("kind", "held"), [("restore", 0), ("check", 0), ("prune", 1), ("forget", 0)])
def test_a_window_holds_its_kinds_alone(kind: str, held: int) -> None:
    """B7: backup and prune by default; a restore never waits for one."""
    make_worker()
    make_window()
    make_run(kind=kind)
    assert admit_waiting(now=NOW) == Admitted(admitted=1 - held, held=held)


def test_a_listed_check_waits() -> None:
    make_worker()
    make_window(NIGHT | {"kinds": ["check"]})
    make_run(kind="check")
    make_run()
    assert admit_waiting(now=NOW) == Admitted(admitted=1, held=1)


def test_who_may_ignores_windows() -> None:
    """execution.md, section 2: by right, audited; its retries may as well."""
    make_worker()
    make_window()
    job = make_job()
    run = run_request(job_id=job.id, actor="alice", now=NOW, ignore_windows=True)
    assert AuditEntry.objects.get(action="run.request").details == {"job": str(job.id), "ignore_windows": True}
    assert run.events.get().parameters == {"trigger": "manual", "ignore_windows": True}
    assert admit_waiting(now=NOW) == Admitted(admitted=1)


def test_an_allowed_window_of_one_job_or_repository_locks_no_other() -> None:
    """B8."""
    make_worker()
    other = make_repository()
    first, second = make_job(), make_job(repository=other)
    evening = {"type": "allowed", "start": "20:00", "length_seconds": 3600}
    make_window(evening, name="of job", job_id=first.id)
    make_window(evening, name="of repository", repository_id=first.repository_id)
    runs = [make_run(first), make_run(second)]
    assert admit_waiting(now=NOW) == Admitted(admitted=1, held=1)
    assert [again(run).held_code for run in runs] == ["window", ""]
    sentence = "Waits until 2026-11-30 20:00:00 UTC: it may start only within windows such as of job."
    assert held_sentence(runs[0]) in (sentence, sentence.replace("of job", "of repository"))


def test_no_free_instant_is_a_flag_and_a_decision_not_silence() -> None:
    """B8: none within 31 days; the schedule is not tried at every tick, and others go on."""
    job = make_job()
    make_window(ALWAYS, job_id=job.id, name="never")
    stuck, healthy = make_schedule(job), make_schedule()
    assert claim_due(now=NOW) == Claimed(queued=1, refused=1)
    assert Run.objects.get().schedule_id == healthy.id
    assert (again(stuck).state, stuck.state_code, stuck.next_at) == ("flagged", "no_free_instant", NOW + DAY)
    assert flag_sentence(stuck) == "Waits: windows such as never leave no free instant within 31 days."
    decision = ScheduleDecision.objects.get()
    assert (decision.schedule_id, decision.outcome, decision.count) == (stuck.id, "no_free_instant", 1)
    assert "no free instant" in decision_sentence(decision)
    assert claim_due(now=NOW + HOUR) == Claimed()


def test_a_stuck_schedule_is_planned_again_when_its_windows_go() -> None:
    """5.7: with a decision over what passed meanwhile."""
    window = make_window(ALWAYS)
    schedule = make_schedule()
    claim_due(now=NOW)
    window_delete(window.id, actor="alice", now=NOW + 3 * DAY + HOUR)
    assert (again(schedule).state, schedule.state_code, schedule.next_at) == ("active", "", NOW + 4 * DAY)
    meanwhile = ScheduleDecision.objects.order_by("-id").first()
    assert meanwhile is not None
    assert (meanwhile.first_at, meanwhile.last_at, meanwhile.count) == (NOW + DAY, NOW + 3 * DAY, 3)
    assert list(ScheduleEvent.objects.order_by("id").values_list("code", flat=True)) == ["flagged", "unflagged"]
    assert claim_due(now=NOW + 4 * DAY) == Claimed(queued=1)


def test_a_change_of_windows_reaches_what_waits(django_capture_on_commit_callbacks: Any) -> None:
    """execution.md, section 4: `not_before` is computed anew, and the scheduler looks at once."""
    window = make_window()
    make_schedule()
    claim_due(now=NOW)
    run = Run.objects.get()
    later = WindowInput("quiet", NIGHT | {"length_seconds": 8 * 3600})
    window_change(window.id, later, actor="bob", now=NOW + HOUR)
    assert (again(run).not_before, run.held_subject) == (NOW.replace(hour=9), "blackout 2026-11-30T09:00:00Z quiet")
    window_delete(window.id, actor="bob", now=NOW + HOUR)
    assert (again(run).not_before, run.held_code, run.held_since) == (NOW + HOUR, "", None)
    trail = AuditEntry.objects.filter(subject_type="window").order_by("id").values_list("action", "actor")
    assert list(trail) == [("window.create", "alice"), ("window.change", "bob"), ("window.delete", "bob")]
    told = AuditEntry.objects.get(action="window.change").details
    assert (told["before"]["length_seconds"], told["length_seconds"]) == (NIGHT["length_seconds"], 8 * 3600)


def test_a_retry_that_waits_for_its_back_off_is_left_to_admission() -> None:
    """Its own time is not the window's."""
    failed = make_run(state="failed")
    later = NOW + HOUR
    retry = make_run(failed.job, trigger="retry", origin_run=failed, root_run=failed, attempt=2, not_before=later)
    make_window()
    assert (again(retry).not_before, retry.held_code) == (later, "")


def test_a_window_that_cannot_be_evaluated_is_left_out() -> None:
    """A zone that the zone data lost: backups go on, and the others still hold."""
    make_worker()
    bad = make_window(NIGHT | {"time_zone": "Europe/Berlin"}, name="bad")
    Window.objects.filter(id=bad.id).update(time_zone="Europe/Atlantis")
    make_run()
    assert admit_waiting(now=NOW) == Admitted(admitted=1)
    make_window()
    make_run()
    assert admit_waiting(now=NOW) == Admitted(held=1)


def test_windows_do_not_hold_what_a_schedule_has_flagged_otherwise() -> None:
    """A deleted window revives no schedule that has a bad rule."""
    window = make_window(ALWAYS)
    schedule = make_schedule(state="flagged", state_code="unplannable")
    window_delete(window.id, actor="alice", now=NOW)
    assert again(schedule).state == "flagged"
    assert Schedule.objects.filter(state="active").count() == 0

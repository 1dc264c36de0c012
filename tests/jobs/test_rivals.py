"""Rivals with real connections: whoever wins, each thing happens once and no limit is exceeded (D1, C2, 1.18)."""

import datetime as dt
import itertools
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import Any

import pytest
from django.db import transaction

from jobs import transitions
from jobs.admission import admit_waiting
from jobs.claims import claim_due
from jobs.conclusion import conclude
from jobs.errors import JobActiveError, RunFinishedError
from jobs.executors import ExecutionResult, Failure
from jobs.models import Job, Run, RunEvent, Schedule, ScheduleDecision
from jobs.services import SourceInput, job_change, job_pause, job_resume, run_cancel, run_request
from jobs.states import CancelOrigin, FailureClass, RunState
from jobs.tick import run_pass
from jobs.verdict import Verdict
from repositories.freezing import repository_freeze
from syncova_project.preconditions import ANY_STATE
from tests.jobs import bells
from tests.jobs.builders import NOW, make_job, make_run, make_schedule, make_source, make_worker
from tests.jobs.rivals import at_once, blocked_by_this
from tests.repositories.builders import make_repository

pytestmark = pytest.mark.django_db(transaction=True)

SECOND = dt.timedelta(seconds=1)
SUCCESS = Verdict(RunState.SUCCEEDED, "completed")
ENDS = ("succeeded", "partial_failure", "failed", "cancelled")


def test_four_schedulers_on_ten_jobs_hand_each_out_once() -> None:
    """D1."""
    schedules = [make_schedule() for _ in range(10)]
    results = at_once([partial(claim_due, now=NOW)] * 4)
    assert sum(result.queued for result in results) == 10
    assert Counter(Run.objects.values_list("schedule_id", flat=True)) == Counter(each.id for each in schedules)
    assert not ScheduleDecision.objects.exists()
    assert set(Schedule.objects.values_list("next_at", flat=True)) == {NOW + dt.timedelta(days=1)}


def test_many_passes_at_once_exceed_no_limit_and_ring_once(settings: Any) -> None:
    """C2: four tickers, each with a pass of its own."""
    settings.SYNCOVA_TICK_SECONDS = 0
    make_worker(slots=6)
    home = make_source(b"/home")
    vault = make_repository(max_concurrent_runs=2)
    for _ in range(5):
        make_schedule(make_job(repository=vault))
    for _ in range(3):
        make_schedule(make_job(sources=[home, make_source()]))
    for _ in range(4):
        make_schedule(make_job())
    results = at_once([partial(run_pass, now=NOW + n * SECOND) for n in range(4)])
    assert [result for result in results if isinstance(result, Exception)] == []
    run_pass(now=NOW + 5 * SECOND)
    admitted = Run.objects.filter(admitted_at__isnull=False)
    assert Run.objects.count() == 12
    assert admitted.count() == 5
    assert admitted.filter(repository=vault).count() <= 2
    assert admitted.filter(job__job_sources__source=home).count() <= 1
    fences = [fence for _, fence, _ in bells.rung]
    assert len(fences) == len(set(fences)) == 5


def test_two_tickers_start_one_pass() -> None:
    make_schedule()
    results = at_once([partial(run_pass, now=NOW)] * 4)
    assert sum(result.began for result in results) == 1
    assert Run.objects.count() == 1


def test_one_of_four_requests_wins() -> None:
    """E2: a job already active is 409, never 500."""
    job = make_job()
    results = at_once([partial(run_request, job_id=job.id, actor=f"user {n}", now=NOW) for n in range(4)])
    assert sum(isinstance(result, Run) for result in results) == 1
    assert sum(isinstance(result, JobActiveError) for result in results) == 3


def test_finish_cancel_and_reap_at_once_leave_one_end() -> None:
    """execution.md, section 1: 0 rows = someone else won; an end is final and what follows it is made once."""
    broken = Failure("NO_ROUTE", "No route.", FailureClass.NETWORK)
    for _ in range(12):
        job = make_job()
        run = make_run(job, "running")
        fence = run.fence or 0
        at_once(
            [
                partial(conclude, run.id, fence, ExecutionResult(failure=broken), now=NOW + SECOND),
                partial(transitions.request_cancel, run.id, CancelOrigin.USER, "alice", now=NOW + SECOND),
                partial(transitions.orphan, run.id, fence, NOW + SECOND, now=NOW + SECOND),
                partial(transitions.finish, run.id, fence, SUCCESS, now=NOW + SECOND),
            ]
        )
        run.refresh_from_db()
        ends = list(RunEvent.objects.filter(run=run, code__in=ENDS).values_list("code", flat=True))
        assert ends == [run.state]
        followers = Run.objects.filter(origin_run=run).count()
        assert followers == (1 if run.state == RunState.FAILED else 0)
        if run.cancel_requested_at is not None and run.state != RunState.SUCCEEDED:
            assert run.state == RunState.CANCELLED
        job.refresh_from_db()
        assert (job.last_run_id, job.last_state) == (run.id, run.state)


def test_start_cancel_and_withdraw_at_once_leave_one_winner() -> None:
    """Cancel in every state: an admitted run either runs and is asked to stop, or never starts."""
    for _ in range(12):
        run = make_run(admitted=True)
        fence = run.fence or 0
        started, cancelled, withdrawn = at_once(
            [
                partial(transitions.start, run.id, fence, "alpha:7", now=NOW),
                partial(transitions.request_cancel, run.id, CancelOrigin.USER, "alice", now=NOW),
                partial(transitions.withdraw, run.id, fence, now=NOW),
            ]
        )
        run.refresh_from_db()
        assert not (started and withdrawn)
        if started:
            assert (run.state, cancelled) == ("running", RunState.RUNNING)
            assert run.cancel_requested_at is not None
        else:
            assert (run.state, cancelled) == ("cancelled", RunState.CANCELLED)


def test_after_a_freeze_has_answered_nothing_starts() -> None:
    """execution.md, section 2: freezing and starting both lock the repository's row."""
    for _ in range(10):
        run = make_run(admitted=True)
        fence = run.fence or 0

        def freeze_then_look(run: Run = run) -> str:
            repository_freeze(repository_id=run.repository_id, reason="lost data", now=NOW)
            return Run.objects.get(id=run.id).state

        started, seen = at_once([partial(transitions.start, run.id, fence, "alpha:7", now=NOW), freeze_then_look])
        run.refresh_from_db()
        # What the freezer saw when it had its answer is what there is: no start came after it.
        assert run.state == seen == ("running" if started else "queued")


def test_pause_and_claim_at_once_leave_no_waiting_run_behind() -> None:
    for _ in range(8):
        schedule = make_schedule()
        at_once(
            [
                partial(claim_due, now=NOW),
                partial(job_pause, job_id=schedule.job_id, actor="alice", now=NOW),
                partial(claim_due, now=NOW),
            ]
        )
        assert not Run.objects.filter(job_id=schedule.job_id, state="queued").exists()


def test_everything_at_once_ends_without_a_deadlock(settings: Any) -> None:
    """All writers lock in one order: job, schedule, repository, source, run."""
    settings.SYNCOVA_TICK_SECONDS = 0
    make_worker(slots=8, last_seen=NOW + dt.timedelta(hours=1))
    vault = make_repository(max_concurrent_runs=3)
    jobs = [make_job(repository=vault) for _ in range(4)]
    for job in jobs:
        make_schedule(job, {"type": "interval", "every_seconds": 60})
    moments, passed = itertools.count(1), threading.Event()
    passing = [partial(make_passes, moments, passed)] * 2
    working = [partial(work_off_rings, passed)] * 2
    results = at_once([*passing, *working, *(partial(pause_resume_cancel, job) for job in jobs[:2])])
    assert [result for result in results if isinstance(result, Exception)] == []
    assert all(Run.objects.filter(job=job, finished_at__isnull=True).count() <= 1 for job in jobs)
    # The turmoil was real: runs failed and were retried, others were cancelled by the meddlers.
    codes = set(RunEvent.objects.values_list("code", flat=True))
    assert {"queued", "admitted", "started", "failed", "cancelled"} <= codes


def make_passes(moments: Iterator[int], passed: threading.Event) -> None:
    # Only a pass that began counts: of two tickers one is turned away, and would be done before anything was started.
    begun = 0
    while begun < 12:
        begun += run_pass(now=NOW + next(moments) * 30 * SECOND).began
    passed.set()


def work_off_rings(passed: threading.Event) -> None:
    failed = ExecutionResult(failure=Failure("X", "x", FailureClass.TRANSIENT))
    while not passed.is_set():
        for run_id, fence, _ in list(bells.rung)[-6:]:
            if transitions.start(run_id, fence, "alpha:7", now=NOW + SECOND):
                conclude(run_id, fence, failed, now=NOW + SECOND)


def pause_resume_cancel(job: Job) -> None:
    for _ in range(8):
        job_pause(job_id=job.id, actor="alice", now=NOW)
        job_resume(job_id=job.id, actor="alice", now=NOW)
        # Passes alone may leave nothing to cancel while the meddlers look.
        with suppress(JobActiveError):
            run_request(job_id=job.id, actor="alice", now=NOW)
        for run_id in Run.objects.filter(job=job, state="queued").values_list("id", flat=True):
            with suppress(RunFinishedError):
                run_cancel(run_id=run_id, actor="alice", now=NOW)


def test_an_admitter_keeps_others_out_until_its_commit() -> None:
    """C2: a second one would not see what the first took, and give the only slot to a run that came since."""
    make_worker(slots=1)
    make_run()

    def come_later_and_admit() -> Any:
        make_run(priority="critical")
        return admit_waiting(now=NOW)

    with transaction.atomic():
        assert admit_waiting(now=NOW).admitted == 1
        (late,) = at_once([come_later_and_admit])
    assert late.skipped
    assert Run.objects.filter(admitted_at__isnull=False).count() == 1


def test_two_admitters_at_once_are_one() -> None:
    make_worker(slots=2)
    for _ in range(4):
        make_run()
    results = at_once([partial(admit_waiting, now=NOW)] * 4)
    assert sum(result.admitted for result in results) == 1
    assert Run.objects.filter(admitted_at__isnull=False).count() == 1


def test_a_job_that_changes_while_its_run_is_judged_is_judged_again() -> None:
    """C2: what is admitted is what was judged, though other sources or another repository came in between."""
    make_worker()
    job, vault = make_job(), make_repository()
    run = make_run(job)
    fields = {"repository_id": vault.id, "sources": [SourceInput(b"/srv/new")]}
    change = partial(job_change, job_id=job.id, fields=fields, condition=ANY_STATE, actor="alice", now=NOW)
    with ThreadPoolExecutor(1) as pool, transaction.atomic():
        change()
        waiting = blocked_by_this(pool, partial(admit_waiting, now=NOW))
        transaction.on_commit(lambda: waiting.result(30))
    assert Run.objects.get().admitted_at is None
    assert admit_waiting(now=NOW).admitted == 1
    run.refresh_from_db()
    assert (run.repository_id, run.task_runs.get().source.shown) == (vault.id, "/srv/new")
    assert run.revision is not None
    assert run.revision.number == 2


def test_a_request_that_waited_for_a_change_finds_its_job() -> None:
    """Also one that moved to another repository meanwhile: its row is locked without what it is joined to."""
    job, vault = make_job(), make_repository()
    with ThreadPoolExecutor(1) as pool, transaction.atomic():
        job_change(job_id=job.id, fields={"repository_id": vault.id}, condition=ANY_STATE, actor="alice", now=NOW)
        waiting = blocked_by_this(pool, partial(run_request, job_id=job.id, actor="bob", now=NOW))
        transaction.on_commit(lambda: waiting.result(30))
    assert Run.objects.get().repository_id == vault.id

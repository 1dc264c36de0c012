"""Admission on real rows: slots, limits, order, reasons and rings (C1-C3, G2, G3)."""

import datetime as dt
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from jobs.admission import Admitted, admit_waiting
from jobs.models import Job, JobRevision, Run, Source
from jobs.sentences import held_sentence
from repositories.freezing import repository_freeze
from repositories.models import Repository
from tests.jobs import bells
from tests.jobs.builders import NOW, make_job, make_run, make_runner, make_source, make_task_run, make_worker
from tests.repositories.builders import make_repository

pytestmark = pytest.mark.django_db

HOUR = dt.timedelta(hours=1)


def again(run: Run) -> Run:
    run.refresh_from_db()
    return run


def admitted() -> set[Any]:
    return set(Run.objects.filter(admitted_at__isnull=False, state="queued").values_list("id", flat=True))


def reasons(*runs: Run) -> list[tuple[str, str]]:
    return [(again(run).held_code, run.held_subject) for run in runs]


def test_a_run_is_admitted_with_fence_revision_and_task_runs(django_capture_on_commit_callbacks: Any) -> None:
    """H1, H2: and its group is rung for after the commit, with the fence."""
    make_worker()
    sources = [make_source(b"/srv/a"), make_source(b"/srv/b")]
    job = make_job(sources=sources)
    run = make_run(job)
    with django_capture_on_commit_callbacks(execute=True):
        assert admit_waiting(now=NOW) == Admitted(admitted=1)
        assert bells.rung == []
    taken = again(run)
    assert (taken.admitted_at, taken.revision_id, taken.rings) == (NOW, job.revisions.get().id, 1)
    assert [task.source_id for task in taken.task_runs.order_by("position")] == [source.id for source in sources]
    assert bells.rung == [(run.id, taken.fence, "default")]


def test_each_admission_has_a_higher_fence() -> None:
    make_worker()
    first, second = make_run(), make_run()
    admit_waiting(now=NOW)
    fences = sorted(run.fence for run in (again(first), again(second)) if run.fence is not None)
    assert len(set(fences)) == 2
    third = make_run()
    admit_waiting(now=NOW)
    assert (again(third).fence or 0) > max(fences)


def test_a_broker_that_takes_nothing_is_rung_once(settings: Any, django_capture_on_commit_callbacks: Any) -> None:
    """The first failure ends the ringing: with Redis stopped, a hundred time-outs would hold the tick."""
    settings.SYNCOVA_DOORBELL = "tests.jobs.bells.deaf"
    make_worker()
    runs = [make_run() for _ in range(3)]
    with django_capture_on_commit_callbacks(execute=True):
        assert admit_waiting(now=NOW).admitted == 3
    assert len(bells.rung) == 1
    assert {again(run).rings for run in runs} == {0}


def test_without_a_worker_everything_waits_and_says_so() -> None:
    run = make_run()
    assert admit_waiting(now=NOW) == Admitted(held=1)
    assert reasons(run) == [("no_worker", "default")]
    assert held_sentence(run) == "Waits for a worker of the group default: none is there."


@pytest.mark.parametrize("fields", [{"draining": True}, {"last_seen": NOW - dt.timedelta(seconds=31)}])
def test_slots_of_draining_and_silent_workers_do_not_count(fields: dict[str, Any]) -> None:
    make_worker(**fields)
    run = make_run()
    admit_waiting(now=NOW)
    assert reasons(run) == [("no_worker", "default")]


def test_never_more_than_the_slots() -> None:
    """Redis never becomes the queue; one of several slots is kept for restores."""
    make_worker(slots=2)
    make_worker(slots=2)
    runs = [make_run() for _ in range(6)]
    admit_waiting(now=NOW)
    assert len(admitted()) == 3
    assert {again(run).held_code for run in runs} == {"", "restore_slot"}
    restores = [make_run(kind="restore") for _ in range(2)]
    admit_waiting(now=NOW)
    assert sorted(again(run).held_code for run in restores) == ["", "no_slot"]


def test_slots_belong_to_their_runner() -> None:
    beta = make_runner("beta")
    make_worker(beta)
    far, near = make_run(make_job(runner=beta)), make_run()
    admit_waiting(now=NOW)
    assert admitted() == {far.id}
    assert reasons(near) == [("no_worker", "default")]


def test_the_repositorys_limit_holds_across_jobs() -> None:
    """C2."""
    make_worker(slots=8)
    repository = make_repository(max_concurrent_runs=2, name="vault")
    runs = [make_run(make_job(repository=repository)) for _ in range(3)]
    admit_waiting(now=NOW)
    assert len(admitted()) == 2
    held = next(run for run in runs if again(run).held_code)
    assert reasons(held) == [("repository_limit", "vault")]
    assert held_sentence(held) == "Waits for the repository vault: 2 of 2 runs."


def test_a_sources_limit_holds_across_jobs_and_repositories() -> None:
    """C2: one disk is not read by two jobs at once."""
    make_worker(slots=8)
    home = make_source(b"/home")
    first, second = make_run(make_job(sources=[home])), make_run(make_job(sources=[home, make_source()]))
    admit_waiting(now=NOW)
    assert len(admitted()) == 1
    held = next(run for run in (first, second) if again(run).held_code)
    assert reasons(held) == [("source_limit", "/home")]
    assert held_sentence(held) == "Waits for the source /home: 1 of 1 runs."
    Source.objects.filter(id=home.id).update(max_concurrent_runs=2)
    admit_waiting(now=NOW)
    assert len(admitted()) == 2


def test_a_running_run_keeps_its_sources() -> None:
    make_worker(slots=8)
    home = make_source(b"/home")
    running = make_run(state="running")
    make_task_run(running, home, state="running", started_at=NOW)
    run = make_run(make_job(sources=[home]))
    admit_waiting(now=NOW)
    assert reasons(run) == [("source_limit", "/home")]


def test_the_installations_limit(settings: Any) -> None:
    """C2."""
    settings.SYNCOVA_GLOBAL_LIMIT = 2
    make_worker(slots=8)
    runs = [make_run() for _ in range(3)]
    restore = make_run(kind="restore")
    admit_waiting(now=NOW)
    assert len(admitted()) == 3
    assert again(restore).admitted_at is not None
    held = next(run for run in runs if again(run).held_code)
    assert held_sentence(held) == "Waits for the installation's limit: 2 of 2 runs."


def test_a_frozen_repository_holds_and_lets_restores_pass() -> None:
    """G2, C3."""
    make_worker()
    job = make_job()
    repository_freeze(repository_id=job.repository_id, reason="3 of 5 chunks are lost", now=NOW)
    run = make_run(job)
    restore = make_run(kind="restore", repository=job.repository)
    admit_waiting(now=NOW)
    assert admitted() == {restore.id}
    assert again(run).held_code == "frozen"
    assert "3 of 5 chunks are lost" in held_sentence(run)


def test_a_repository_that_was_never_opened_holds() -> None:
    make_worker()
    job = make_job()
    Repository.objects.filter(id=job.repository_id).update(state="registering")
    run = make_run(job)
    admit_waiting(now=NOW)
    assert again(run).held_code == "repository_not_ready"


def test_a_paused_jobs_run_is_held() -> None:
    make_worker()
    run = make_run()
    Job.objects.update(paused_at=NOW)
    admit_waiting(now=NOW)
    assert again(run).held_code == "job_paused"


def test_the_serial_gate_lets_one_chain_at_a_time() -> None:
    """G3: busy also while a retry of a started chain waits; a run that waits for the first time never counts."""
    make_worker(slots=8)
    repository = make_repository(serial_gate=True, max_concurrent_runs=5, name="vault")
    first, second = make_job(repository=repository), make_job(repository=repository)
    failed = make_run(first, "failed")
    retry = make_run(first, trigger="retry", attempt=2, origin_run=failed, root_run=failed, not_before=NOW + HOUR)
    other = make_run(second)
    admit_waiting(now=NOW)
    assert reasons(other) == [("serial_gate", "vault")]
    admit_waiting(now=NOW + HOUR)
    make_worker(slots=8, last_seen=NOW + HOUR)
    admit_waiting(now=NOW + HOUR)
    assert again(retry).admitted_at is not None
    assert again(other).admitted_at is None


def test_two_waiting_runs_of_a_serial_repository_never_block_each_other() -> None:
    """G3: neither two first ones nor two chains."""
    make_worker(slots=8)
    repository = make_repository(serial_gate=True)
    for _ in range(2):
        make_run(make_job(repository=repository))
    admit_waiting(now=NOW)
    assert len(admitted()) == 1
    chained = make_repository(serial_gate=True)
    for _ in range(2):
        job = make_job(repository=chained)
        root = make_run(job, "failed")
        make_run(job, trigger="retry", attempt=2, origin_run=root, root_run=root)
    admit_waiting(now=NOW)
    assert Run.objects.filter(repository=chained, admitted_at__isnull=False, state="queued").count() == 1


def test_the_order_of_the_queue() -> None:
    """C1: the higher class first, then who waited longer; a held run never stops those behind it."""
    make_worker(slots=1)
    frozen = make_job()
    repository_freeze(repository_id=frozen.repository_id, reason="x", now=NOW)
    blocked = make_run(frozen, priority="critical")
    make_run(priority="normal")
    early = NOW - dt.timedelta(minutes=2)
    high = make_run(priority="high", created_at=early, scheduled_for=early, not_before=early)
    make_run(priority="high")
    admit_waiting(now=NOW)
    assert admitted() == {high.id}
    assert again(blocked).held_code == "frozen"


def test_what_is_not_yet_due_waits_without_a_reason() -> None:
    make_worker()
    run = make_run(not_before=NOW + HOUR)
    assert admit_waiting(now=NOW) == Admitted()
    assert again(run).held_code == ""


def test_one_that_waited_long_reserves_its_source() -> None:
    """execution.md, section 2: a stream of short runs must not starve one that needs two sources."""
    make_worker(slots=8)
    busy, quiet = make_source(b"/busy"), make_source(b"/quiet")
    running = make_run(state="running")
    make_task_run(running, busy, state="running", started_at=NOW)
    old = NOW - 3 * HOUR
    patient = make_run(
        make_job(sources=[busy, quiet]), created_at=old, not_before=old, scheduled_for=old, priority="high"
    )
    rival = make_run(make_job(sources=[quiet]))
    admit_waiting(now=NOW)
    assert reasons(patient, rival) == [("source_limit", "/busy"), ("source_reserved", "/quiet")]


def test_an_unchanged_queue_costs_no_update() -> None:
    """C3: reasons are written only when one changes, and keep since when."""
    runs = [make_run() for _ in range(5)]
    admit_waiting(now=NOW)
    with CaptureQueriesContext(
        connection,
    ) as queries:
        admit_waiting(now=NOW + HOUR)
    assert not [each["sql"] for each in queries if each["sql"].lstrip().startswith("UPDATE")]
    assert {again(run).held_since for run in runs} == {NOW}


def test_a_reason_goes_when_the_run_is_admitted() -> None:
    run = make_run()
    admit_waiting(now=NOW)
    make_worker()
    admit_waiting(now=NOW)
    assert reasons(run) == [("", "")]
    assert again(run).held_since is None


def test_a_damaged_revision_stops_no_other_run() -> None:
    """A poisoned row is held with its reason, and everything behind it goes."""
    make_worker()
    damaged, unpinned, healthy = make_job(), make_job(), make_job()
    Job.objects.filter(id=unpinned.id).update(revision_number=7)
    JobRevision.objects.create(job=damaged, number=2, snapshot={"sources": [{}]}, created_at=NOW, created_by="alice")
    Job.objects.filter(id=damaged.id).update(revision_number=2)
    runs = [make_run(job) for job in (damaged, unpinned, healthy)]
    admit_waiting(now=NOW)
    assert [again(run).held_code for run in runs] == ["unstartable", "unstartable", ""]
    assert admitted() == {runs[2].id}
    assert not runs[0].task_runs.exists()

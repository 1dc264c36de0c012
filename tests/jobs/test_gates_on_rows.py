"""The table of gates on real rows: each gate shut for one run of every kind and trigger at once (execution.md, 2)."""

import datetime as dt
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from jobs.admission import Admitted, admit_waiting
from jobs.gates import TABLE, Column, Gate, Rule, column_of
from jobs.models import Job, JobDependency, JobSource, RepositoryBreaker, Run, WorkerProcess
from jobs.sentences import held_sentence
from jobs.states import HeldCode, RunKind, Trigger
from repositories.freezing import repository_freeze
from repositories.models import Repository
from tests.jobs.builders import NOW, make_job, make_run, make_schedule, make_task_run, make_worker
from tests.jobs.windows.builders import make_window

pytestmark = pytest.mark.django_db

LISTED = [RunKind.BACKUP, RunKind.CHECK, RunKind.DRILL, RunKind.PRUNE, RunKind.FORGET, RunKind.COPY]
MANY = 5000


def planned(job: Job) -> Run:
    return make_run(job, trigger="schedule", schedule=make_schedule(job))


def following(job: Job, trigger: str) -> Run:
    root = make_run(job, "failed")
    return make_run(job, trigger=trigger, attempt=2, origin_run=root, root_run=root)


def one_of_each() -> list[Run]:
    """Return a waiting run of every kind, and backups of every trigger; each on a repository of its own."""
    backups = [planned(make_job()), make_run(), *(following(make_job(), word) for word in ("retry", "requeue"))]
    return backups + [make_run(kind=kind) for kind in RunKind if kind is not RunKind.BACKUP]


def pause(runs: list[Run], settings: Any) -> None:
    Job.objects.update(paused_at=NOW)


def shut_windows(runs: list[Run], settings: Any) -> None:
    make_window({"type": "blackout", "start": "01:00", "length_seconds": 18000, "kinds": LISTED})


def freeze(runs: list[Run], settings: Any) -> None:
    for run in runs:
        repository_freeze(repository_id=run.repository_id, reason="lost data", now=NOW)


def fail_often(runs: list[Run], settings: Any) -> None:
    for run in runs:
        until = NOW + dt.timedelta(minutes=5)
        RepositoryBreaker.objects.create(
            repository=run.repository, failures=3, trips=1, open_until=until, error_code="NO_SPACE", updated_at=NOW
        )


def fill_repositories(runs: list[Run], settings: Any) -> None:
    for run in runs:
        make_run(make_job(repository=run.repository), "running")


def fill_serial(runs: list[Run], settings: Any) -> None:
    fill_repositories(runs, settings)
    Repository.objects.update(serial_gate=True, max_concurrent_runs=9)


def fill_sources(runs: list[Run], settings: Any) -> None:
    for run in runs:
        if run.job is not None:
            make_task_run(make_run(state="running"), JobSource.objects.get(job=run.job).source, state="running")


def fill_installation(runs: list[Run], settings: Any) -> None:
    make_run(state="running")
    settings.SYNCOVA_GLOBAL_LIMIT = 1


def end_workers(runs: list[Run], settings: Any) -> None:
    WorkerProcess.objects.all().delete()


def take_slots_but_one(runs: list[Run], settings: Any) -> None:
    make_run(state="running", worker="alpha:1")
    WorkerProcess.objects.update(slots=2)


def let_wait(runs: list[Run], settings: Any) -> None:
    for run in runs:
        if run.job is not None:
            JobDependency.objects.create(job=run.job, predecessor=make_job(), created_at=NOW)


# What shuts a gate, and the reason that those runs then have which it concerns.
SHUT: list[tuple[Gate, Callable[[list[Run], Any], None], HeldCode]] = [
    (Gate.PAUSED, pause, HeldCode.JOB_PAUSED),
    (Gate.WINDOW, shut_windows, HeldCode.WINDOW),
    (Gate.FREEZE, freeze, HeldCode.FROZEN),
    (Gate.BREAKER, fail_often, HeldCode.BREAKER),
    (Gate.REPOSITORY, fill_repositories, HeldCode.REPOSITORY_LIMIT),
    (Gate.REPOSITORY, fill_serial, HeldCode.SERIAL_GATE),
    (Gate.SOURCE, fill_sources, HeldCode.SOURCE_LIMIT),
    (Gate.INSTALLATION, fill_installation, HeldCode.GLOBAL_LIMIT),
    (Gate.SLOT, end_workers, HeldCode.NO_WORKER),
    (Gate.DEPENDENCY, let_wait, HeldCode.DEPENDENCY_NEVER_RAN),
]


@pytest.mark.parametrize(("gate", "shut", "reason"), SHUT, ids=[f"{gate}-{reason}" for gate, _, reason in SHUT])
def test_a_shut_gate_holds_whom_the_table_says_with_the_reason(
    gate: Gate, shut: Callable[[list[Run], Any], None], reason: HeldCode, settings: Any
) -> None:
    """C2, C3, G2: every column, and every kind and trigger of it, by one pass over real rows."""
    settings.SYNCOVA_GLOBAL_LIMIT = 100
    make_worker(slots=60)
    runs = one_of_each()
    assert {column_of(RunKind(run.kind), Trigger(run.trigger)) for run in runs} == set(Column)
    shut(runs, settings)
    admit_waiting(now=NOW)
    for run in runs:
        run.refresh_from_db()
        concerned = TABLE[gate][column_of(RunKind(run.kind), Trigger(run.trigger))] is not Rule.FREE
        assert (run.held_code, run.admitted_at is None) == (reason if concerned else "", concerned), run.kind
        assert bool(held_sentence(run)) is concerned


def test_every_gate_of_the_table_was_shut() -> None:
    assert {gate for gate, *_ in SHUT} == set(TABLE)


def test_the_last_of_several_slots_waits_for_a_restore(settings: Any) -> None:
    """28: whatever waits before it."""
    make_worker(slots=60)
    runs = one_of_each()
    take_slots_but_one(runs, settings)
    admit_waiting(now=NOW)
    admitted = Run.objects.filter(state="queued", admitted_at__isnull=False)
    assert [run.kind for run in admitted] == [RunKind.RESTORE]
    reasons = set(Run.objects.filter(state="queued", admitted_at__isnull=True).values_list("held_code", flat=True))
    # Those before it are told of the kept slot, those after it that none is left; ids of one moment sort by chance.
    assert reasons
    assert reasons <= {HeldCode.NO_SLOT, HeldCode.RESTORE_SLOT}


COPIES = (
    ("jobs", "jsonb_build_object('id', md5('j' || n)::uuid, 'name', 'many ' || n)"),
    ("job_sources", "jsonb_build_object('id', 1000000 + n, 'job_id', md5('j' || n)::uuid)"),
    ("runs", "jsonb_build_object('id', md5('r' || n)::uuid, 'job_id', md5('j' || n)::uuid)"),
)


def multiply() -> None:
    """Make MANY of the one job there is, of its source's place and of its waiting run."""
    with connection.cursor() as cursor:
        for table, change in COPIES:
            cursor.execute(
                f"INSERT INTO {table} SELECT made.* FROM (SELECT * FROM {table}) AS one, generate_series(2, {MANY}) n,"
                f" LATERAL jsonb_populate_record(NULL::{table}, to_jsonb(one) || {change}) AS made"
            )
        # As a database that has stood for a while knows them; autovacuum sees nothing of this transaction.
        cursor.execute("ANALYZE jobs, job_sources, runs")


def test_a_second_pass_over_5000_unchanged_waiting_runs_updates_nothing() -> None:
    """C3, 6.1: reasons are written where they change, one statement for each reason, and keep since when."""
    make_run()
    multiply()
    with CaptureQueriesContext(connection) as first:
        assert admit_waiting(now=NOW) == Admitted(held=MANY)
    with CaptureQueriesContext(connection) as second:
        assert admit_waiting(now=NOW + dt.timedelta(hours=1)) == Admitted(held=MANY)
    updates = [[each["sql"] for each in queries if 'UPDATE "runs"' in each["sql"]] for queries in (first, second)]
    assert [len(statements) for statements in updates] == [1, 0]
    assert len(second) < 20
    assert Run.objects.filter(held_since=NOW, held_code=HeldCode.NO_WORKER).count() == MANY

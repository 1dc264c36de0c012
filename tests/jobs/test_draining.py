"""Draining by an operator, and groups that nobody serves: slots, reasons, events, the command (6.5, C3)."""

import datetime as dt
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from jobs.admission import admit_waiting
from jobs.errors import WorkersNotFoundError
from jobs.groups import TELL_AFTER, watch_groups
from jobs.models import Run, Runner, WorkerProcess
from jobs.sentences import held_sentence
from jobs.services import WorkerInput, worker_seen
from jobs.services.draining import elsewhere, runs_left, workers_drain
from syncova_project.access.models import AuditEntry
from tests.jobs.builders import NOW, make_job, make_run, make_runner, make_worker

pytestmark = pytest.mark.django_db

LONG_AGO = NOW - dt.timedelta(hours=1)
LATER = dt.timedelta(minutes=5)


def drained(drain: bool = True, group: str | None = "default", host: str | None = None) -> list[WorkerProcess]:
    return workers_drain(group=group, host=host, drain=drain, actor="alice", now=NOW)


def test_a_drained_group_gives_no_slots_until_that_is_undone() -> None:
    worker, run = make_worker(), make_run()
    for _ in range(2):
        assert [row.id for row in drained()] == [worker.id]
    admit_waiting(now=NOW)
    run.refresh_from_db()
    assert (run.admitted_at, run.held_code) == (None, "no_worker")
    assert held_sentence(run) == "Waits for a worker of the group default: those that are there are drained."
    drained(drain=False)
    admit_waiting(now=NOW)
    run.refresh_from_db()
    assert run.admitted_at == NOW
    assert {entry.action for entry in AuditEntry.objects.all()} == {"worker.drain", "worker.undrain"}


def test_another_host_of_the_group_goes_on() -> None:
    make_worker(host="alpha")
    make_worker(host="beta", slots=1)
    drained(host="alpha")
    for _ in range(2):
        make_run()
    admit_waiting(now=NOW)
    assert Run.objects.filter(admitted_at__isnull=False).count() == 1


def test_a_sign_of_life_does_not_take_the_draining_back() -> None:
    """The worker writes its row every ten seconds; what an operator asks is not its own."""
    told = WorkerInput("default", "alpha", 7, 2)
    worker_seen(told, now=NOW)
    drained()
    worker_seen(told, now=NOW + dt.timedelta(seconds=10))
    assert WorkerProcess.objects.get().drain_requested


def test_a_drained_process_leaves_runs_to_others() -> None:
    worker = make_worker()
    run = make_run(admitted=True)
    named: dict[str, Any] = {"run_id": run.id, "host": worker.host, "process_id": worker.process_id}
    assert elsewhere(**named) is None
    drained()
    assert elsewhere(**named) == "default"
    assert elsewhere(**named | {"process_id": 1}) is None


def test_who_is_not_there_cannot_be_drained() -> None:
    make_worker()
    for group, host in (("other", None), (None, "beta"), ("default", "beta")):
        with pytest.raises(WorkersNotFoundError):
            drained(group=group, host=host)


def test_what_runs_is_counted_and_goes_on() -> None:
    make_worker(host="alpha")
    make_run(state="running", worker="alpha:12")
    make_run(state="running", worker="alphabet:12")
    make_run(state="succeeded", worker="alpha:13")
    assert (runs_left(group="default", host=None), runs_left(group=None, host="beta")) == (1, 0)


def test_the_command_drains_waits_and_lists() -> None:
    make_worker(host="alpha")
    run = make_run(make_job(), state="running", worker="alpha:12")
    out = StringIO()
    with pytest.raises(CommandError, match="1 runs go on"):
        call_command("drain", host="alpha", wait=0, stdout=out)
    call_command("drain", list=True, stdout=out)
    assert out.getvalue().count("drains") == 2
    Run.objects.filter(pk=run.pk).update(state="succeeded", finished_at=NOW)
    call_command("drain", host="alpha", wait=5, stdout=out)
    assert "nothing runs there any more" in out.getvalue()
    call_command("drain", host="alpha", undo=True, stdout=out)
    assert not WorkerProcess.objects.get().drain_requested
    for words in ({}, {"group": "nobody"}):
        with pytest.raises(CommandError):
            call_command("drain", **words)


def dead_group() -> Runner:
    runner = make_runner(source_roots=["/"])
    make_worker(runner, last_seen=LONG_AGO, started_at=LONG_AGO)
    return runner


def watch(now: dt.datetime) -> int:
    return watch_groups(now=now, observed_since=LONG_AGO)


def test_a_dead_group_is_told_once_and_when_it_is_back() -> None:
    runner = dead_group()
    assert watch(NOW) == 0
    assert [watch(NOW + TELL_AFTER), watch(NOW + LATER)] == [1, 0]
    run = make_run()
    admit_waiting(now=NOW + LATER)
    run.refresh_from_db()
    assert held_sentence(run).endswith("none is there since 2026-11-30 02:00:00 UTC.")
    WorkerProcess.objects.update(last_seen=NOW + LATER)
    assert [watch(NOW + LATER), watch(NOW + LATER)] == [1, 0]
    runner.refresh_from_db()
    assert (runner.dead_since, runner.dead_told) == (None, False)
    assert [one.action for one in AuditEntry.objects.order_by("id")] == ["worker_group.dead", "worker_group.back"]


def test_a_restart_is_nothing_to_tell() -> None:
    dead_group()
    assert watch(NOW) == 0
    WorkerProcess.objects.update(last_seen=NOW)
    assert watch(NOW + dt.timedelta(seconds=10)) == 0
    assert not AuditEntry.objects.exists()
    assert Runner.objects.get().dead_since is None


def test_silence_that_nobody_could_hear_is_none() -> None:
    """As for runs: with the database away, no worker could give a sign of life."""
    dead_group()
    assert watch_groups(now=NOW, observed_since=NOW - dt.timedelta(seconds=5)) == 0
    assert Runner.objects.get().dead_since is None


def test_a_group_that_nobody_ever_served_is_not_dead() -> None:
    make_runner()
    watch(NOW)
    assert Runner.objects.get().dead_since is None


def test_a_group_that_only_drains_is_not_dead() -> None:
    make_worker(make_runner(source_roots=["/"]))
    drained()
    watch(NOW)
    assert Runner.objects.get().dead_since is None

"""A job's hooks from its revision to the worker's own file: real beat, a real worker, the real engine (6.4)."""

import os
import signal
from pathlib import Path

from jobs import run_log
from jobs.database_time import database_now
from jobs.models import Job, Run
from jobs.services import NewJob, SourceInput, job_create
from jobs.states import FailureClass, RunState, Trigger
from tests.workers import scenario
from tests.workers.harness import Stack, eventually
from tests.workers.scenario import Ground

FILE = """
[hooks.ready]
argv = ["/bin/sh", "-c", "echo ready for $SYNCOVA_RUN_JOB"]
[hooks.broken]
argv = ["/bin/false"]
[hooks.not-now]
argv = ["/bin/sh", "-c", "case $SYNCOVA_RUN_SOURCE in *busy) exit 75;; esac"]
exits = { 75 = "skip" }
[hooks.freeze]
argv = ["/bin/sh", "-c", "echo freezes; sleep 60"]
[hooks.thaw]
argv = ["/bin/sh", "-c", "echo thaws after $SYNCOVA_RUN_STATE"]
"""


def start_worker(stack: Stack, tmp_path: Path, group: str) -> None:
    directory = tmp_path / "hooks"
    directory.mkdir(mode=0o755)
    (directory / "hooks.toml").write_text(FILE)
    stack.start_worker("work", group=group, SYNCOVA_HOOKS_FILE=str(directory / "hooks.toml"))


def job(place: Ground, name: str, hooks: list[tuple[str, str]], *trees: Path) -> Job:
    sources = [SourceInput(path=os.fsencode(tree)) for tree in trees]
    new = NewJob(name=name, repository_id=place.repository.id, sources=sources, hooks=hooks)
    return job_create(new, actor="test", now=database_now())


def lines(run: Run) -> list[str]:
    return [line.message for line in run_log.read(run.id)]


def test_hooks_run_on_the_worker_and_speak_in_the_log(stack: Stack, tmp_path: Path) -> None:
    start_worker(stack, tmp_path, "hooked")
    place, tree = scenario.ground(tmp_path, "hooked"), scenario.small_tree(tmp_path)
    good, bad = [
        scenario.finished(scenario.request(job(place, name, [("before_job", hook)], tree)))
        for name, hook in (("good", "ready"), ("bad", "broken"))
    ]
    assert (good.state, good.error_message) == (RunState.SUCCEEDED, "")
    assert "ready: ready for good" in lines(good)
    assert (bad.state, bad.error_code, bad.failure_class) == (RunState.FAILED, "HOOK_FAILED", FailureClass.HOOK)
    assert scenario.codes(bad) == ["queued", "admitted", "started", "failed"]
    assert len(place.backup_ids()) == 1
    _around_sources(place, tree, scenario.small_tree(tmp_path, "busy"))


def _around_sources(place: Ground, tree: Path, busy: Path) -> None:
    """What became of each source and by which hook stands on its task run; a hook that undoes fails the run alone."""
    hooks = [("before_source", "not-now"), ("after_source", "broken")]
    run = scenario.finished(scenario.request(job(place, "part", hooks, busy, tree)))
    skipped, done = scenario.tasks(run)
    assert (run.state, run.error_code, done.state) == (RunState.FAILED, "HOOK_FAILED", "succeeded")
    assert (skipped.state, skipped.failure_class, skipped.error_code) == ("skipped", "hook", "HOOK_SKIPPED")
    assert skipped.error_message == f"The hook not-now (before the source {busy}) ended with exit code 75: skip."
    assert skipped.started_at is not None
    for task, place_of in ((skipped, busy), (done, tree)):
        assert task.problems[0]["code"] == "hook_failed"
        assert task.problems[0]["message"] == f"The hook broken (after the source {place_of}) ended with exit code 1."
    assert len(place.backup_ids()) == 2


def test_a_shutdown_in_a_hook_undoes_it_and_queues_the_run_again(stack: Stack, tmp_path: Path) -> None:
    """A16: what was half frozen is thawed before the worker is gone, and nothing of the source was read."""
    start_worker(stack, tmp_path, "frozen")
    place, tree = scenario.ground(tmp_path, "frozen"), scenario.small_tree(tmp_path)
    hooks = [("before_source", "freeze"), ("after_source", "thaw")]
    run = scenario.request(job(place, "frozen", hooks, tree))
    eventually(lambda: "freeze: freezes" in lines(run), what="the hook runs", seconds=60)
    stack.signal("work", signal.SIGTERM)
    ended = scenario.finished(run)
    assert (ended.state, ended.cancel_origin) == (RunState.CANCELLED, "shutdown")
    assert "thaw: thaws after cancelled" in lines(run)
    assert Run.objects.get(origin_run=run).trigger == Trigger.REQUEUE
    assert place.backup_ids() == []

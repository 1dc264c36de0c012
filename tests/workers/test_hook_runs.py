"""A job's hooks from its revision to the worker's own file: real beat, a real worker, the real engine (6.4)."""

import os
from pathlib import Path

from jobs import run_log
from jobs.database_time import database_now
from jobs.services import NewJob, SourceInput, job_create
from jobs.states import FailureClass, RunState
from tests.workers import scenario
from tests.workers.harness import Stack

FILE = """
[hooks.ready]
argv = ["/bin/sh", "-c", "echo ready for $SYNCOVA_RUN_JOB"]
[hooks.broken]
argv = ["/bin/false"]
"""


def test_hooks_run_on_the_worker_and_speak_in_the_log(stack: Stack, tmp_path: Path) -> None:
    directory = tmp_path / "hooks"
    directory.mkdir(mode=0o755)
    (directory / "hooks.toml").write_text(FILE)
    stack.start_worker("work", group="hooked", SYNCOVA_HOOKS_FILE=str(directory / "hooks.toml"))
    place, tree = scenario.ground(tmp_path, "hooked"), scenario.small_tree(tmp_path)
    ended = []
    for name, hook in (("good", "ready"), ("bad", "broken")):
        new = NewJob(
            name=name,
            repository_id=place.repository.id,
            sources=[SourceInput(path=os.fsencode(tree))],
            hooks=[("before_job", hook)],
        )
        asked = job_create(new, actor="test", now=database_now())
        ended.append(scenario.finished(scenario.request(asked)))
    good, bad = ended
    assert (good.state, good.error_message) == (RunState.SUCCEEDED, "")
    assert "ready: ready for good" in [line.message for line in run_log.read(good.id)]
    assert (bad.state, bad.error_code, bad.failure_class) == (RunState.FAILED, "HOOK_FAILED", FailureClass.HOOK)
    assert scenario.codes(bad) == ["queued", "admitted", "started", "failed"]
    assert len(place.backup_ids()) == 1

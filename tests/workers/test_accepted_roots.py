"""A job whose source is empty or not mounted fails until somebody confirms that: real workers, engines and mounts."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from jobs.database_time import database_now
from jobs.models import Job, Run, RunEvent
from jobs.selectors import run_get
from jobs.sentences import reason_sentence
from jobs.services import run_request
from jobs.states import FailureClass, RunState
from tests.workers import scenario
from tests.workers.harness import Stack


@pytest.fixture
def mounted(tmp_path: Path) -> Iterator[Path]:
    """Mount a file system where the worker sees it, too; the test may unmount it."""
    point = tmp_path / "mount"
    point.mkdir()
    if os.geteuid() != 0 or subprocess.run(["mount", "-t", "tmpfs", "none", point], check=False).returncode:
        pytest.skip("this user may not mount")
    yield point
    if os.path.ismount(point):
        unmount(point)


def unmount(point: Path) -> None:
    subprocess.run(["umount", "--lazy", point], check=True)


def test_a_source_that_is_not_mounted_fails_until_that_is_confirmed(
    stack: Stack, tmp_path: Path, mounted: Path
) -> None:
    """2.6: the failure names the next step, the confirmation holds for one run, and the next one is an ordinary one."""
    source = scenario.small_tree(mounted)
    stack.start_worker("work", group="unmounted")
    place = scenario.ground(tmp_path, "unmounted")
    asked = scenario.job(place, mounted, max_attempts=1)
    assert scenario.finished(scenario.request(asked)).state == RunState.SUCCEEDED
    unmount(mounted)
    scenario.small_tree(mounted, source.name)

    refused = scenario.finished(scenario.request(asked))
    (task,) = scenario.tasks(refused)
    assert (refused.state, refused.failure_class) == (RunState.FAILED, FailureClass.SOURCE)
    assert (task.error_code, len(place.backup_ids())) == ("SOURCE_UNMOUNTED", 1)
    assert f"mounted at {mounted}" in task.error_message
    command = f"./syncova ctl job run {asked.name} --accept-new-root"
    assert refused.error_hint.endswith(command)
    assert task.error_hint.endswith(command)

    accepted = scenario.finished(confirmed(asked))
    assert (accepted.state, accepted.files) == (RunState.SUCCEEDED, 5)
    told = RunEvent.objects.get(run_id=accepted.id, code="queued")
    assert (told.actor, told.parameters["accept_new_root"]) == ("operator", True)
    after = scenario.finished(scenario.request(asked))
    assert (after.state, after.accept_new_root) == (RunState.SUCCEEDED, False)


def test_an_emptied_source_beside_a_good_one_says_how_to_go_on(stack: Stack, tmp_path: Path) -> None:
    """2.6, A6: partial, with the command in the run's sentence; the good source is backed up each time."""
    emptied, good = scenario.small_tree(tmp_path, "emptied"), scenario.small_tree(tmp_path, "good")
    stack.start_worker("work", group="emptied")
    place = scenario.ground(tmp_path, "emptied")
    asked = scenario.job(place, emptied, good)
    scenario.finished(scenario.request(asked))
    shutil.rmtree(emptied / "sub")
    (emptied / "lost+found").mkdir()

    partial = scenario.finished(scenario.request(asked))
    assert (partial.state, [task.error_code for task in scenario.tasks(partial)]) == (
        RunState.PARTIAL_FAILURE,
        ["SOURCE_EMPTY", ""],
    )
    sentence = reason_sentence(run_get(partial.id))
    assert "source suddenly empty" in sentence
    assert sentence.endswith(f"./syncova ctl job run {asked.name} --accept-new-root")

    assert scenario.finished(confirmed(asked)).state == RunState.SUCCEEDED
    assert scenario.finished(scenario.request(asked)).state == RunState.SUCCEEDED


def confirmed(asked: Job) -> Run:
    return run_request(job_id=asked.id, actor="operator", now=database_now(), accept_new_root=True)

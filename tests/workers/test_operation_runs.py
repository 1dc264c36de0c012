"""Runs without a job from their request to their verdict: real beat, real workers, the real engine (6.7)."""

import base64
import os
import uuid
from pathlib import Path
from typing import Any

from jobs.database_time import database_now
from jobs.models import Run
from jobs.services import operation_request, run_cancel
from jobs.states import HeldCode, RunKind, RunState
from tests.workers import scenario
from tests.workers.harness import Stack, eventually
from tests.workers.scenario import Ground


def ask(place: Ground, kind: RunKind, **parameters: Any) -> Run:
    now = database_now()
    return operation_request(kind, repository_id=place.repository.id, parameters=parameters, actor="test", now=now)


def encoded(path: Path) -> str:
    return base64.b64encode(os.fsencode(path)).decode()


def test_every_kind_goes_through_the_queue(stack: Stack, tmp_path: Path, settings: Any) -> None:
    """Backup, forget, prune, check, copy and restore: one admission, one worker, one verdict each."""
    settings.SYNCOVA_RESTORE_ROOTS = [str(tmp_path)]
    stack.start_worker("work", group="kinds", SYNCOVA_RESTORE_ROOTS=str(tmp_path))
    place, other = scenario.ground(tmp_path, "kinds"), scenario.ground(tmp_path, "kinds", name="other")
    tree = scenario.small_tree(tmp_path)
    asked = scenario.job(place, tree)
    for _ in range(2):
        assert scenario.finished(scenario.request(asked)).state == RunState.SUCCEEDED
    runs = [
        scenario.finished(ask(*order[:2], **order[2]))
        for order in (
            (place, RunKind.FORGET, {"keep_last": 1, "dry_run": True}),
            (place, RunKind.FORGET, {"keep_last": 1}),
            (place, RunKind.PRUNE, {"max_unused_percent": 0}),
            (place, RunKind.CHECK, {"read_data": True}),
            (other, RunKind.COPY, {"from_repository_id": str(place.repository.id)}),
            (other, RunKind.RESTORE, {"backup": "latest", "target_base64": encoded(tmp_path / "back")}),
        )
    ]
    assert [(run.kind, run.state, run.error_message) for run in runs] == [
        (run.kind, RunState.SUCCEEDED, "") for run in runs
    ]
    plan, forgotten, pruned, checked, copied, restored = (run.reason_parameters for run in runs)
    assert (plan["to_delete"], forgotten["deleted"], pruned["finished"]) == (1, 1, True)
    assert (checked["backups"], copied["copied"], restored["state"]) == (1, 1, "restored")
    assert sorted(path.name for path in (tmp_path / "back" / "sub").iterdir()) == sorted(os.listdir(tree / "sub"))
    assert [scenario.codes(run) for run in runs] == [["queued", "admitted", "started", "succeeded"]] * 6


def test_a_restore_is_never_blocked_by_the_nights_backups(stack: Stack, tmp_path: Path, settings: Any) -> None:
    """28, C2: two slots, backups for both; one waits and says for what, and a restore comes and goes meanwhile."""
    settings.SYNCOVA_RESTORE_ROOTS = [str(tmp_path)]
    stack.start_worker("work", group="night", slots=2, SYNCOVA_RESTORE_ROOTS=str(tmp_path))
    place, other = scenario.ground(tmp_path, "night"), scenario.ground(tmp_path, "night", name="other")
    assert scenario.finished(scenario.request(scenario.job(other, scenario.small_tree(tmp_path)))).state == "succeeded"
    slow = scenario.large_tree(tmp_path)
    first = scenario.request(scenario.job(place, slow, bandwidth=scenario.SLOW_RATE))
    scenario.running(first)
    second = scenario.request(scenario.job(other, scenario.small_tree(tmp_path, "second")))
    eventually(lambda: held(second.id) == HeldCode.RESTORE_SLOT, what="the second backup leaves the slot for restores")
    back = scenario.finished(ask(other, RunKind.RESTORE, backup="latest", target_base64=encoded(tmp_path / "back")))
    assert (back.state, back.files) == (RunState.SUCCEEDED, 5)
    assert Run.objects.get(pk=first.pk).state == RunState.RUNNING
    assert Run.objects.get(pk=second.pk).state == RunState.QUEUED
    for run in (first, second):
        run_cancel(run_id=run.id, actor="test", now=database_now())
        scenario.finished(run)


def held(run_id: uuid.UUID) -> str:
    return Run.objects.values_list("held_code", flat=True).get(pk=run_id)

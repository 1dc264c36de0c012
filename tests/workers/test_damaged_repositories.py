"""What finds damage freezes: checks, restores, copies and swapped media, with the real engine; and the way out (G5)."""

import base64
import os
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from jobs.database_time import database_now
from jobs.executors import ExecutionRequest, Failure
from jobs.models import Run
from jobs.sentences import held_sentence
from jobs.services import operation_request
from jobs.states import FailureClass, HeldCode, RunKind, RunState
from repositories.freezing import repository_unfreeze
from repositories.models import RepositoryFreeze
from repositories.selectors import refusal, repository_get
from tests.workers import scenario
from tests.workers.harness import Stack, eventually
from tests.workers.scenario import Ground
from tests.workers.test_executor import execute, request_for
from workers.damage import found


@pytest.fixture
def place(tmp_path: Path, settings: Any, db: None) -> Ground:
    settings.SYNCOVA_INSPECT = ""
    settings.SYNCOVA_RESTORE_ROOTS = [str(tmp_path)]
    return scenario.ground(tmp_path, "direct")


def lose_packs(place: Ground) -> list[Path]:
    """Take all packs away, as a part of the medium that died would; return where they are now."""
    aside = place.directory / "aside"
    aside.mkdir()
    packs = [path for path in Path(place.location, "packs").rglob("*") if path.is_file()]
    return [Path(shutil.move(path, aside / path.name)) for path in packs]


def asked(place: Ground, kind: RunKind, **parameters: Any) -> ExecutionRequest:
    return replace(request_for(place, fence=5), kind=kind, parameters=parameters)


def target(place: Ground) -> str:
    return base64.b64encode(os.fsencode(place.directory / "back")).decode()


def test_whatever_reads_damage_names_the_repository_to_freeze(place: Ground) -> None:
    """G5: a copy freezes the repository that it reads, not the one that it writes."""
    assert execute(request_for(place, scenario.small_tree(place.directory))).damage is None
    other = scenario.ground(place.directory, "direct", name="other")
    lose_packs(place)
    orders = (
        asked(place, RunKind.CHECK),
        asked(place, RunKind.RESTORE, backup="latest", target_base64=target(place)),
        asked(other, RunKind.COPY, from_repository_id=str(place.repository.id)),
    )
    for order in orders:
        done = execute(order)
        assert done.failure is not None
        assert (done.failure.failure_class, done.damage is not None) == (FailureClass.INTEGRITY, True), order.kind
        assert done.damage is not None
        assert done.damage.repository_id == place.repository.id
        assert done.damage.reason.startswith(f"A {order.kind} run found")


def test_a_repository_that_cannot_be_opened_for_damage_is_named_too(place: Ground) -> None:
    for path in Path(place.location, "config").parent.rglob("config/*"):
        whole = path.read_bytes()
        path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    done = execute(request_for(place, scenario.small_tree(place.directory)))
    assert done.failure is not None
    assert (done.failure.failure_class, done.damage is not None) == (FailureClass.INTEGRITY, True)


@pytest.mark.parametrize("failure_class", sorted(FailureClass))
def test_only_what_speaks_of_stored_bytes_freezes(place: Ground, failure_class: FailureClass) -> None:
    """A medium that is away, a wrong password or a full disk is no damage."""
    damage = found(request_for(place), Failure("X", "x" * 900, failure_class))
    assert (damage is not None) is (failure_class in {FailureClass.INTEGRITY, FailureClass.SECURITY})
    assert damage is None or len(damage.reason) <= 500


@pytest.mark.parametrize("kind", [RunKind.CHECK, RunKind.RESTORE, RunKind.BACKUP])
def test_every_kind_of_run_freezes_a_swapped_medium(place: Ground, kind: RunKind) -> None:
    tree = scenario.small_tree(place.directory)
    os.rename(place.location, place.directory / "mine")
    other = scenario.new_repository(Path(place.location))
    order = replace(request_for(place, tree, fence=5), kind=kind, parameters={"target_base64": target(place)})
    done = execute(replace(order, parameters={**order.parameters, "backup": "latest"}))
    assert done.damage is None
    assert other in RepositoryFreeze.objects.get(repository=place.repository, cleared_at=None).reason


def test_a_failed_check_freezes_until_somebody_clears_it(stack: Stack, tmp_path: Path, settings: Any) -> None:
    """G1, G4, G5: reason in the list, in what waits and in the events; also for a new scheduler; restores go on."""
    settings.SYNCOVA_RESTORE_ROOTS = [str(tmp_path)]
    stack.start_worker("work", group="hurt", SYNCOVA_RESTORE_ROOTS=str(tmp_path))
    place = scenario.ground(tmp_path, "hurt")
    job = scenario.job(place, scenario.small_tree(tmp_path))
    assert scenario.finished(scenario.request(job)).state == RunState.SUCCEEDED
    packs = lose_packs(place)
    check = scenario.finished(ask(place, RunKind.CHECK))
    assert (check.state, check.failure_class) == (RunState.FAILED, FailureClass.INTEGRITY)
    assert scenario.codes(check) == ["queued", "admitted", "started", "repository_frozen", "failed"]
    refused = refusal(repository_get(place.repository.id))
    assert refused is not None
    assert check.error_message in refused.reason

    waiting = scenario.request(job)
    stack.kill_session("control")
    stack.start_control()
    eventually(lambda: held(waiting) == HeldCode.FROZEN, what="the backup is held")
    assert check.error_message in held_sentence(Run.objects.get(pk=waiting.pk))
    for pack in packs:
        home = Path(place.location, "packs", pack.name[:2])
        shutil.move(pack, (home if home.is_dir() else Path(place.location, "packs")) / pack.name)
    back = scenario.finished(ask(place, RunKind.RESTORE, backup="latest", target_base64=target(place)))
    assert (back.state, held(waiting)) == (RunState.SUCCEEDED, HeldCode.FROZEN)
    assert repository_unfreeze(repository_id=place.repository.id, actor="alice", now=database_now()) == 1
    assert scenario.finished(waiting).state == RunState.SUCCEEDED


def ask(place: Ground, kind: RunKind, **parameters: Any) -> Run:
    now = database_now()
    return operation_request(kind, repository_id=place.repository.id, parameters=parameters, actor="test", now=now)


def held(run: Run) -> str:
    return Run.objects.values_list("held_code", flat=True).get(pk=run.pk)

"""Prune, forget, restore and copy by the engine executor directly, with the real engine and database (6.7)."""

import base64
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from jobs.executors import ExecutionRequest
from jobs.states import FailureClass, RunKind
from repositories.models import RepositoryFreeze
from tests.workers import scenario
from tests.workers.scenario import Ground
from tests.workers.test_executor import Control, execute, request_for

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def silent(settings: Any) -> None:
    settings.SYNCOVA_INSPECT = ""


@pytest.fixture
def place(tmp_path: Path, settings: Any) -> Ground:
    settings.SYNCOVA_RESTORE_ROOTS = [str(tmp_path / "restores")]
    return scenario.ground(tmp_path, "direct")


def asked(place: Ground, kind: RunKind, fence: int = 5, **parameters: Any) -> ExecutionRequest:
    return replace(request_for(place, fence=fence), kind=kind, parameters=parameters)


def backed_up(place: Ground, tree: Path, times: int = 1) -> None:
    for number in range(times):
        (tree / f"new-{number}").write_bytes(os.urandom(300_000))
        assert execute(request_for(place, tree, fence=number + 1)).failure is None


def encoded(path: Path | str) -> str:
    return base64.b64encode(os.fsencode(path)).decode()


def test_a_dry_forget_tells_the_plan_and_deletes_nothing(place: Ground) -> None:
    backed_up(place, scenario.small_tree(place.directory), times=3)
    control = Control()
    done = execute(asked(place, RunKind.FORGET, keep_last=1, dry_run=True), control)
    assert (done.failure, done.parameters["to_keep"], done.parameters["to_delete"]) == (None, 1, 2)
    assert [each["keep"] for each in done.parameters["plan"]].count(False) == 2
    assert all(each["why"] for each in done.parameters["plan"])
    assert sum("plan: delete" in line for line in control.lines) == 2
    assert (control.asked, len(place.backup_ids())) == (0, 3)


def test_forgetting_deletes_once_the_lease_is_confirmed_and_pruning_frees(place: Ground) -> None:
    """execution.md, section 1: a deletion is a commit too; the fence that the repository holds is confirmed."""
    backed_up(place, scenario.small_tree(place.directory), times=3)
    control = Control()
    done = execute(asked(place, RunKind.FORGET, fence=9, keep_last=1), control)
    assert (done.failure, done.parameters["deleted"], control.asked) == (None, 2, 1)
    assert len(place.backup_ids()) == 1
    place.repository.refresh_from_db()
    assert (place.repository.fence_intended, place.repository.fence_confirmed) == (9, 9)
    plan = execute(asked(place, RunKind.PRUNE, dry_run=True))
    assert (plan.parameters["dry_run"], plan.parameters["removed_backups"]) == (True, 0)
    pruned = execute(asked(place, RunKind.PRUNE, max_unused_percent=0))
    assert (pruned.failure, pruned.parameters["finished"], pruned.parameters["removed_backups"]) == (None, True, 2)
    good = execute(asked(place, RunKind.CHECK, read_data=True))
    assert (good.failure, good.parameters["backups"]) == (None, 1)
    proof = good.parameters["proof"]
    assert proof["verified_bytes"] == proof["bytes"] > 0, "what the repository's page calls proven"


@pytest.mark.parametrize("kind", [RunKind.FORGET, RunKind.PRUNE])
def test_in_another_repositorys_place_nothing_is_deleted(place: Ground, kind: RunKind) -> None:
    """A10, G5: what was swapped is a stranger's; a deletion says so instead of going on."""
    backed_up(place, scenario.small_tree(place.directory), times=2)
    os.rename(place.location, place.directory / "mine")
    scenario.new_repository(Path(place.location))
    done = execute(asked(place, kind, keep_last=1))
    assert done.failure is not None
    assert (done.failure.code, done.failure.failure_class) == ("SECURITY", FailureClass.SECURITY)
    assert done.elsewhere
    assert "swapped" in RepositoryFreeze.objects.get(repository=place.repository, cleared_at=None).reason


def test_a_restore_writes_below_an_allowed_root(place: Ground) -> None:
    """E6: the tree comes back bit for bit; a second one finds all of it there."""
    tree = scenario.small_tree(place.directory)
    backed_up(place, tree)
    target = place.directory / "restores" / "one"
    order: dict[str, Any] = {"backup": "latest", "target_base64": encoded(target), "verify": True}
    planned = execute(asked(place, RunKind.RESTORE, **order, dry_run=True))
    assert (planned.failure, planned.parameters["state"], target.exists()) == (None, "planned", False)
    done = execute(asked(place, RunKind.RESTORE, **order))
    assert (done.failure, done.figures.files, done.parameters["state"]) == (None, 6, "restored")
    assert {path.relative_to(target): path.read_bytes() for path in target.rglob("*") if path.is_file()} == {
        path.relative_to(tree): path.read_bytes() for path in tree.rglob("*") if path.is_file()
    }


def test_what_was_there_and_is_kept_makes_a_restore_partial(place: Ground) -> None:
    backed_up(place, scenario.small_tree(place.directory))
    target = place.directory / "restores" / "one"
    target.mkdir(parents=True)
    (target / "new-0").write_bytes(b"mine")
    done = execute(asked(place, RunKind.RESTORE, backup="latest", target_base64=encoded(target)))
    assert (done.figures.skipped, done.skip_reasons) == (1, {"kept": 1})
    assert (target / "new-0").read_bytes() == b"mine"


@pytest.mark.parametrize("name", ["../elsewhere", "restores", "linked/inside", "restores/../elsewhere"])
def test_a_target_outside_the_roots_is_refused_where_it_runs(place: Ground, name: str) -> None:
    """execution.md, section 3: also where only a link leads out of a root; nothing is written."""
    backed_up(place, scenario.small_tree(place.directory))
    outside = place.directory / "outside"
    outside.mkdir()
    (place.directory / "restores").mkdir()
    (place.directory / "restores" / "out").symlink_to(outside)
    named = "restores/out/inside" if name == "linked/inside" else name
    target = f"{place.directory}/{named}"
    done = execute(asked(place, RunKind.RESTORE, backup="latest", target_base64=encoded(target)))
    assert done.failure is not None
    assert (done.failure.code, list(outside.iterdir())) == ("RESTORE_TARGET_NOT_ALLOWED", [])


def test_a_stored_order_for_more_than_was_planned_deletes_nothing(place: Ground) -> None:
    """What stands in a row may come from another version: without the moment of a plan nothing is deleted."""
    backed_up(place, scenario.small_tree(place.directory))
    target = place.directory / "restores" / "one"
    target.mkdir(parents=True)
    (target / "mine").write_bytes(b"mine")
    asks: dict[str, Any] = {"delete": True, "overwrite": "always", "target_base64": encoded(target)}
    done = execute(asked(place, RunKind.RESTORE, backup="latest", **asks))
    assert (done.failure, (target / "mine").read_bytes(), (target / "new-0").exists()) == (None, b"mine", True)
    both = execute(asked(place, RunKind.RESTORE, backup="latest", in_place=True, **asks))
    assert both.failure is not None
    assert both.failure.failure_class is FailureClass.CONFIGURATION


def test_a_restore_in_place_deletes_what_its_plan_showed(place: Ground) -> None:
    """What came after the plan stays, and makes the run partial by no means: nobody has asked for its end."""
    tree = scenario.small_tree(place.directory)
    backed_up(place, tree)
    (tree / "new-0").unlink()
    (tree / "gained").mkdir()
    (tree / "gained" / "file").write_bytes(b"gained")
    order: dict[str, Any] = {"backup": "latest", "in_place": True, "overwrite": "if-changed", "delete": True}
    plan = execute(asked(place, RunKind.RESTORE, **order, dry_run=True))
    assert (plan.failure, plan.parameters["deletion_deleted"]) == (None, 2)
    assert [each["path"] for each in plan.parameters["deletion_paths"]] == ["gained"]
    (tree / "later").write_bytes(b"later")
    control = Control()
    agreed = {**order, "backup": plan.parameters["backup_id"], "delete_before_ns": plan.parameters["planned_ns"]}
    done = execute(asked(place, RunKind.RESTORE, **agreed), control)
    assert (done.failure, done.parameters["deletion_deleted"], done.parameters["deletion_spared"]) == (None, 2, 1)
    assert sorted(path.name for path in tree.iterdir()) == ["later", "new-0", "sub"]
    assert any("deleted: gained" in line for line in control.lines)
    assert any("stays: later" in line for line in control.lines)


@pytest.mark.parametrize("where", ["outside", "own", "linked"])
def test_a_place_that_this_machine_does_not_give_is_not_restored_into(place: Ground, settings: Any, where: str) -> None:
    """execution.md, section 3: in place within the source roots of the executing machine, never in our own data."""
    tree = scenario.small_tree(place.directory)
    backed_up(place, tree)
    (tree / "new-0").unlink()
    if where == "outside":
        settings.SYNCOVA_SOURCE_ROOTS = [str(place.directory / "elsewhere")]
    elif where == "own":
        settings.DATA_DIR = tree.parent
    else:
        settings.SYNCOVA_SOURCE_ROOTS = [str(tree)]
        tree.rename(place.directory / "moved")
        tree.symlink_to(place.directory / "restores")
        settings.SYNCOVA_SOURCE_ROOTS = [str(place.directory / "moved")]
    done = execute(asked(place, RunKind.RESTORE, backup="latest", in_place=True, overwrite="always"))
    assert done.failure is not None
    assert done.failure.code == "RESTORE_TARGET"
    assert not (tree / "new-0").exists()


def test_parameters_that_are_no_order_fail_by_name(place: Ground) -> None:
    done = execute(asked(place, RunKind.PRUNE, max_unused_percent="much"))
    assert done.failure is not None
    assert done.failure.failure_class is FailureClass.CONFIGURATION


def test_a_copy_brings_the_backups_of_another_repository(place: Ground) -> None:
    backed_up(place, scenario.small_tree(place.directory), times=2)
    other = scenario.ground(place.directory, "direct", name="other")
    order: dict[str, Any] = {"from_repository_id": str(place.repository.id)}
    done = execute(asked(other, RunKind.COPY, **order))
    assert (done.failure, done.parameters["copied"], done.elsewhere) == (None, 2, "")
    assert sorted(other.backup_ids()) == sorted(place.backup_ids())
    again = execute(asked(other, RunKind.COPY, **order))
    assert (again.parameters["copied"], again.parameters["there"]) == (0, 2)


def test_a_copy_from_nowhere_fails_by_name(place: Ground) -> None:
    for named in ("01900000-0000-7000-8000-000000000000", "nonsense"):
        done = execute(asked(place, RunKind.COPY, from_repository_id=named))
        assert done.failure is not None
        assert done.failure.failure_class is FailureClass.CONFIGURATION

"""A repository that was rolled back, or of which part is withheld, is found by whoever opens it next (3.14)."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from jobs.executors import ExecutionResult
from jobs.retries import is_retryable
from jobs.states import FailureClass, RunKind, TaskState
from repositories.engine.backup import Hooks
from repositories.engine.forgetting import ForgetRequest, forget, plan
from repositories.engine.high_water import HighWater
from repositories.engine.prune import PruneRequest, prune
from repositories.engine.repository import open_repository
from repositories.engine.storage.locations import open_storage
from repositories.freezing import repository_unfreeze
from repositories.memory import state_remembered
from repositories.models import Backup, Repository, RepositoryMemory
from repositories.selectors import refusal
from tests.engine.histories import mark
from tests.repositories.builders import NOW
from tests.workers import scenario
from tests.workers.scenario import Ground, open_reasons
from tests.workers.test_executor import Control, execute, request_for
from workers.operations import inspect

pytestmark = pytest.mark.django_db


@pytest.fixture
def tree(place: Ground) -> Path:
    """Return a tree that was backed up twice; a copy of the repository is from in between."""
    tree = scenario.small_tree(place.directory)
    backed_up(place, tree, fence=1)
    shutil.copytree(place.location, place.directory / "older")
    backed_up(place, tree, fence=2)
    return tree


def backed_up(place: Ground, tree: Path, fence: int) -> ExecutionResult:
    return execute(request_for(place, tree, fence=fence))


def withhold_newest(place: Ground) -> None:
    newest = Backup.objects.order_by("created_at", "id").last()
    assert newest is not None
    for name in (f"manifests/{newest.manifest_id}", f"copies/manifests/{newest.manifest_id}"):
        Path(place.location, name).unlink()


def put_older_back(place: Ground) -> None:
    shutil.rmtree(place.location)
    shutil.copytree(place.directory / "older", place.location)


def contents(place: Ground) -> set[str]:
    return {str(path.relative_to(place.location)) for path in Path(place.location).rglob("*") if path.is_file()}


@pytest.mark.parametrize("hurt", [withhold_newest, put_older_back])
def test_a_backup_is_refused_and_the_repository_frozen(
    place: Ground, tree: Path, hurt: Callable[[Ground], None]
) -> None:
    """Nothing is written until somebody has looked; that one's word is then the memory's new beginning."""
    hurt(place)
    before = contents(place)
    result = backed_up(place, tree, fence=3)
    assert result.failure is not None
    assert (result.failure.code, result.failure.failure_class) == ("REPOSITORY_ROLLED_BACK", FailureClass.SECURITY)
    assert not is_retryable(result.failure.failure_class)
    assert "unfreeze" in result.failure.hint
    assert contents(place) == before
    (reason,) = open_reasons(place)
    assert "earlier state" in reason
    assert "neither there nor deleted" in reason
    refused = refusal(Repository.objects.get(pk=place.repository.pk))
    assert refused is not None
    assert reason in refused.reason
    repository_unfreeze(repository_id=place.repository.id, actor="alice", now=NOW)
    for fence in (4, 5):
        assert backed_up(place, tree, fence=fence).sources[0].state is TaskState.SUCCEEDED
    assert open_reasons(place) == []


def test_a_check_finds_it(place: Ground, tree: Path) -> None:
    withhold_newest(place)
    result = execute(replace(request_for(place, tree, fence=3), kind=RunKind.CHECK))
    assert result.failure is not None
    assert result.failure.failure_class is FailureClass.INTEGRITY
    assert len(open_reasons(place)) == 1


def test_a_look_finds_it(place: Ground, tree: Path) -> None:
    put_older_back(place)
    inspect(place.repository.id)
    assert len(open_reasons(place)) == 1


def test_what_is_deleted_and_pruned_by_hand_is_not_missed(place: Ground, tree: Path) -> None:
    repository = open_repository(open_storage(place.location), scenario.PASSWORD)
    oldest = place.backup_ids()[0]
    forget(repository, plan(repository, ForgetRequest((oldest,))))
    assert prune(repository, PruneRequest(max_unused=0.0), Hooks()).removed_backups == 1
    assert backed_up(place, tree, fence=3).sources[0].state is TaskState.SUCCEEDED
    assert open_reasons(place) == []


def test_another_repository_in_its_place_is_swapped_and_not_rolled_back(place: Ground, tree: Path) -> None:
    """A10: the run goes on, and what was seen of the registered one stays remembered."""
    remembered = state_remembered(repository_id=place.repository.id)
    shutil.rmtree(place.location)
    scenario.new_repository(Path(place.location))
    result = backed_up(place, tree, fence=3)
    assert (result.failure, bool(result.elsewhere)) == (None, True)
    assert "swapped" in open_reasons(place)[0]
    assert state_remembered(repository_id=place.repository.id) == remembered


def test_runs_side_by_side_do_not_take_each_other_for_withheld(place: Ground, tree: Path) -> None:
    """One begins before the other commits, and ends after it: both of their backups are remembered."""

    class Meanwhile(Control):
        def confirm(self) -> None:
            super().confirm()
            if self.asked == 1:
                backed_up(place, tree, fence=4)

    other = scenario.small_tree(place.directory, "other")
    assert execute(request_for(place, other, fence=3), Meanwhile()).sources[0].state is TaskState.SUCCEEDED
    remembered = state_remembered(repository_id=place.repository.id)
    assert set(Backup.objects.values_list("manifest_id", flat=True)) == set(remembered.manifests)
    assert backed_up(place, tree, fence=5).failure is None
    assert open_reasons(place) == []


@pytest.mark.parametrize("state", [[], {"manifests": [1]}])
def test_a_memory_that_makes_no_sense_is_as_none(place: Ground, tree: Path, state: object) -> None:
    RepositoryMemory.objects.filter(pk=place.repository.pk).update(state=state)
    assert backed_up(place, tree, fence=3).failure is None
    assert len(state_remembered(repository_id=place.repository.id).manifests) == 3


def test_the_number_of_a_lost_mark_stays_remembered(place: Ground, tree: Path) -> None:
    """Whoever confirms the loss has not seen the number: no prune is to use it again."""
    put = mark(open_repository(open_storage(place.location), scenario.PASSWORD).store, 4)
    assert backed_up(place, tree, fence=3).failure is None
    Path(place.location, f"marks/{put.hex()}").unlink()
    assert backed_up(place, tree, fence=4).failure is not None
    repository_unfreeze(repository_id=place.repository.id, actor="alice", now=NOW)
    assert state_remembered(repository_id=place.repository.id) == HighWater(given_up=4)
    assert backed_up(place, tree, fence=5).failure is None
    remembered = state_remembered(repository_id=place.repository.id)
    assert (remembered.fence, remembered.highest_number, len(remembered.manifests)) == (0, 4, 4)

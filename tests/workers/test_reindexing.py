"""The database learns from the repository: rows lost, all lost, a dump restored, a twin beside us (6.8, A9)."""

import os
import shutil
import uuid
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from jobs.executors import ExecutionResult
from jobs.states import FailureClass, RunKind, TaskState
from repositories.engine.backup import BackupOptions, Hooks, SourceSpec, back_up
from repositories.engine.controllers import put_controller, read_controllers
from repositories.engine.process.client import EngineProcess
from repositories.engine.repository import Repository as OpenRepository
from repositories.engine.repository import open_repository
from repositories.engine.storage.locations import open_storage
from repositories.models import Backup, Repository, RepositoryFreeze, RepositoryMemory
from tests.jobs.builders import make_runner, make_source
from tests.repositories.builders import make_backup
from tests.workers import scenario
from tests.workers.scenario import Ground, next_fence, open_reasons
from tests.workers.test_executor import execute, request_for
from workers.reindexing import ReindexError, reindex

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("sequence_as_before")]


def backed_up(place: Ground, tree: Path, fence: int) -> None:
    """Back up by the executor."""
    assert execute(request_for(place, tree, fence=fence)).sources[0].state is TaskState.SUCCEEDED


def there(place: Ground) -> OpenRepository:
    return open_repository(open_storage(place.location), scenario.PASSWORD)


def alone(place: Ground, tree: Path, *names: str) -> None:
    """Back up with no control plane."""
    for name in names:
        options = BackupOptions(backup_id=name, run_id=str(uuid.uuid4()))
        with there(place).begin_write() as session:
            back_up(session, SourceSpec(name="alone", path=os.fsencode(tree)), options, Hooks())


def marked(place: Ground, epoch: int, fence: int) -> None:
    """Leave in the repository what a control plane of this id has put there."""
    put_controller(there(place), place.repository.id.bytes, epoch, fence)


def knows(place: Ground, fence: int, *, epoch: int = 1) -> None:
    """Let the row say what it says when `fence` is the newest that the database knows of."""
    mark = {"fence_intended": fence, "fence_confirmed": fence, "epoch": epoch}
    Repository.objects.filter(pk=place.repository.pk).update(reindex_wanted_at=None, reindex_reason="", **mark)


def row(place: Ground) -> Repository:
    return Repository.objects.get(pk=place.repository.pk)


def deletion(place: Ground, kind: RunKind, fence: int) -> ExecutionResult:
    wanted = {"keep_last": 1} if kind is RunKind.FORGET else {"max_unused_percent": 0}
    return execute(replace(request_for(place, fence=fence), kind=kind, parameters=wanted))


def contents(place: Ground) -> set[str]:
    found = Path(place.location).rglob("*")
    return {str(path) for path in found if path.is_file() and "sessions" not in path.parts}


def told_by(*rows: Backup) -> list[dict[str, Any]]:
    """Return rows without what only the database knew."""
    own = {"_state", "id", "created_at", "repository_id", "task_run_id", "job_id", "source_id"}
    return [{name: value for name, value in vars(row).items() if name not in own} for row in rows]


def test_rows_are_rebuilt_as_they_were(place: Ground, tree: Path) -> None:
    """A9: what is lost comes back, what is gone goes; what stand-alone programs made is external."""
    backed_up(place, tree, 1)
    alone(place, tree, "alone-1")
    lost = Backup.objects.get()
    before = told_by(lost)
    Backup.objects.filter(pk=lost.pk).update(backup_id="run-none-gone-00000000")
    done = reindex(place.repository.id, actor="test")
    assert (done.rebuilt.added, done.rebuilt.kept, done.rebuilt.removed, done.rebuilt.refused) == (2, 0, 1, ())
    assert (done.taken_over, done.epoch, done.reconciled.runs_ended) == (False, 1, 0)
    assert told_by(*Backup.objects.exclude(trigger="external")) == before
    found = Backup.objects.get(trigger="external")
    assert (found.run_id, found.source_id, found.job_id) == (None, None, None)
    assert open_reasons(place) == []
    ids = set(Backup.objects.values_list("pk", flat=True))
    assert reindex(place.repository.id, actor="test").rebuilt.kept == 2
    assert set(Backup.objects.values_list("pk", flat=True)) == ids


def test_after_the_loss_of_the_database_the_repository_is_enough(place: Ground, tree: Path) -> None:
    """A9: registered anew, under another id; who made its backups is no matter, and nothing is frozen."""
    backed_up(place, tree, 7)
    source = make_source(os.fsencode(tree), runner=make_runner("direct"))
    before = told_by(*Backup.objects.all())
    for model in (Backup, RepositoryMemory, Repository):
        model.objects.all().delete()
    again = scenario.registered(place.location, "direct")
    out = StringIO()
    call_command("reindex_repository", again.name, stdout=out)
    assert f"{again.name}: 1 backup added, 0 kept, 0 gone" in out.getvalue()
    assert told_by(*Backup.objects.all()) == before
    assert Backup.objects.get().source_id == source.id
    assert not RepositoryFreeze.objects.exists()


def test_an_older_database_deletes_nothing_until_it_has_learned(place: Ground, tree: Path) -> None:
    """Object > intended: frozen; the reindexing sets the sequence above, begins the next epoch, and ends the freeze."""
    alone(place, tree, "alone-1", "alone-2")
    marked(place, 1, 500)
    knows(place, 1)
    before = contents(place)
    for kind in (RunKind.FORGET, RunKind.PRUNE):
        refused = deletion(place, kind, 2)
        assert refused.failure is not None
        assert refused.failure.code == "CONTROL_PLANE_OUTDATED"
        assert refused.failure.failure_class is FailureClass.CONFIGURATION
    assert contents(place) == before
    reason = open_reasons(place)[0]
    assert "This database is older" in reason
    assert row(place).reindex_wanted_at is not None

    out = StringIO()
    call_command("reindex_repository", place.repository.name, stdout=out)
    assert "taken over: this database is its control plane in epoch 2" in out.getvalue()
    assert (row(place).epoch, row(place).reindex_wanted_at, open_reasons(place)) == (2, None, [])
    fence = next_fence()
    assert fence > 500
    assert deletion(place, RunKind.FORGET, fence).parameters["deleted"] == 1
    assert open_reasons(place) == []


def test_a_twin_deletes_nothing_and_goes_on_backing_up(place: Ground, tree: Path) -> None:
    """Own epoch < stored: a copy of this database has taken over. Its mark is not put under."""
    alone(place, tree, "alone-1", "alone-2")
    marked(place, 2, 5)
    knows(place, 5)
    for kind in (RunKind.PRUNE, RunKind.FORGET):
        refused = deletion(place, kind, 6)
        assert refused.failure is not None
        assert "Another control plane has taken the repository over" in refused.failure.message
    backed_up(place, tree, 7)
    assert len(place.backup_ids()) == 3
    (mark,) = read_controllers(there(place))
    assert (mark.epoch, mark.highest_fence) == (2, 5)
    assert row(place).reindex_wanted_at is not None


def test_a_twin_that_writes_in_between_is_met_again(place: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the look and the taking over somebody may put a higher mark: it is looked at once more."""
    marked(place, 1, 5)
    knows(place, 1)
    original, opened = EngineProcess.__enter__, []

    def rival(process: EngineProcess) -> EngineProcess:
        opened.append(process)
        if len(opened) == 2:
            marked(place, 4, 77)
        return original(process)

    monkeypatch.setattr(EngineProcess, "__enter__", rival)
    assert reindex(place.repository.id, actor="test").epoch == 5
    assert next_fence() > 77


def test_what_an_old_copy_lacks_is_not_taken_for_deleted(place: Ground, tree: Path) -> None:
    """Object < confirmed, or a state that was seen and is gone: the rows are all that says what was lost."""
    shutil.copytree(place.location, place.directory / "older")
    backed_up(place, tree, 2)
    shutil.rmtree(place.location)
    (place.directory / "older").rename(place.location)
    for forgotten in (False, True):
        if forgotten:
            RepositoryMemory.objects.all().delete()
        with pytest.raises(ReindexError, match="earlier state"):
            reindex(place.repository.id, actor="test")
        assert Backup.objects.count() == 1


def test_another_repository_in_its_place_teaches_nothing(place: Ground) -> None:
    make_backup(place.repository)
    Path(place.location).rename(place.directory / "moved")
    scenario.new_repository(Path(place.location))
    with pytest.raises(CommandError, match="not indexed"):
        call_command("reindex_repository", "--all", stderr=(err := StringIO()))
    assert "unfreeze NAME --adopt" in err.getvalue()
    shutil.rmtree(place.location)
    with pytest.raises(ReindexError, match="could not be listed"):
        reindex(place.repository.id, actor="test")
    assert Backup.objects.count() == 1


@pytest.mark.parametrize("words", [(), ("nobody",), ("vault", "--all")])
def test_the_command_says_what_it_wants(words: tuple[str, ...]) -> None:
    with pytest.raises(CommandError):
        call_command("reindex_repository", *words)

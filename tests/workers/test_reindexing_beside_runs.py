"""A repository is indexed again while runs go on: what they complete is kept, and what is gone is told (A9)."""

from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from jobs.models import RunEvent
from jobs.states import RunState
from repositories.engine.process.protocol import Finished
from repositories.models import Backup
from tests.jobs.builders import make_job, make_run
from tests.repositories.builders import make_backup
from tests.workers.scenario import Ground
from tests.workers.test_reindexing import backed_up, knows, marked
from workers import reindexing
from workers.reindexing import reindex

pytestmark = pytest.mark.django_db


def after_each_list(monkeypatch: pytest.MonkeyPatch, then: Callable[[int, Any], None]) -> list[int]:
    """Call `then` with a number and the answer each time the medium was listed, before anything is done with it."""
    original = reindexing._followed
    lists: list[int] = []

    def followed(*arguments: Any) -> Any:
        seen, last = original(*arguments)
        lists.append(len(lists) + 1)
        assert isinstance(last, Finished)
        then(lists[-1], last.result)
        return seen, last

    monkeypatch.setattr(reindexing, "_followed", followed)
    return lists


@pytest.mark.usefixtures("sequence_as_before")
@pytest.mark.parametrize("restored", [False, True])
def test_a_backup_that_is_completed_after_the_list_keeps_its_row(
    place: Ground, tree: Path, monkeypatch: pytest.MonkeyPatch, restored: bool
) -> None:
    """A9: the list is older than what runs complete while it is made; with or without a taking over."""
    backed_up(place, tree, 1)
    if restored:
        marked(place, 1, 3)
        knows(place, 1)

    def complete(number: int, _: Any) -> None:
        backed_up(place, tree, 10 + number)

    lists = after_each_list(monkeypatch, complete)
    rebuilt = reindex(place.repository.id, actor="test").rebuilt
    assert (rebuilt.gone, Backup.objects.count()) == ((), 1 + len(lists))
    assert set(Backup.objects.values_list("backup_id", flat=True)) == set(place.backup_ids())


def test_the_medium_is_asked_again_before_a_backup_is_called_gone(
    place: Ground, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A list may lack what is there, for instance one of a bucket; what is not on the second one either is gone."""
    backed_up(place, tree, 1)
    gone = make_backup(place.repository, backup_id="gone")
    before = set(Backup.objects.exclude(pk=gone.pk).values_list("pk", flat=True))

    def forget(number: int, told: dict[str, Any]) -> None:
        if number == 1:
            told["backups"].clear()

    lists = after_each_list(monkeypatch, forget)
    rebuilt = reindex(place.repository.id, actor="test").rebuilt
    assert (rebuilt.added, rebuilt.kept, rebuilt.gone, lists) == (0, 1, (("gone", gone.run_id),), [1, 2])
    assert set(Backup.objects.values_list("pk", flat=True)) == before
    reindex(place.repository.id, actor="test")
    assert lists == [1, 2, 3]


def test_a_backup_whose_manifest_cannot_be_read_is_not_gone(place: Ground, tree: Path) -> None:
    backed_up(place, tree, 1)
    row = Backup.objects.get()
    for copy in Path(place.location).rglob(row.manifest_id):
        copy.chmod(0o600)
        copy.write_bytes(b"not a manifest")
    done = reindex(place.repository.id, actor="test")
    assert (done.rebuilt.kept, done.rebuilt.gone, done.unreadable) == (1, (), 1)


def test_a_run_is_told_that_its_backup_is_gone(place: Ground) -> None:
    """Its end stays what it was: the backup was made. That it is there no longer is an event of the run."""
    run = make_run(make_job(repository=place.repository), RunState.SUCCEEDED)
    make_backup(place.repository, backup_id="gone", run_id=run.id)
    out = StringIO()
    call_command("reindex_repository", place.repository.name, stdout=out)
    assert "0 backups added, 0 kept, 1 gone" in out.getvalue()
    assert f"gone: gone (of run {run.id})" in out.getvalue()
    event = RunEvent.objects.filter(run=run).latest("id")
    assert (event.code, event.parameters["backups"]) == ("backup_gone", ["gone"])
    run.refresh_from_db()
    assert run.state == RunState.SUCCEEDED

"""A repository that shows an earlier state is not pruned: what it does not show may still be needed (3.14)."""

from pathlib import Path

import pytest

from repositories.engine.backup import Hooks
from repositories.engine.errors import RepositoryRolledBackError
from repositories.engine.prune import PruneRequest, prune
from repositories.engine.storage.memory import MemoryStorage
from tests.engine.prune.builders import TARGET, back_up, files, forget, reopened
from tests.engine.repositories import make_repository


@pytest.mark.parametrize("dry_run", [False, True])
def test_an_earlier_state_is_not_pruned(tmp_path: Path, *, dry_run: bool) -> None:
    storage = MemoryStorage()
    first = back_up(make_repository(storage), tmp_path / "tree", files(1, 2))
    back_up(reopened(storage), tmp_path / "tree", files(3))
    forget(reopened(storage), first)
    repository = reopened(storage)
    repository.refuse_writing = RepositoryRolledBackError("the repository shows an earlier state than before")
    before = dict(storage.objects)
    request = PruneRequest(pack_target=TARGET, max_unused=0.0, dry_run=dry_run)
    if dry_run:
        assert prune(repository, request, Hooks()).plan.delete
    else:
        with pytest.raises(RepositoryRolledBackError):
            prune(repository, request, Hooks())
    assert storage.objects == before

"""Who names a source in a way that no backup does is told which there are."""

from pathlib import Path

import pytest

from repositories.engine.errors import BackupNotFoundError
from repositories.engine.manifest.backups import LATEST, find_backup, list_backups
from tests.engine.repositories import back_up_tree, local_repository


def test_the_reason_names_the_sources_that_have_backups(tmp_path: Path) -> None:
    repository, tree = local_repository(tmp_path / "repo"), tmp_path / "tree"
    tree.mkdir()
    with pytest.raises(BackupNotFoundError, match=r"^there is no backup of source 'vm:/srv'$"):
        find_backup(repository, LATEST, "vm:/srv")
    back_up_tree(repository, tree)
    (backup,) = list_backups(repository)
    with pytest.raises(BackupNotFoundError) as caught:
        find_backup(repository, LATEST, f"vm:{backup.source_name}")
    assert caught.value.message.endswith(f"only of {backup.source_name!r}")
    with pytest.raises(BackupNotFoundError, match=f"^there is no backup of source '{backup.source_name}'$"):
        find_backup(repository, LATEST, backup.source_name, at_ns=1)

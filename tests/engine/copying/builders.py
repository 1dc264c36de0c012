"""Pairs of repositories, related and not, and copies between them."""

import os
from pathlib import Path

from repositories.engine.backup.options import Hooks
from repositories.engine.copying import CopyReport, CopyRequest, copy_backups
from repositories.engine.manifest.backups import Backup, find_backup, list_backups
from repositories.engine.repository import CreateOptions, Repository, create_repository, open_repository
from repositories.engine.restore import RestoreRequest, restore
from repositories.engine.storage.base import Storage
from repositories.engine.storage.memory import MemoryStorage
from tests import canaries
from tests.engine.repositories import CHEAP
from tests.engine.trees import describe

OTHER_PASSWORD = canaries.repository_password("copied").encode()


def target_for(origin: Repository, *, related: bool, storage: Storage | None = None) -> Repository:
    """Return a new repository to copy to, with a password of its own."""
    options = CreateOptions(
        password=OTHER_PASSWORD, kdf=CHEAP, reserve_bytes=100, related_to=origin.keyring if related else None
    )
    return create_repository(storage or MemoryStorage(), options).repository


def reopened(storage: Storage) -> Repository:
    """Open the target on this medium, as another process does."""
    return open_repository(storage, OTHER_PASSWORD)


def copy(origin: Repository, target: Repository, hooks: Hooks | None = None, **wanted: object) -> CopyReport:
    """Copy with these fields of the request."""
    return copy_backups(origin, target, CopyRequest(**wanted), hooks or Hooks())  # type: ignore[arg-type]


def restored(repository: Repository, backup: Backup, target: Path) -> object:
    """Return what a restore of `backup` puts on a file system."""
    request = RestoreRequest(os.fsencode(target))
    assert restore(repository, backup, request, Hooks()).exit_code == 0
    return describe(target)


def require_equal(origin: Repository, target: Repository, directory: Path) -> None:
    """Restore each backup of the target beside its original: they must not differ by a byte or an attribute."""
    for number, backup in enumerate(list_backups(target)):
        original = find_backup(origin, backup.id)
        directory.mkdir(exist_ok=True)
        assert restored(target, backup, directory / f"copy {number}") == restored(
            origin, original, directory / f"original {number}"
        )

"""Everything that reads a backup, each as a function that returns the exit code a user would see.

What is raised apart from the engine's typed errors is a defect and comes out.
"""

import importlib.util
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import ModuleType

import msgspec

from repositories.engine.backup.options import Hooks
from repositories.engine.browse.criteria import Criteria
from repositories.engine.browse.difference import differences
from repositories.engine.browse.dump import dump_archive
from repositories.engine.browse.finding import Search
from repositories.engine.browse.looking import entries_of, names_of
from repositories.engine.check import CheckRequest, check
from repositories.engine.copying import CopyRequest, copy_backups
from repositories.engine.errors import EngineError
from repositories.engine.manifest.backups import Backup, find_backup
from repositories.engine.repository import CreateOptions, Repository, create_repository
from repositories.engine.restore import Overwrite, RestoreRequest, restore
from repositories.engine.storage.memory import MemoryStorage
from tests.engine.repositories import CHEAP, PASSWORD

DAMAGED = 13
_PROGRAM = Path(__file__).parents[3] / "docs" / "restore_without_syncova.py"

Reader = Callable[[Repository, Backup, Path], int]


def code_of(reader: Reader, repository: Repository, place: Path) -> tuple[int, str]:
    """Return the exit code of a reader that looks at the newest backup, and the message it ends with."""
    try:
        return reader(repository, find_backup(repository, "latest"), place), ""
    except EngineError as error:
        return error.exit_code, error.message


def _restored(repository: Repository, backup: Backup, place: Path, **changes: object) -> int:
    request = RestoreRequest(os.fsencode(place / "target"), **changes)  # type: ignore[arg-type]
    return restore(repository, backup, request, Hooks()).exit_code


def _over(repository: Repository, backup: Backup, place: Path) -> int:
    (place / "target" / "a").mkdir(parents=True)
    (place / "target" / "a" / "x").write_bytes(b"there before")
    return _restored(repository, backup, place, overwrite=Overwrite.ALWAYS, verify=True)


def checked(repository: Repository, backup: Backup, place: Path) -> int:
    del backup, place
    return check(repository, CheckRequest(read_data=True), Hooks()).exit_code


def _listed(repository: Repository, backup: Backup, place: Path) -> int:
    del place
    for _ in names_of(repository.reader(), backup, b""):
        pass
    for _ in entries_of(repository.reader(), backup, b"", recursive=True):
        pass
    return 0


def _dumped(repository: Repository, backup: Backup, place: Path) -> int:
    del place
    dump_archive(repository.reader(), backup, b"", len)
    return 0


def _dumped_in_part(repository: Repository, backup: Backup, place: Path) -> int:
    del place
    done = dump_archive(repository.reader(), backup, b"", len, skip_damaged=True)
    return DAMAGED if done.damaged else 0


def _found(repository: Repository, backup: Backup, place: Path) -> int:
    del place
    search = Search(repository.reader(), [backup], Criteria())
    for _ in search.results():
        pass
    return DAMAGED if search.unread else 0


def _differing(repository: Repository, backup: Backup, place: Path) -> int:
    """Compare with an empty backup: what both share need not be read."""
    del place
    root = msgspec.structs.replace(backup.root, pages=None)
    for _ in differences(repository.reader(), Backup("0" * 32, 0, root), backup):
        pass
    return 0


def _copied(repository: Repository, backup: Backup, *, related: bool) -> int:
    """Copy; what no reader would take must not become a backup in another place."""
    keyring = repository.keyring if related else None
    options = CreateOptions(password=PASSWORD, kdf=CHEAP, reserve_bytes=10, related_to=keyring)
    target = create_repository(MemoryStorage(), options).repository
    report = copy_backups(repository, target, CopyRequest((backup.manifest_id,)), Hooks())
    assert len(target.backups()) == len(report.copied)
    return report.exit_code


def _copied_related(repository: Repository, backup: Backup, place: Path) -> int:
    del place
    return _copied(repository, backup, related=True)


def _copied_unrelated(repository: Repository, backup: Backup, place: Path) -> int:
    del place
    return _copied(repository, backup, related=False)


@cache
def _program() -> ModuleType:
    spec = importlib.util.spec_from_file_location("restore_without_syncova", _PROGRAM)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _without_syncova(repository: Repository, backup: Backup, place: Path) -> int:
    """The program of docs/, which knows nothing of the engine."""
    storage, program = repository.storage, _program()
    assert isinstance(storage, MemoryStorage)
    for name, data in storage.objects.items():
        path = place.parent / "repository" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    try:
        reader = program.Repository(place.parent / "repository", PASSWORD.decode())
        root = next(root for manifest, _, root in reader.backups() if manifest == backup.manifest_id)
        return DAMAGED if program.Restorer(reader, root, os.fsencode(place / "target")).run() else 0
    except program.DAMAGED:
        return DAMAGED


WRITERS: dict[str, Reader] = {
    "restore": _restored,
    "restore over": _over,
    "without syncova": _without_syncova,
}
CONTENT: dict[str, Reader] = {
    "check": checked,
    "dump": _dumped,
    "dump in part": _dumped_in_part,
    "copy, related": _copied_related,
    "copy, unrelated": _copied_unrelated,
}
NAMES: dict[str, Reader] = {"ls": _listed, "find": _found, "diff": _differing}

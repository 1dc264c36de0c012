"""Repositories for tests: on memory or disk, with cheap keys and a clock that stands a little in the future."""

import os
import uuid
from pathlib import Path

from repositories.engine.backup import BackupOptions, BackupResult, Hooks, SourceSpec, back_up
from repositories.engine.clock import SYSTEM_CLOCK, Clock
from repositories.engine.format.kinds import RESERVE_NAME
from repositories.engine.ids import backup_id, uuid7
from repositories.engine.keys.kdf import KdfParameters
from repositories.engine.limits import MIB
from repositories.engine.manifest.backups import list_backups, walk_entries
from repositories.engine.manifest.entries import Entry
from repositories.engine.repository import CreateOptions, Repository, WriteSession, create_repository
from repositories.engine.restore import Deletion, Overwrite, RestorePlan, RestoreRequest, RestoreResult, plan, restore
from repositories.engine.storage.base import Storage
from repositories.engine.storage.local import LocalStorage
from repositories.engine.storage.memory import MemoryStorage
from tests import canaries
from tests.engine.chance import drawn_by_tests

PASSWORD = canaries.repository_password("first").encode()
_RESERVE = bytes(4 * MIB)
CHEAP = KdfParameters(memory_kib=64, iterations=1, lanes=1)


class LaterClock:
    """The system's clock, `ahead` seconds on: what tests have just written is not young for it."""

    def __init__(self, ahead: float = 10.0) -> None:
        self.ahead = ahead

    def now_ns(self) -> int:
        return SYSTEM_CLOCK.now_ns() + int(self.ahead * 1e9)

    def monotonic(self) -> float:
        return SYSTEM_CLOCK.monotonic()


def make_repository(storage: Storage | None = None, clock: Clock = SYSTEM_CLOCK) -> Repository:
    """Return a new repository, in memory unless `storage` is given."""
    options = CreateOptions(password=PASSWORD, kdf=CHEAP, reserve_bytes=0, clock=clock, randomness=drawn_by_tests)
    made = create_repository(storage or MemoryStorage(), options).repository
    # 4 MiB of randomness take longer than all the rest.
    made.storage.put(RESERVE_NAME, _RESERVE)
    return made


def local_repository(path: Path) -> Repository:
    """Return a new repository in a directory."""
    return make_repository(LocalStorage(str(path)))


def back_up_tree(
    repository: Repository, path: Path | bytes, *, session: WriteSession | None = None, **changes: object
) -> BackupResult:
    """Back up `path` as source "tree"; keywords of SourceSpec, BackupOptions and Hooks may be given.

    In `session` if there is one, else in one of its own.
    """
    run = uuid7(SYSTEM_CLOCK.now_ns())
    raw = path if isinstance(path, bytes) else str(path).encode("utf-8", "surrogateescape")
    source: dict[str, object] = {"name": "tree", "path": raw}
    options: dict[str, object] = {
        "backup_id": backup_id(uuid.UUID(str(run)), "filesystem", raw),
        "run_id": str(run),
        "host": "testhost",
    }
    hooks: dict[str, object] = {"clock": LaterClock()}
    for key, value in changes.items():
        home = next(
            values
            for cls, values in ((SourceSpec, source), (BackupOptions, options), (Hooks, hooks))
            if key in cls.__struct_fields__
        )
        home[key] = value
    order = (SourceSpec(**source), BackupOptions(**options), Hooks(**hooks))  # type: ignore[arg-type]
    if session is not None:
        return back_up(session, *order)
    with repository.begin_write() as own:
        return back_up(own, *order)


def restore_latest(
    repository: Repository,
    target: Path,
    *,
    paths: tuple[bytes, ...] = (),
    overwrite: Overwrite = Overwrite.NEVER,
    verify: bool = False,
    hooks: Hooks | None = None,
    keep_out: tuple[bytes, ...] = (),
    deletion: Deletion | None = None,
) -> RestoreResult:
    """Restore the newest backup."""
    request = RestoreRequest(os.fsencode(target), paths, overwrite, verify, keep_out, deletion)
    return restore(repository, list_backups(repository)[-1], request, hooks or Hooks())


def plan_latest(
    repository: Repository,
    target: Path,
    *,
    paths: tuple[bytes, ...] = (),
    overwrite: Overwrite = Overwrite.NEVER,
    keep_out: tuple[bytes, ...] = (),
    deletion: Deletion | None = None,
) -> RestorePlan:
    """Plan what `restore_latest` would do."""
    request = RestoreRequest(os.fsencode(target), paths, overwrite, False, keep_out, deletion)
    return plan(repository, list_backups(repository)[-1], request, Hooks())


def entry_of(repository: Repository, path: bytes) -> Entry:
    """Return what the newest backup says of a path."""
    return dict(walk_entries(repository, list_backups(repository)[-1]))[path]

"""Prunes that are killed for real (3.10): the next backup and the next prune begin at once, with no hand."""

import os
import signal
from collections.abc import Iterator, Mapping
from pathlib import Path

from repositories.engine.storage.base import StoredObject
from repositories.engine.storage.local import LocalStorage
from tests.engine.prune.builders import back_up, checked, files, forget, reopened, require_backup, run
from tests.engine.repositories import make_repository

STEP = 31


class KillingStorage(LocalStorage):
    """Ends this process as kill -9 does, at its n-th write, deletion or list."""

    def __init__(self, path: str, at: int) -> None:
        super().__init__(path)
        self.left = at

    def put(self, name: str, data: bytes | memoryview, *, overwrite: bool = False) -> None:
        self._count()
        super().put(name, data, overwrite=overwrite)

    def put_file(self, name: str, path: str) -> None:
        self._count()
        super().put_file(name, path)

    def delete(self, name: str) -> None:
        self._count()
        super().delete(name)

    def list(self, prefix: str) -> Iterator[StoredObject]:
        self._count()
        return super().list(prefix)

    def sizes(self, prefix: str) -> Iterator[Mapping[str, int]]:
        self._count()
        return super().sizes(prefix)

    def _count(self) -> None:
        self.left -= 1
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGKILL)


def killed_prune(path: str, at: int) -> bool:
    """Prune in a child that is killed at an operation; tell whether it came to that."""
    child = os.fork()
    if child == 0:
        try:
            run(KillingStorage(path, at))
        finally:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL


def test_killed_prunes_hold_nobody_up(tmp_path: Path) -> None:
    storage = LocalStorage(str(tmp_path / "repository"))
    repository = make_repository(storage)
    kept: dict[str, dict[str, bytes]] = {}
    last = back_up(repository, tmp_path / "tree", files(*range(12), size=20_000))
    at, turn = 3, 0
    while True:
        turn += 1
        content = files(*range(turn, turn + 12, 3), 100 + turn, size=20_000)
        newest = back_up(reopened(storage), tmp_path / "tree", content)
        forget(repository, last)
        kept.pop(last, None)
        kept[newest] = content
        last = newest
        if not killed_prune(storage.path, at):
            break
        at += STEP
        for manifest, expected in kept.items():
            require_backup(reopened(storage), manifest, expected, tmp_path / f"restored {turn}")
    assert turn > 5
    assert run(storage).finished
    after = checked(storage)
    assert (after.backups, after.unused_packs, after.unreferenced_packs) == (1, 0, 0)
    assert not [stored.name for stored in storage.list("sessions/")]
    require_backup(reopened(storage), last, kept[last], tmp_path / "at last")

"""After a failed write a session commits nothing; real kills at writes lose nothing (guarantee 3, 1.21)."""

import contextlib
import os
import signal
from pathlib import Path

import pytest

from repositories.engine.errors import EngineError, StorageFullError
from repositories.engine.repository import CreateOptions, Repository, create_repository, open_repository
from repositories.engine.storage.base import Storage
from repositories.engine.storage.faults import Fault, FaultyStorage, KilledError
from repositories.engine.storage.local import LocalStorage
from repositories.engine.storage.memory import MemoryStorage
from tests.engine.contents import SMALL_PACKS, commit, require_readable, write
from tests.engine.fakes import CHEAP
from tests.engine.repositories import PASSWORD


def memory_with_one_backup() -> MemoryStorage:
    storage = MemoryStorage()
    made = create_repository(storage, CreateOptions(PASSWORD, kdf=CHEAP, reserve_bytes=10)).repository
    commit(made, 1)
    return storage


def copy_of(storage: MemoryStorage) -> MemoryStorage:
    copied = MemoryStorage()
    copied.objects.update(storage.objects)
    return copied


def reopened(storage: Storage) -> Repository:
    return open_repository(storage, PASSWORD)


def second_backup(storage: Storage) -> bool:
    """Try to commit backup 2 with a checkpoint on the way; tell whether commit returned."""
    session = None
    committed = False
    with contextlib.suppress(EngineError, KilledError):
        session = reopened(storage).begin_write(SMALL_PACKS)
        session.checkpoint(write(session, 3))
        root = write(session, 2)
        session.commit(root, lambda: None)
        committed = True
    if session is not None:
        with contextlib.suppress(KilledError):
            session.close()
    return committed


WRITES = 14


def test_the_number_of_writes_is_known() -> None:
    storage = FaultyStorage(memory_with_one_backup())
    assert second_backup(storage)
    assert storage.writes == WRITES


@pytest.mark.parametrize("at", range(1, WRITES + 1, 3))
def test_after_a_write_error_nothing_is_committed(at: int) -> None:
    """Every later call raises the error, also when the medium has room again."""
    storage = memory_with_one_backup()
    faulty = FaultyStorage(storage, Fault.FULL, at)
    try:
        session = reopened(faulty).begin_write(SMALL_PACKS)
    except StorageFullError:
        return
    root = b""
    try:
        root = write(session, 2)
        session.flush()
    except StorageFullError:
        faulty.breakage.mend()  # the medium has room again
        for act in (session.flush, lambda: write(session, 5), lambda: session.commit(root, lambda: None)):
            with pytest.raises(StorageFullError):
                act()
        assert len(require_readable(reopened(storage))) == 1
    finally:
        session.close()


class KillingStorage(LocalStorage):
    """Ends this process as kill -9 does, before or in the middle of its n-th write."""

    def __init__(self, path: str, at: int, *, after_rename: bool) -> None:
        super().__init__(path)
        self.left = at
        self.after_rename = after_rename

    def _settle(self, path: str, name: str) -> None:
        self.left -= 1
        if self.left == 0 and self.after_rename:
            self._require_directory(os.path.dirname(name))
            os.rename(path, self._full(name))
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        super()._settle(path, name)


@pytest.mark.parametrize("after_rename", [False, True])
def test_a_real_kill_at_each_write_loses_nothing(tmp_path: Path, after_rename: bool) -> None:
    storage = LocalStorage(str(tmp_path / "repository"))
    made = create_repository(storage, CreateOptions(PASSWORD, kdf=CHEAP, reserve_bytes=10)).repository
    commit(made, 1)
    for at in range(1, WRITES + 1, 2):
        child = os.fork()
        if child == 0:
            second_backup(KillingStorage(storage.path, at, after_rename=after_rename))
            os._exit(0)
        _, status = os.waitpid(child, 0)
        killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
        assert killed or os.waitstatus_to_exitcode(status) == 0
        require_readable(reopened(storage))
    commit(reopened(storage), 4)
    roots = require_readable(reopened(storage))
    assert len(roots) >= 2

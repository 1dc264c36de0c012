"""Real processes are killed at each write of a rotation; the next command goes on at once, with no hand (3.5, 3.10)."""

import os
import signal
from pathlib import Path

import pytest

from repositories.engine.keychain import add_password, rotate
from repositories.engine.repository import CreateOptions, create_repository, open_repository
from repositories.engine.storage.local import LocalStorage
from tests.engine.contents import commit, require_readable
from tests.engine.fakes import CHEAP
from tests.engine.keychain.chains import OTHER, RunningClock, keychain, opens
from tests.engine.repositories import PASSWORD


class KilledStorage(LocalStorage):
    """Ends this process as kill -9 does, before or after its n-th write is visible."""

    def __init__(self, path: str, at: int, *, after: bool) -> None:
        super().__init__(path)
        self._left = at
        self._after = after

    def _settle(self, path: str, name: str) -> None:
        self._left -= 1
        if self._left == 0 and not self._after:
            os.kill(os.getpid(), signal.SIGKILL)
        super()._settle(path, name)
        if self._left == 0:
            os.kill(os.getpid(), signal.SIGKILL)


def rotate_and_die(path: str, at: int, *, after: bool) -> bool:
    """Rotate in a process that dies; tell whether it did, and not come to its end."""
    child = os.fork()
    if child == 0:
        rotate(keychain(KilledStorage(path, at, after=after)), [PASSWORD])
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) or os.waitstatus_to_exitcode(status) == 0
    return os.WIFSIGNALED(status)


@pytest.mark.parametrize("after", [False, True])
def test_a_rotation_killed_at_each_write(tmp_path: Path, *, after: bool) -> None:
    storage = LocalStorage(str(tmp_path / "repository"))
    commit(create_repository(storage, CreateOptions(PASSWORD, kdf=CHEAP, reserve_bytes=10)).repository, 1)
    backups, at, ended = 1, 0, set()
    while True:
        at += 1
        if not opens(storage, OTHER):
            add_password(keychain(storage), OTHER, "")
        died = rotate_and_die(storage.path, at, after=after)
        assert opens(storage, PASSWORD)
        ended.add(not opens(storage, OTHER))
        clock = RunningClock()
        repository = open_repository(storage, PASSWORD, clock=clock)
        commit(repository, backups + 1)
        backups += 1
        assert clock.seconds == 0, "nothing waits for the dead"
        assert len(require_readable(open_repository(storage, PASSWORD))) == backups
        if not died:
            break
    assert at > 8
    assert ended == {True, False}
    assert not opens(storage, OTHER)

"""Whom a prune waits for, and whom it takes for dead: by its own clock alone (engine.md, section 5)."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from repositories.engine.backup import Hooks
from repositories.engine.errors import RepositoryLockedError
from repositories.engine.format.collection import LeaseRecord, SessionPurpose
from repositories.engine.format.kinds import ObjectKind
from repositories.engine.format.records import decode, encode
from repositories.engine.holder import process_start, this_process
from repositories.engine.overview.locks import sessions
from repositories.engine.prune import PruneRequest, prune
from repositories.engine.repository import Repository
from repositories.engine.storage.memory import MemoryStorage
from tests.engine.prune.builders import TARGET, back_up, files, forget, reopened, run
from tests.engine.prune.meanwhile import Meanwhile
from tests.engine.repositories import make_repository


@pytest.fixture
def storage() -> MemoryStorage:
    return MemoryStorage()


@pytest.fixture
def repository(storage: MemoryStorage) -> Repository:
    return make_repository(storage)


def put_lease(repository: Repository, purpose: SessionPurpose) -> bytes:
    """Put the lease of a process of another machine."""
    session_id = repository.store.new_id()
    record = LeaseRecord(session_id, purpose, 1, 0, b"elsewhere", 7, 1234, 99, "other", 0)
    repository.store.put(ObjectKind.SESSION, encode(record), session_id)
    return session_id


class Seconds:
    """A clock that goes on by one second with each sleep."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.each: Callable[[], None] = lambda: None

    def now_ns(self) -> int:
        return int(self.now * 1e9)

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += max(seconds, 1.0)
        self.each()


def test_a_dead_session_of_another_machine_is_waited_for_five_minutes(
    repository: Repository, storage: MemoryStorage, tmp_path: Path
) -> None:
    """By our own clock alone, and its lease is removed; one that is renewed is waited for."""
    first = back_up(repository, tmp_path / "tree", files(*range(8)))
    back_up(repository, tmp_path / "tree", files(20))
    forget(repository, first)
    session_id = put_lease(repository, SessionPurpose.READ)
    clock = Seconds()
    renewals = 3

    def renew() -> None:
        nonlocal renewals
        if renewals and int(clock.now) % 100 == 0:
            renewals -= 1
            payload = repository.store.read(ObjectKind.SESSION, session_id)
            record = decode(payload, LeaseRecord)
            changed = msgspec.structs.replace(record, counter=record.counter + 1)
            repository.store.replace(ObjectKind.SESSION, encode(changed), session_id)

    clock.each = renew
    request = PruneRequest(max_unused=0.0, pack_target=TARGET)
    report = prune(reopened(storage), request, Hooks(clock=clock), clock.sleep)
    assert report.finished
    assert not renewals
    assert 1600 <= clock.now <= 1700
    assert not [name for name in storage.objects if name.startswith("sessions/")]


def test_one_prune_at_a_time(repository: Repository, storage: MemoryStorage, tmp_path: Path) -> None:
    first = back_up(repository, tmp_path / "tree", files(*range(8)))
    back_up(repository, tmp_path / "tree", files(20))
    forget(repository, first)
    reading = repository.begin_read()
    with Meanwhile(storage) as beside:
        with pytest.raises(RepositoryLockedError, match="another prune"):
            run(storage)
        reading.close()
    assert beside.report is not None
    assert beside.report.finished
    session_id = put_lease(repository, SessionPurpose.PRUNE)
    clock = Seconds()
    prune(reopened(storage), PruneRequest(), Hooks(clock=clock), clock.sleep)
    assert clock.now >= 1300, "one of another machine is dead when it stood still for five minutes"
    assert f"sessions/{session_id.hex()}" not in storage.objects


def test_a_suspended_process_of_this_machine_is_waited_for_five_minutes(
    repository: Repository, storage: MemoryStorage, tmp_path: Path
) -> None:
    """It may be resumed, and is refused then; meanwhile the wait says again and again what to do about it."""
    first = back_up(repository, tmp_path / "tree", files(*range(8)))
    back_up(repository, tmp_path / "tree", files(20))
    forget(repository, first)
    clock, told = Seconds(), list[str]()
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        process.send_signal(signal.SIGSTOP)
        os.waitpid(process.pid, os.WUNTRACED)
        me, session_id = this_process(), repository.store.new_id()
        start = process_start(process.pid) or 0
        fields = (me.boot_id, me.pid_namespace, process.pid, start, "here", 0)
        record = LeaseRecord(session_id, SessionPurpose.READ, 1, 0, *fields)
        repository.store.put(ObjectKind.SESSION, encode(record), session_id)
        (seen,) = sessions(repository, clock)
        assert (seen.state, "is suspended: resume or end it" in seen.why) == ("unknown", True)
        hooks = Hooks(clock=clock, log=lambda _, line: told.append(line))
        report = prune(reopened(storage), PruneRequest(pack_target=TARGET), hooks, clock.sleep)
        process.kill()
    assert report.finished
    assert report.deleted_packs
    assert 300 <= clock.now - 1000 < 400
    waits = [line for line in told if "suspended: resume or end it" in line]
    assert len(waits) >= 4

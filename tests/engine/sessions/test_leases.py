"""A session's lease: there from the first step to the last, renewed by itself, gone with the session (engine.md 5)."""

import threading

import pytest

from repositories.engine.errors import RepositoryError
from repositories.engine.format.collection import LeaseRecord, SessionPurpose
from repositories.engine.format.kinds import ObjectKind
from repositories.engine.format.records import decode
from repositories.engine.repository import Repository, open_repository
from repositories.engine.sessions import leases
from repositories.engine.storage.faults import Fault, FaultyStorage
from repositories.engine.storage.memory import MemoryStorage
from tests.engine.contents import SMALL_PACKS, names, write
from tests.engine.repositories import PASSWORD, make_repository


def test_the_lease_lives_as_long_as_the_session(repository: Repository) -> None:
    def lease() -> LeaseRecord:
        (payload,) = repository.store.read_all(ObjectKind.SESSION).values()
        return decode(payload, LeaseRecord)

    with repository.begin_write(SMALL_PACKS) as session:
        first = lease()
        assert (first.purpose, first.counter) == (SessionPurpose.WRITE, 0)
        session.lease.renew()
        second = lease()
        assert (second.session_id, second.counter, second.fence) == (first.session_id, 1, session.fence)
        assert second.pid > 0
    assert names(repository, "sessions/") == []
    session.lease.renew()
    assert names(repository, "sessions/") == [], "an ended lease is not put again"


def test_leases_are_renewed_by_themselves(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leases, "RENEW_SECONDS", 0.01)
    renewed = threading.Event()
    real = leases.Lease.renew

    def renew(self: leases.Lease) -> None:
        real(self)
        renewed.set()

    monkeypatch.setattr(leases.Lease, "renew", renew)
    with repository.begin_write(SMALL_PACKS):
        assert renewed.wait(30)


def test_a_failed_beginning_leaves_no_lease(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_store: object) -> None:
        raise RepositoryError("no answer")

    monkeypatch.setattr("repositories.engine.sessions.presence.read_damage", fail)
    with pytest.raises(RepositoryError):
        repository.begin_write(SMALL_PACKS)
    assert names(repository, "sessions/") == []


@pytest.mark.parametrize(("fault", "left"), [(Fault.FULL, 0), (Fault.LOSE_ANSWER, 1)])
def test_the_lease_stays_where_a_write_may_come_yet(fault: Fault, left: int) -> None:
    """It explains what comes late. A medium that said no has said what it did."""
    storage = MemoryStorage()
    make_repository(storage)
    session = open_repository(FaultyStorage(storage, fault, 2), PASSWORD).begin_write(SMALL_PACKS)
    with pytest.raises(RepositoryError):
        session.commit(write(session, 1), lambda: None)
    session.close()
    assert sum(name.startswith("sessions/") for name in storage.objects) == left


def test_a_lease_whose_answer_was_lost_holds_nobody_up() -> None:
    """The process lives on, and its prunes would wait for it."""
    storage = MemoryStorage()
    make_repository(storage)
    with pytest.raises(RepositoryError):
        open_repository(FaultyStorage(storage, Fault.LOSE_ANSWER, 1), PASSWORD).begin_write(SMALL_PACKS)
    assert not [name for name in storage.objects if name.startswith("sessions/")]

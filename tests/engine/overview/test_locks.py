"""Who works on a repository, and why it is said that they live or not (3.7)."""

import msgspec

from repositories.engine.format.collection import LeaseRecord, SessionPurpose
from repositories.engine.format.kinds import ObjectKind
from repositories.engine.format.records import encode
from repositories.engine.holder import this_process
from repositories.engine.overview.locks import sessions
from repositories.engine.repository import Repository
from tests.engine.fakes import StandingClock
from tests.engine.repositories import make_repository


def lease(repository: Repository, **changes: object) -> LeaseRecord:
    """Put a lease of this process, but for some fields."""
    me = this_process()
    session_id = repository.store.new_id()
    record = LeaseRecord(
        session_id, SessionPurpose.WRITE, 0, 3, me.boot_id, me.pid_namespace, me.pid, me.process_start, "host", 17
    )
    record = msgspec.structs.replace(record, **changes)
    repository.store.put(ObjectKind.SESSION, encode(record), session_id)
    return record


def test_nobody() -> None:
    assert sessions(make_repository(), StandingClock()) == []


def test_a_session_of_this_process() -> None:
    repository = make_repository()
    with repository.begin_write(), repository.begin_read():
        found = sessions(repository, StandingClock())
    assert [(each.purpose, each.state) for each in found] == [("write", "alive"), ("read", "alive")]
    assert {each.pid for each in found} == {this_process().pid}
    assert {each.why for each in found} == {"its process runs on this machine"}
    assert sessions(repository, StandingClock()) == []


def test_dead_elsewhere_and_torn() -> None:
    repository = make_repository()
    lease(repository, pid=2**22 + 5, started_ns=1)
    lease(repository, boot_id=b"b" * 16, purpose=SessionPurpose.PRUNE, started_ns=2)
    lease(repository, purpose=77, boot_id=b"", started_ns=3)
    lease(repository, purpose=SessionPurpose.ROTATE, started_ns=4)
    lease(repository, purpose=SessionPurpose.KEYS, started_ns=5)
    found = sessions(repository, StandingClock())
    assert [(each.purpose, each.state) for each in found] == [
        ("write", "dead"), ("prune", "unknown"), ("unknown", "unknown"), ("rotation", "alive"), ("keys", "alive"),
    ]  # fmt: skip
    assert found[0].why == "its process on this machine is gone"
    assert found[1].why.startswith("it runs on another machine or in another container; it is dead once its lease")


def test_watching_settles_it() -> None:
    """A lease that stands still for five minutes on our clock is a dead one's; one that is renewed lives."""
    repository = make_repository()
    still = lease(repository, boot_id=b"b" * 16, started_ns=1)
    moving = lease(repository, boot_id=b"b" * 16, started_ns=2)
    clock = StandingClock()

    def sleep(seconds: float) -> None:
        clock.time_ns += 60 * 10**9
        renewed = msgspec.structs.replace(moving, counter=clock.time_ns // 10**9)
        repository.store.replace(ObjectKind.SESSION, encode(renewed), moving.session_id)

    found = sessions(repository, clock, 310.0, sleep)
    assert [each.session_id for each in found] == [still.session_id.hex(), moving.session_id.hex()]
    assert [each.state for each in found] == ["dead", "alive"]
    assert [each.why for each in found] == ["its lease stood still for so long", "its lease was renewed just now"]

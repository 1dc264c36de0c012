"""Creation: passwords, the race of two creators at every step, kills, features."""

import threading
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from repositories.engine import creation
from repositories.engine.errors import (
    ConfigurationError,
    EngineError,
    RepositoryError,
    RepositoryExistsError,
    RepositoryNotFoundError,
    UnsupportedFormatError,
    WrongKeyError,
)
from repositories.engine.format.config import config_to_bytes, parse_config
from repositories.engine.ids import Randomness
from repositories.engine.keys.keyring import KeyringRecord, new_keyring_record
from repositories.engine.repository import CreateOptions, create_repository, open_repository
from repositories.engine.storage.base import Storage
from repositories.engine.storage.faults import Fault, FaultyStorage, KilledError
from repositories.engine.storage.local import LocalStorage
from repositories.engine.storage.memory import MemoryStorage
from tests.engine.contents import commit, require_readable
from tests.engine.fakes import CHEAP
from tests.engine.repositories import PASSWORD


def options(password: bytes = PASSWORD) -> CreateOptions:
    return CreateOptions(password, kdf=CHEAP, reserve_bytes=10)


def test_wrong_passwords_do_not_open() -> None:
    storage = MemoryStorage()
    created = create_repository(storage, options())
    for wrong in (b"", b"wrong", created.recovery_code.replace("0", "1").encode() + b"1"):
        with pytest.raises(WrongKeyError) as caught:
            open_repository(storage, wrong)
        assert caught.value.exit_code == 12
    assert open_repository(storage, created.recovery_code.encode()).id == created.repository.id


def test_no_repository_is_told(tmp_path: Path) -> None:
    for storage in (MemoryStorage(), LocalStorage(str(tmp_path)), LocalStorage(str(tmp_path / "absent"))):
        with pytest.raises(RepositoryNotFoundError):
            open_repository(storage, PASSWORD)


def test_an_empty_password_must_be_asked_for() -> None:
    """A5: there is no plaintext format; the published empty password is an explicit choice."""
    storage = MemoryStorage()
    with pytest.raises(ConfigurationError):
        create_repository(storage, options(b""))
    assert storage.objects == {}
    create_repository(storage, CreateOptions(b"", insecure_no_password=True, kdf=CHEAP, reserve_bytes=10))
    assert open_repository(storage, b"").backups() == []


def test_a_second_creation_is_refused(tmp_path: Path) -> None:
    for storage in (MemoryStorage(), LocalStorage(str(tmp_path / "r"))):
        created = create_repository(storage, options())
        with pytest.raises(RepositoryExistsError):
            create_repository(storage, options(b"other"))
        assert open_repository(storage, PASSWORD).id == created.repository.id


@pytest.mark.parametrize("fault", [Fault.FULL, Fault.TEAR, Fault.KILL], ids=lambda fault: fault.value)
def test_a_fault_at_each_write_of_a_creation(fault: Fault) -> None:
    """A failed creation leaves nothing; a killed one leaves a place where creating or opening works."""
    counting = FaultyStorage(MemoryStorage())
    create_repository(counting, options())
    for at in range(1, counting.writes + 1):
        storage = MemoryStorage()
        with pytest.raises((EngineError, KilledError)):
            create_repository(FaultyStorage(storage, fault, at), options())
        if fault is Fault.FULL:
            assert storage.objects == {}
        try:
            create_repository(storage, options(b"new"))
        except RepositoryExistsError:
            if fault is Fault.KILL:
                commit(open_repository(storage, PASSWORD), 1)
        else:
            assert open_repository(storage, b"new").backups() == []


class SteppedStorage(FaultyStorage):
    """Lets a creator do some writes, then waits until it is let go."""

    def __init__(self, inner: Storage, free_writes: int) -> None:
        super().__init__(inner)
        self._free = free_writes
        self.waiting = threading.Event()
        self.go_on = threading.Event()

    def put(self, name: str, data: bytes | memoryview, *, overwrite: bool = False) -> None:
        if self.writes >= self._free:
            self.waiting.set()
            self.go_on.wait(30)
        super().put(name, data, overwrite=overwrite)


class Creator(threading.Thread):
    """Creates in a thread; `made` or `error` tells how it ended."""

    def __init__(self, storage: MemoryStorage, password: bytes, free_writes: int) -> None:
        super().__init__(daemon=True)
        self.storage = SteppedStorage(storage, free_writes)
        self.password = password
        self.error: RepositoryError | None = None

    def run(self) -> None:
        try:
            create_repository(self.storage, options(self.password))
        except RepositoryError as error:
            self.error = error
        finally:
            self.storage.waiting.set()

    def finish(self) -> None:
        self.storage.go_on.set()
        self.join(30)


def race(first_writes: int, second_writes: int, order: Callable[[Creator, Creator], tuple[Creator, Creator]]) -> int:
    """Run two creators to the given points, then to the end in `order`; return how many succeeded."""
    storage = MemoryStorage()
    creators = Creator(storage, b"first", first_writes), Creator(storage, b"second", second_writes)
    for creator in creators:
        creator.start()
        creator.storage.waiting.wait(30)
    for creator in order(*creators):
        creator.finish()
    winners = [creator for creator in creators if creator.error is None]
    assert all(isinstance(creator.error, RepositoryExistsError) for creator in creators if creator not in winners)
    for winner in winners:
        commit(open_repository(storage, winner.password), 1)
        assert len(require_readable(open_repository(storage, winner.password))) == 1
    if not winners:
        create_repository(storage, options())
    return len(winners)


@pytest.mark.parametrize("first", range(12))
def test_of_two_creators_at_most_one_succeeds(first: int) -> None:
    """The creation race, every interleaving of two pauses: never two repositories, and the winner's opens."""
    for second in range(12):
        for order in (lambda a, b: (a, b), lambda a, b: (b, a)):
            assert race(first, second, order) <= 1


def test_a_creator_that_died_in_the_race_does_not_shadow_the_winner() -> None:
    """Two configs open with one password: the one with an object under its keys was made."""
    dead = MemoryStorage()
    with pytest.raises(KilledError):
        create_repository(FaultyStorage(dead, Fault.KILL, 9), options())
    assert any(name.startswith("config/") for name in dead.objects)
    for _ in range(4):
        storage = MemoryStorage()
        created = create_repository(storage, options())
        commit(created.repository, 1)
        storage.objects.update(dead.objects)
        repository = open_repository(storage, PASSWORD)
        assert repository.id == created.repository.id
        assert len(require_readable(repository)) == 1


def with_features(monkeypatch: pytest.MonkeyPatch, **features: tuple[str, ...]) -> MemoryStorage:
    def record(repository_id: bytes, now_ns: int, randomness: Randomness, *, padding: bool) -> KeyringRecord:
        made = new_keyring_record(repository_id, now_ns, randomness, padding=padding)
        return msgspec.structs.replace(made, **features)

    storage = MemoryStorage()
    monkeypatch.setattr(creation, "new_keyring_record", record)
    create_repository(storage, options())
    return storage


def test_unknown_read_features_refuse(monkeypatch: pytest.MonkeyPatch) -> None:
    storage = with_features(monkeypatch, read_features=("parity",))
    with pytest.raises(UnsupportedFormatError, match="parity"):
        open_repository(storage, PASSWORD)


def test_unknown_write_features_are_read_only(monkeypatch: pytest.MonkeyPatch) -> None:
    storage = with_features(monkeypatch, write_features=("domains",))
    repository = open_repository(storage, PASSWORD)
    assert repository.backups() == []
    with pytest.raises(UnsupportedFormatError, match="domains"):
        repository.begin_write()
    assert not any(name.startswith("sessions/") for name in storage.objects)


def test_a_changed_config_opens_nothing() -> None:
    """Whoever holds the medium cannot change what a repository says about itself."""
    storage = MemoryStorage()
    create_repository(storage, options())
    (name,) = [name for name in storage.objects if name.startswith("config/")]
    config = parse_config(storage.objects[name])
    forged = config_to_bytes(msgspec.structs.replace(config, write_features=("later",)))
    storage.objects[name] = storage.objects["copies/" + name] = forged
    with pytest.raises(EngineError) as caught:
        open_repository(storage, PASSWORD)
    assert caught.value.code == "INTEGRITY"

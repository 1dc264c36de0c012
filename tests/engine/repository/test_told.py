"""What opening and creating say when they cannot: which object, which place; a lost key is no wrong password."""

import os
from pathlib import Path

import pytest

from repositories.engine.errors import (
    ConfigurationError,
    IntegrityError,
    RepositoryError,
    RepositoryExistsError,
    RepositoryNotFoundError,
    StorageReadOnlyError,
    WrongKeyError,
)
from repositories.engine.repository import CreateOptions, create_repository, open_repository
from repositories.engine.storage.faults import Fault, FaultyStorage
from repositories.engine.storage.local import LocalStorage
from repositories.engine.storage.medium import medium_errors
from repositories.engine.storage.memory import MemoryStorage
from tests.engine.fakes import CHEAP
from tests.engine.repositories import PASSWORD

OPTIONS = CreateOptions(PASSWORD, kdf=CHEAP, reserve_bytes=10)


@pytest.fixture
def storage() -> MemoryStorage:
    storage = MemoryStorage()
    create_repository(storage, OPTIONS)
    return storage


def named(storage: MemoryStorage, kind: str) -> list[str]:
    return [name for name in storage.objects if name.removeprefix("copies/").startswith(kind + "/")]


def flip(storage: MemoryStorage, name: str) -> None:
    data = storage.objects[name]
    storage.objects[name] = data[:-1] + bytes([data[-1] ^ 1])


@pytest.mark.parametrize("kind", ["keyrings", "slots"])
def test_lost_keys_are_no_wrong_password(storage: MemoryStorage, kind: str) -> None:
    for name in named(storage, kind):
        del storage.objects[name]
    with pytest.raises(IntegrityError, match=kind) as caught:
        open_repository(storage, PASSWORD)
    assert caught.value.exit_code == 13
    assert "copy" in caught.value.hint


def test_damaged_slots_are_no_wrong_password(storage: MemoryStorage) -> None:
    for name in named(storage, "slots"):
        flip(storage, name)
    with pytest.raises(IntegrityError, match="all 2 key slots are damaged in slots/00000001"):
        open_repository(storage, PASSWORD)


def test_a_wrong_password_stays_one(storage: MemoryStorage) -> None:
    with pytest.raises(WrongKeyError):
        open_repository(storage, b"wrong")
    for name in named(storage, "slots")[:1]:
        flip(storage, name)
    with pytest.raises(WrongKeyError):
        open_repository(storage, b"wrong")


@pytest.mark.parametrize("kind", ["keyrings", "config"])
def test_an_object_that_is_damaged_twice_is_named(storage: MemoryStorage, kind: str) -> None:
    names = named(storage, kind)
    for name in names:
        flip(storage, name)
    with pytest.raises(IntegrityError) as caught:
        open_repository(storage, PASSWORD)
    assert min(names, key=len) in caught.value.message
    assert "copy" in caught.value.hint, "a check could not open it either"


def test_the_place_is_named(tmp_path: Path) -> None:
    place = tmp_path / "place"
    with pytest.raises(RepositoryNotFoundError, match=f"no repository at {place}"):
        open_repository(LocalStorage(str(place)), PASSWORD)
    create_repository(LocalStorage(str(place)), OPTIONS)
    with pytest.raises(WrongKeyError, match=f"no key slot of {place} opens"):
        open_repository(LocalStorage(str(place)), b"wrong")
    with pytest.raises(StorageReadOnlyError, match="/mnt/place/config: "), medium_errors("config", place="/mnt/place"):
        raise PermissionError(13, "denied")


def test_a_place_that_is_no_directory_or_cannot_be_made_is_told_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    for path in (str(tmp_path / "file"), os.devnull):
        with pytest.raises(ConfigurationError, match=f"{path} is not a directory"):
            create_repository(LocalStorage(path), OPTIONS)
    for path in (str(tmp_path / "file" / "below"), "/proc/nothing/below"):
        with pytest.raises(RepositoryError, match=f"{path} cannot be made: "):
            create_repository(LocalStorage(path), OPTIONS)


def test_directories_that_a_failed_creation_left_do_not_stop_the_next(tmp_path: Path) -> None:
    counting = FaultyStorage(LocalStorage(str(tmp_path / "counting")))
    create_repository(counting, OPTIONS)
    for at in range(1, counting.writes + 1):
        place = str(tmp_path / str(at))
        with pytest.raises(RepositoryError):
            create_repository(FaultyStorage(LocalStorage(place), Fault.FULL, at), OPTIONS)
        create_repository(LocalStorage(place), OPTIONS)
        assert open_repository(LocalStorage(place), PASSWORD).backups() == []


@pytest.mark.parametrize("name", ["packs/a0/file", "index/file", "pictures/", "reserve"])
def test_what_is_no_leaving_stops_a_creation(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    (path if name.endswith("/") else path.parent).mkdir(parents=True, exist_ok=True)
    if not name.endswith("/"):
        path.write_bytes(b"content")
    with pytest.raises(RepositoryExistsError, match="holds files already"):
        create_repository(LocalStorage(str(tmp_path)), OPTIONS)

"""A repository that shows an earlier state than was seen before is read only until that is confirmed (engine.md, 5)."""

from pathlib import Path

import pytest

from repositories.engine.errors import RepositoryRolledBackError
from repositories.engine.format.collection import SweepRecord
from repositories.engine.format.kinds import ObjectKind
from repositories.engine.format.notes import TombstoneRecord
from repositories.engine.format.records import encode
from repositories.engine.process.seen_states import SeenStates
from repositories.engine.repository import Repository, open_repository
from repositories.engine.rollback import MANIFESTS_KEPT, HighWater, merge
from repositories.engine.storage.memory import MemoryStorage
from tests.engine.contents import commit
from tests.engine.repositories import PASSWORD, make_repository


@pytest.fixture
def storage() -> MemoryStorage:
    storage = MemoryStorage()
    commit(make_repository(storage), 1)
    return storage


def look(storage: MemoryStorage, seen: Path, *, accept: bool = False) -> tuple[Repository, list[str]]:
    repository = open_repository(storage, PASSWORD)
    told: list[str] = []
    repository.warn = told.append
    SeenStates(str(seen), repository).look(accept=accept)
    return repository, told


def swept(storage: MemoryStorage, number: int) -> None:
    store = open_repository(storage, PASSWORD).store
    kept = b"".join(sorted(store.ids(ObjectKind.MANIFEST)))
    segments = b"".join(sorted(store.ids(ObjectKind.INDEX)))
    store.put(ObjectKind.SWEEP, encode(SweepRecord(number, bytes(16), 1, kept, b"", segments, b"")))


def require_refused(repository: Repository, told: list[str]) -> None:
    assert len(told) == 1
    with pytest.raises(RepositoryRolledBackError) as caught:
        repository.begin_write()
    assert "--accept-rollback" in caught.value.hint
    assert repository.backups() is not None


def test_an_older_copy_is_known_until_it_is_accepted(storage: MemoryStorage, tmp_path: Path) -> None:
    older = dict(storage.objects)
    commit(open_repository(storage, PASSWORD), 2)
    assert look(storage, tmp_path / "seen")[1] == []
    storage.objects = older
    for _ in range(2):
        require_refused(*look(storage, tmp_path / "seen"))
    repository, told = look(storage, tmp_path / "seen", accept=True)
    repository.begin_write().close()
    assert told == look(storage, tmp_path / "seen")[1] == []


def test_an_older_sweep_is_known(storage: MemoryStorage, tmp_path: Path) -> None:
    older = dict(storage.objects)
    swept(storage, 3)
    look(storage, tmp_path)
    storage.objects = older
    require_refused(*look(storage, tmp_path))


def test_withheld_manifests_are_known_and_deleted_ones_are_not_missed(storage: MemoryStorage, tmp_path: Path) -> None:
    second = commit(open_repository(storage, PASSWORD), 2)
    look(storage, tmp_path)
    for name in (f"manifests/{second}", f"copies/manifests/{second}"):
        del storage.objects[name]
    require_refused(*look(storage, tmp_path))
    store = open_repository(storage, PASSWORD).store
    store.put(ObjectKind.TOMBSTONE, encode(TombstoneRecord((bytes.fromhex(second),), 1, "keep rule")))
    repository, told = look(storage, tmp_path)
    assert (told, repository.refuse_writing) == ([], None)


def test_what_an_operation_adds_is_remembered_at_its_end(storage: MemoryStorage, tmp_path: Path) -> None:
    older = dict(storage.objects)
    repository = open_repository(storage, PASSWORD)
    states = SeenStates(str(tmp_path), repository)
    states.look(accept=False)
    commit(repository, 2)
    states.note()
    storage.objects = older
    require_refused(*look(storage, tmp_path))


@pytest.mark.parametrize("content", [b"", b"{", b'{"generation": "x"}', b"[]"])
def test_a_memory_that_cannot_be_read_keeps_nobody_away(storage: MemoryStorage, tmp_path: Path, content: bytes) -> None:
    repository = open_repository(storage, PASSWORD)
    (tmp_path / f"{repository.id}.json").write_bytes(content)
    assert look(storage, tmp_path)[1] == []
    assert look(storage, tmp_path / f"{repository.id}.json")[1] == []


def test_other_repositories_have_memories_of_their_own(storage: MemoryStorage, tmp_path: Path) -> None:
    look(storage, tmp_path)
    assert look(_another(), tmp_path)[1] == []
    assert len(list(tmp_path.iterdir())) == 2


def _another() -> MemoryStorage:
    storage = MemoryStorage()
    make_repository(storage)
    return storage


def test_the_memory_is_bounded() -> None:
    many = HighWater(1, 0, tuple(f"{number:032x}" for number in range(MANIFESTS_KEPT + 5)))
    assert merge(HighWater(2, 7), many) == HighWater(2, 7, many.manifests[-MANIFESTS_KEPT:])

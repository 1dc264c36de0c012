"""A repository that shows an earlier state than was seen before is read only until that is confirmed (engine.md, 5)."""

from pathlib import Path

import pytest

from repositories.engine.backup import Hooks
from repositories.engine.check import CheckRequest, check
from repositories.engine.errors import RepositoryRolledBackError
from repositories.engine.format.collection import SweepRecord
from repositories.engine.format.kinds import ObjectKind
from repositories.engine.format.notes import TombstoneRecord
from repositories.engine.format.records import encode
from repositories.engine.high_water import HighWater
from repositories.engine.keychain import rotate
from repositories.engine.process.requests import RememberedState
from repositories.engine.process.seen_states import SeenStates, ToldState
from repositories.engine.repository import Repository, open_repository
from repositories.engine.storage.memory import MemoryStorage
from tests.engine.contents import commit
from tests.engine.histories import mark
from tests.engine.keychain.chains import keychain
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


def test_what_a_killed_process_left_half_written_goes(storage: MemoryStorage, tmp_path: Path) -> None:
    (tmp_path / ".seen-0123").write_bytes(b'{"half')
    look(storage, tmp_path)
    assert [each.name for each in tmp_path.iterdir()] == [f"{open_repository(storage, PASSWORD).id}.json"]


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


def test_a_check_tells_an_earlier_state_and_leaves_it_as_it_is(storage: MemoryStorage, tmp_path: Path) -> None:
    older = dict(storage.objects)
    commit(open_repository(storage, PASSWORD), 2)
    look(storage, tmp_path)
    storage.objects = dict(older)
    report = check(look(storage, tmp_path)[0], CheckRequest(read_data=True), Hooks())
    assert "rollback" in {problem.kind for problem in report.problems}
    assert not report.remembered
    assert storage.objects == older


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


def test_keys_that_were_rotated_since_it_was_opened_are_no_earlier_state(
    storage: MemoryStorage, tmp_path: Path
) -> None:
    """Another process of this machine remembers the newer keys by the time that this one looks."""
    opened = open_repository(storage, PASSWORD)
    told: list[str] = []
    opened.warn = told.append
    rotate(keychain(storage), [PASSWORD])
    look(storage, tmp_path)
    kept = (tmp_path / f"{opened.id}.json").read_bytes()
    states = SeenStates(str(tmp_path), opened)
    states.look(accept=False)
    states.note()
    assert (told, opened.refuse_writing) == ([], None)
    assert (tmp_path / f"{opened.id}.json").read_bytes() == kept


def test_a_memory_of_an_earlier_version_is_read(storage: MemoryStorage, tmp_path: Path) -> None:
    repository = open_repository(storage, PASSWORD)
    gone = "ab" * 16
    old = f'{{"generation":1,"sweep":0,"manifests":["{gone}"]}}'
    (tmp_path / f"{repository.id}.json").write_text(old)
    assert gone in look(storage, tmp_path)[1][0]


def test_a_memory_that_the_caller_keeps_goes_back_to_it(storage: MemoryStorage) -> None:
    repository = open_repository(storage, PASSWORD)
    first = ToldState(RememberedState(repository_id=repository.id), repository)
    first.look()
    newest = commit(repository, 2)
    first.note()
    assert first.seen is not None
    assert first.seen.manifests[-1] == newest
    for name in (f"manifests/{newest}", f"copies/manifests/{newest}"):
        del storage.objects[name]
    again = open_repository(storage, PASSWORD)
    second = ToldState(RememberedState(repository_id=again.id, state=first.seen), again)
    second.look()
    second.note()
    assert (second.seen, newest in second.reason) == (None, True)
    with pytest.raises(RepositoryRolledBackError, match="earlier state"):
        again.begin_write()


def test_another_repository_in_its_place_is_no_earlier_state() -> None:
    """Whoever keeps the memory is told the id, and says what it means (A10)."""
    other = open_repository(_another(), PASSWORD)
    state = HighWater(9, 9, ("ab" * 16,), 9)
    told = ToldState(RememberedState(repository_id="cd" * 16, state=state), other)
    told.look()
    assert (told.reason, other.refuse_writing) == ("", None)
    assert told.seen is not None


def test_the_number_of_a_mark_that_is_lost_is_told_to_a_prune(storage: MemoryStorage, tmp_path: Path) -> None:
    """Also where the loss was confirmed: the number is not to be used again."""
    put = mark(open_repository(storage, PASSWORD).store, 4)
    look(storage, tmp_path)
    del storage.objects[f"marks/{put.hex()}"]
    for accept in (True, False, False):
        repository = open_repository(storage, PASSWORD)
        states = SeenStates(str(tmp_path), repository)
        states.look(accept=accept)
        states.note()
        assert (repository.refuse_writing, repository.fence_seen) == (None, 4)

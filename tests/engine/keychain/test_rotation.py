"""Rotation: what ends, what stays, what is written afterwards, and a fault at every operation (3.5, 3.9)."""

from collections.abc import Callable

import pytest

from repositories.engine.errors import (
    CommitRefusedError,
    ConfigurationError,
    EngineError,
    KeysChangedError,
    RepositoryLockedError,
)
from repositories.engine.format.headers import parse_object_header
from repositories.engine.format.kinds import ObjectKind
from repositories.engine.ids import system_randomness
from repositories.engine.keychain import Keychain, add_password, list_keys, rotate
from repositories.engine.keychain.inventory import INVENTORIED
from repositories.engine.opening import unlock
from repositories.engine.repository import CreateOptions, Repository, create_repository, open_repository
from repositories.engine.storage.base import Storage
from repositories.engine.storage.memory import MemoryStorage
from tests.engine.contents import SMALL_PACKS, commit, require_readable, write
from tests.engine.fakes import CHEAP
from tests.engine.keychain.chains import OTHER, RunningClock, keychain, opens
from tests.engine.repositories import PASSWORD


def made(backups: int = 1) -> tuple[MemoryStorage, bytes]:
    """Return a repository with backups and two passwords, and its recovery code."""
    storage = MemoryStorage()
    created = create_repository(storage, CreateOptions(PASSWORD, "first", kdf=CHEAP, reserve_bytes=10))
    for seed in range(1, backups + 1):
        commit(created.repository, seed)
    add_password(keychain(storage), OTHER, "second")
    return storage, created.recovery_code.encode()


def reopened(storage: Storage, secret: bytes = PASSWORD) -> Repository:
    return open_repository(storage, secret)


def test_kept_passwords_open_and_all_others_end() -> None:
    storage, code = made()
    result = rotate(keychain(storage, OTHER), [PASSWORD])
    assert [key.label for key in result.kept] == ["first"]
    assert [key.label for key in result.ended] == ["recovery code", "second"]
    assert [opens(storage, secret) for secret in (PASSWORD, OTHER, code)] == [True, False, False]
    assert result.generation == 2
    keys, _ = list_keys(keychain(storage))
    assert [key.id for key in result.kept] == [key.id for key in keys], "the ids of before open nothing any more"
    assert [(key.label, key.generation) for key in keys] == [("first", 2)]


def test_a_recovery_code_can_be_kept() -> None:
    storage, code = made()
    rotate(keychain(storage), [code.lower().replace(b"-", b" "), OTHER])
    assert [opens(storage, secret) for secret in (PASSWORD, OTHER, code)] == [False, True, True]


def test_nothing_of_the_earlier_generation_opens_what_is_left_on_the_medium() -> None:
    storage, _ = made()
    rotate(keychain(storage), [PASSWORD])
    assert {name.split("/")[-2] for name in storage.objects if "slots/" in name} == {"00000002"}
    assert not any(name.startswith(("keychanges/", "intents/", "sessions/")) for name in storage.objects)


def test_backups_from_before_are_readable_and_new_ones_use_the_new_key() -> None:
    storage, _ = made(2)
    before = set(storage.objects)
    rotate(keychain(storage), [PASSWORD])
    repository = reopened(storage)
    assert len(require_readable(repository)) == 2
    commit(repository, 3)
    assert len(require_readable(reopened(storage))) == 3
    sealed = [name for name in storage.objects if name.split("/")[0] in ("manifests", "index", "packs")]
    epochs = {name: parse_object_header(storage.objects[name]).epoch for name in sealed}
    assert {epoch for name, epoch in epochs.items() if name in before} == {1}
    assert {epoch for name, epoch in epochs.items() if name not in before} == {2}


def test_contents_from_before_are_not_stored_again() -> None:
    """Chunk ids and cut points are for life."""
    storage, _ = made(1)
    rotate(keychain(storage), [PASSWORD])
    packs = [name for name in storage.objects if name.startswith("packs/")]
    with reopened(storage).begin_write(SMALL_PACKS) as session:
        session.commit(write(session, 1), lambda: None)
        assert session.new_chunks == 0
    assert [name for name in storage.objects if name.startswith("packs/")] == packs


def test_rotations_follow_one_another() -> None:
    """Each inventory names what counted under the one before: three epochs in one repository."""
    storage, _ = made(1)
    for generation in (2, 3, 4):
        assert rotate(keychain(storage), [PASSWORD, OTHER]).generation == generation
        commit(reopened(storage), generation)
    assert len(require_readable(reopened(storage, OTHER))) == 4


def test_every_kind_that_a_key_seals_is_named_or_has_a_reason() -> None:
    """A kind that is added later must be decided on."""
    by_other_rules = {
        *(ObjectKind.CONFIG, ObjectKind.KEYRING, ObjectKind.SLOT, ObjectKind.INTENT),  # no epoch's key seals these
        ObjectKind.PACK,  # an index segment vouches for it
        *(ObjectKind.SESSION, ObjectKind.KEY_CHANGE),  # no matter of trust
        ObjectKind.INVENTORY,  # the keyring names the one that counts
    }
    assert set(INVENTORIED) | by_other_rules == set(ObjectKind)
    assert not set(INVENTORIED) & by_other_rules


def test_what_makes_no_sense_is_refused() -> None:
    storage, _ = made()
    before = dict(storage.objects)
    with pytest.raises(ConfigurationError, match="password 2 of those to keep opens no key"):
        rotate(keychain(storage), [PASSWORD, b"mistyped"])
    with pytest.raises(ConfigurationError, match="no password would be left"):
        rotate(keychain(storage), [])
    assert storage.objects == before


def test_unreadable_objects_are_named() -> None:
    storage, _ = made(2)
    name = sorted(each for each in storage.objects if each.startswith("manifests/"))[0]
    for each in (name, "copies/" + name):
        storage.objects[each] = storage.objects[each][:-1]
    assert rotate(keychain(storage), [PASSWORD]).unreadable == (name,)


def test_a_writer_from_before_is_refused_and_the_next_run_works() -> None:
    storage, _ = made(1)
    repository = reopened(storage)
    with repository.begin_write(SMALL_PACKS) as session:
        root = write(session, 2)
        rotate(keychain(storage), [PASSWORD])
        for act in (lambda: session.commit(root, lambda: None), lambda: session.checkpoint(root)):
            with pytest.raises(CommitRefusedError, match="rotated meanwhile"):
                act()
    assert len(require_readable(reopened(storage))) == 1
    commit(reopened(storage), 2)
    assert len(require_readable(reopened(storage))) == 2


def test_a_reader_from_before_goes_on() -> None:
    storage, _ = made(2)
    repository = reopened(storage, OTHER)
    rotate(keychain(storage), [PASSWORD])
    assert len(require_readable(repository)) == 2
    commit(reopened(storage), 3)
    assert len(require_readable(repository)) == 2


class Interposed(MemoryStorage):
    """Calls `act` once, before the first put below a prefix."""

    def __init__(self, inner: MemoryStorage, prefix: str, act: Callable[[], None]) -> None:
        super().__init__()
        self.objects = inner.objects
        self._prefix = prefix
        self._act: Callable[[], None] | None = act

    def put(self, name: str, data: bytes | memoryview, *, overwrite: bool = False) -> None:
        if name.startswith(self._prefix) and self._act is not None:
            act, self._act = self._act, None
            act()
        super().put(name, data, overwrite=overwrite)


@pytest.mark.parametrize("prefix", ["keychanges/", "slots/", "inventories/", "intents/", "keyrings/"])
def test_a_commit_at_each_step_of_a_rotation_counts_or_is_refused(prefix: str) -> None:
    """What was committed before the announcement is in the inventory; later ones wait, and the rotation goes on."""
    storage, _ = made(1)
    opened = unlock(storage, PASSWORD, system_randomness)
    repository = Repository(opened.store, opened.config, RunningClock())
    session = repository.begin_write(SMALL_PACKS)
    root = write(session, 2)
    ended: list[str] = []

    def impatient() -> None:
        if any(name.startswith("manifests/") for name in set(storage.objects) - before) or confirmed:
            raise CommitRefusedError("the rotation is still under way")
        confirmed.append(True)

    before = set(storage.objects)
    confirmed: list[bool] = []

    def act() -> None:
        try:
            session.commit(root, impatient)
            ended.append("committed")
        except CommitRefusedError:
            ended.append("refused")

    rotate(keychain(Interposed(storage, prefix, act)), [PASSWORD])
    session.close()
    assert ended == ["committed" if prefix == "keychanges/" else "refused"]
    assert len(require_readable(reopened(storage))) == (2 if prefix == "keychanges/" else 1)


@pytest.mark.parametrize("prefix", ["slots/", "inventories/", "intents/", "keyrings/"])
def test_of_two_rotations_one_wins(prefix: str) -> None:
    """The second one begins at each step of the first, and gives up; with the first done, it must open again."""
    storage, _ = made(1)
    second = _impatient(keychain(storage))
    errors: list[EngineError] = []

    def act() -> None:
        try:
            rotate(second, [OTHER])
        except EngineError as error:
            errors.append(error)

    rotate(keychain(Interposed(storage, prefix, act)), [PASSWORD])
    assert [type(error) for error in errors] == [RepositoryLockedError]
    assert [opens(storage, secret) for secret in (PASSWORD, OTHER)] == [True, False]
    with pytest.raises(KeysChangedError):
        rotate(second, [OTHER])
    assert len(require_readable(reopened(storage))) == 1


def _impatient(keys: Keychain) -> Keychain:
    return Keychain(keys.opened, keys.clock, keys.randomness, CHEAP, keys.pause, patience=0.0)

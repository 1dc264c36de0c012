"""Passwords and recovery codes are added, changed and removed; something opens at every moment (3.5)."""

import contextlib
from collections.abc import Callable
from dataclasses import replace

import pytest

from repositories.engine.errors import ConfigurationError, EngineError, KeysChangedError, RepositoryLockedError
from repositories.engine.format.collection import SessionPurpose
from repositories.engine.format.kinds import COPIES, ObjectKind
from repositories.engine.keychain import (
    BadSlot,
    Keychain,
    KeyFacts,
    add_password,
    add_recovery_code,
    change_password,
    list_bad_keys,
    list_keys,
    passwords,
    remove_key,
    remove_recovery_codes,
    rotate,
)
from repositories.engine.keychain.keychain import Announcement
from repositories.engine.keys.slots import make_slot
from repositories.engine.repository import CreateOptions, create_repository
from repositories.engine.storage.faults import Breakage, Fault, FaultyStorage, KilledError, Operation
from repositories.engine.storage.memory import MemoryStorage
from tests import canaries
from tests.engine.fakes import CHEAP
from tests.engine.keychain.chains import OTHER, RunningClock, bury, copy_of, keychain, opens
from tests.engine.repositories import PASSWORD

NEW = canaries.repository_password("new").encode()


def made(label: str = "first") -> tuple[MemoryStorage, bytes]:
    """Return a repository and its recovery code."""
    storage = MemoryStorage()
    created = create_repository(storage, CreateOptions(PASSWORD, label, kdf=CHEAP, reserve_bytes=10))
    return storage, created.recovery_code.encode()


def test_a_password_is_added_and_removed() -> None:
    storage, code = made()
    added = add_password(keychain(storage), OTHER, "laptop")
    assert opens(storage, OTHER)
    keys, damaged = list_keys(keychain(storage))
    assert ([(key.role, key.label, key.in_use) for key in keys], damaged) == (
        [("password", "first", True), ("recovery_code", "recovery code", False), ("password", "laptop", False)],
        0,
    )
    assert remove_key(keychain(storage), added.short_id) == replace(added, in_use=False)
    assert not opens(storage, OTHER)
    assert opens(storage, PASSWORD)
    assert opens(storage, code)


def test_a_password_is_changed() -> None:
    storage, code = made()
    changed = change_password(keychain(storage), NEW)
    assert (changed.label, changed.role) == ("first", "password")
    assert [opens(storage, secret) for secret in (PASSWORD, NEW, code)] == [False, True, True]


def test_a_recovery_code_is_made_and_replaces_the_old_one() -> None:
    storage, code = made()
    new = add_recovery_code(keychain(storage))
    assert opens(storage, new.code.encode())
    assert opens(storage, code)
    assert remove_recovery_codes(keychain(storage), new.slot_id) == 1
    assert [opens(storage, secret) for secret in (PASSWORD, new.code.encode(), code)] == [True, True, False]
    with pytest.raises(KeysChangedError):
        remove_recovery_codes(keychain(storage), "00" * 16)


def test_the_last_key_stays_and_the_one_in_use_needs_a_word() -> None:
    storage, code = made()
    with pytest.raises(ConfigurationError, match="just now"):
        remove_key(keychain(storage), "first")
    removed = remove_key(keychain(storage), "first", sure=True)
    assert isinstance(removed, KeyFacts)
    assert removed.in_use
    with pytest.raises(ConfigurationError, match="last key"):
        remove_key(keychain(storage, code), "recovery code", sure=True)
    assert opens(storage, code)


def test_keys_are_named_without_doubt() -> None:
    storage, _ = made()
    for wanted in ("nobody", "0", ""):
        with pytest.raises(ConfigurationError, match="no key has the label" if wanted else "is empty"):
            remove_key(keychain(storage), wanted)
    add_recovery_code(keychain(storage))
    with pytest.raises(ConfigurationError, match="2 keys are called"):
        remove_key(keychain(storage), "recovery code")


def test_what_makes_no_sense_is_refused() -> None:
    storage, code = made()
    for secret, label, reason in (
        (b"", "x", "cannot be empty"),
        (code, "x", "is a recovery code"),
        (PASSWORD, "x", "opens already"),
        (OTHER, "first", "labelled 'first' already"),
        (OTHER, "x" * 257, "too long"),
    ):
        with pytest.raises(ConfigurationError, match=reason):
            add_password(keychain(storage), secret, label)
    with pytest.raises(ConfigurationError, match="opens already"):
        change_password(keychain(storage), PASSWORD)
    with pytest.raises(ConfigurationError, match="recovery code opened"):
        change_password(keychain(storage, code), NEW)
    assert not any(name.startswith(("keychanges/", "sessions/")) for name in storage.objects)


def test_there_are_at_most_64_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    storage, _ = made()
    monkeypatch.setattr(passwords, "MAX_SLOTS", 3)
    add_password(keychain(storage), OTHER, "")
    with pytest.raises(ConfigurationError, match="has 3 keys"):
        add_password(keychain(storage), NEW, "")


def test_one_changes_keys_at_a_time() -> None:
    """The second waits, then gives up; both take back what they put."""
    storage, _ = made()
    first = Announcement(keychain(storage), SessionPurpose.KEYS)
    clock = RunningClock()
    told: list[str] = []
    second = keychain(storage, clock=clock)
    second = Keychain(second.opened, clock, second.randomness, CHEAP, clock.pause, 30.0, told.append)
    with pytest.raises(RepositoryLockedError) as caught:
        add_password(second, OTHER, "")
    assert caught.value.exit_code == 11
    assert len(told) == 1
    assert 30 <= clock.seconds < 40
    first.end()
    add_password(second, OTHER, "")
    assert opens(storage, OTHER)


def test_a_dead_process_elsewhere_is_waited_for_five_minutes(monkeypatch: pytest.MonkeyPatch) -> None:
    storage, _ = made()
    monkeypatch.setattr("repositories.engine.objects.rotations.is_surely_dead", lambda *_: False)
    first = Announcement(keychain(storage), SessionPurpose.KEYS)
    clock = RunningClock()
    add_password(keychain(storage, clock=clock), OTHER, "")
    assert 300 <= clock.seconds < 310
    assert not first.is_there()
    first.end()


def test_keys_that_were_rotated_meanwhile_are_not_changed() -> None:
    storage, _ = made()
    late = keychain(storage)
    rotate(keychain(storage), [PASSWORD])
    for act in (lambda: add_password(late, OTHER, ""), lambda: remove_key(late, "recovery code")):
        with pytest.raises(KeysChangedError):
            act()
    assert not opens(storage, OTHER)


CHANGES: dict[str, tuple[Callable[[Keychain], object], list[bytes]]] = {
    "add": (lambda keys: add_password(keys, NEW, "new"), [PASSWORD]),
    "change": (lambda keys: change_password(keys, NEW), []),
    "remove": (lambda keys: remove_key(keys, "recovery code"), [PASSWORD]),
    "code": (lambda keys: remove_recovery_codes(keys, add_recovery_code(keys).slot_id), [PASSWORD]),
}


@pytest.mark.parametrize("change", list(CHANGES))
@pytest.mark.parametrize("fault", [Fault.FULL, Fault.TEAR, Fault.KILL], ids=lambda fault: fault.value)
def test_a_fault_at_each_write_leaves_what_must_open(change: str, fault: Fault) -> None:
    act, must = CHANGES[change]
    before, _ = made()
    counting = FaultyStorage(copy_of(before))
    act(keychain(counting))
    for at in range(1, counting.writes + 1):
        storage = copy_of(before)
        with contextlib.suppress(EngineError, KilledError):
            act(keychain(FaultyStorage(storage, fault, at)))
        bury(storage, (PASSWORD, NEW))
        assert all(opens(storage, secret) for secret in must)
        assert opens(storage, PASSWORD) or opens(storage, NEW)
        secret = PASSWORD if opens(storage, PASSWORD) else NEW
        add_password(keychain(storage, secret), OTHER, "next")
        assert opens(storage, OTHER)


def test_a_change_killed_at_each_deletion_leaves_a_password_that_opens() -> None:
    before, _ = made()
    deletions = 0
    while True:
        storage = FaultyStorage(copy_of(before), breakage=Breakage(Fault.KILL, deletions + 1, Operation.DELETE))
        try:
            change_password(keychain(storage), NEW)
        except KilledError:
            bury(storage.inner, (PASSWORD, NEW))
            assert opens(storage.inner, NEW)
            deletions += 1
            continue
        assert deletions >= 2
        return


def test_a_slot_that_was_stored_wrongly_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Proven by opening what was read back, before anybody relies on it."""
    storage, _ = made()

    def wrong(owner: object, secret: bytes, *rest: object) -> object:
        return make_slot(owner, secret + b"!", *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(passwords, "make_slot", wrong)
    with pytest.raises(EngineError, match="does not open"):
        change_password(keychain(storage), NEW)
    assert opens(storage, PASSWORD)
    assert any(name.startswith("slots/") for name in storage.objects), ObjectKind.SLOT


def test_a_slot_that_is_whole_nowhere_is_removed_by_its_id_when_that_is_sure() -> None:
    storage, code = made()
    added = add_password(keychain(storage), OTHER, "laptop")
    (name,) = (each for each in storage.objects if each.startswith("slots/") and added.id in each)
    for place in ("", COPIES):
        storage.objects[place + name] = b"bad"
    assert [(each.id, each.name) for each in list_bad_keys(keychain(storage))] == [(added.id, name)]
    with pytest.raises(ConfigurationError, match="no key has the label"):
        remove_key(keychain(storage), "laptop", sure=True)
    with pytest.raises(ConfigurationError, match="cannot be read in any copy"):
        remove_key(keychain(storage), added.short_id)
    removed = remove_key(keychain(storage), added.short_id, sure=True)
    assert (isinstance(removed, BadSlot), removed.id) == (True, added.id)
    assert not any(added.id in each for each in storage.objects)
    assert list_bad_keys(keychain(storage)) == []
    assert opens(storage, PASSWORD)
    assert opens(storage, code)


def test_the_last_whole_key_stays_beside_a_damaged_one() -> None:
    storage, code = made()
    own = keychain(storage).opened.slot.facts.slot_id.hex()
    for name in [each for each in storage.objects if "slots/" in each and own in each]:
        storage.objects[name] = b"bad"
    with pytest.raises(ConfigurationError, match="last key"):
        remove_key(keychain(storage, code), "recovery code", sure=True)
    assert remove_key(keychain(storage, code), own, sure=True).id == own
    assert opens(storage, code)


def test_a_name_under_which_another_key_lies_is_left_to_a_repair() -> None:
    """Both would be called damaged; to remove one would take the other's only bytes."""
    storage, _ = made()
    one, two = (add_password(keychain(storage), secret, "") for secret in (OTHER, NEW))
    names = [
        next(each for each in storage.objects if each.startswith("slots/") and key.id in each) for key in (one, two)
    ]
    for place in ("", COPIES):
        first, second = (place + each for each in names)
        storage.objects[first], storage.objects[second] = storage.objects[second], storage.objects[first]
    before = dict(storage.objects)
    with pytest.raises(ConfigurationError, match="lies another key"):
        remove_key(keychain(storage), one.id, sure=True)
    assert storage.objects == before

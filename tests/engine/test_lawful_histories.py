"""None of what lawfully goes away is taken for an earlier state (3.14, engine.md 5)."""

import contextlib
from collections.abc import Callable
from pathlib import Path

import pytest

from repositories.engine.backup import Hooks
from repositories.engine.copying import CopyRequest, copy_backups
from repositories.engine.errors import CommitRefusedError
from repositories.engine.format.commits import ManifestRecord
from repositories.engine.format.kinds import COPIES, ObjectKind
from repositories.engine.format.records import decode, encode
from repositories.engine.keychain import (
    add_password,
    add_recovery_code,
    change_password,
    remove_key,
    remove_recovery_codes,
    rotate,
)
from repositories.engine.repair import copies, fences, notes
from repositories.engine.repository import Repository
from repositories.engine.storage.memory import MemoryStorage
from tests.engine.contents import SMALL_PACKS, write
from tests.engine.histories import Recording, mark, recorded, require_no_alarm, sweep
from tests.engine.keychain.chains import OTHER, RunningClock, keychain
from tests.engine.prune.builders import back_up, files, forget, reopened, run
from tests.engine.repair.hurting import flip, mend, packs
from tests.engine.repositories import PASSWORD, make_repository

NEW = b"new password"


def forgotten_and_pruned(storage: Recording, tree: Path) -> None:
    first = back_up(reopened(storage), tree, files(1, 2))
    second = back_up(reopened(storage), tree, files(2, 3))
    forget(reopened(storage), first)
    run(storage)
    back_up(reopened(storage), tree, files(3, 4))
    forget(reopened(storage), second)
    run(storage)


def brought_back(storage: Recording, tree: Path) -> None:
    """Once in time, and once when a prune had decided already: then it is deleted again."""
    first = back_up(reopened(storage), tree, files(1))
    back_up(reopened(storage), tree, files(2))
    forget(reopened(storage), first, undoes=forget(reopened(storage), first))
    tombstone = forget(reopened(storage), first)
    storage.interpose("sweeps/", lambda: forget(reopened(storage), first, undoes=tombstone))
    assert run(storage).removed_backups == 1


def taken_back(storage: Recording, tree: Path) -> None:
    """A mark comes while a backup commits: it takes its manifest back and puts another."""
    kept = back_up(reopened(storage), tree, files(1))
    storage.interpose(f"{COPIES}manifests/", lambda: mark(reopened(storage).store, 1))
    back_up(reopened(storage), tree, files(2))
    assert len(reopened(storage).store.ids(ObjectKind.MANIFEST)) == 2
    assert len(reopened(storage).store.ids(ObjectKind.TOMBSTONE)) == 1
    forget(reopened(storage), kept)
    run(storage)


def voided(storage: Recording, tree: Path) -> None:
    """A writer that slept puts its manifest between the look of a prune and its sweep."""
    first = back_up(reopened(storage), tree, files(1))
    second = back_up(reopened(storage), tree, files(2))
    store = reopened(storage).store
    record = decode(store.read(ObjectKind.MANIFEST, bytes.fromhex(second)), ManifestRecord)
    forget(reopened(storage), first)
    storage.interpose("sweeps/", lambda: store.put(ObjectKind.MANIFEST, encode(record)))
    run(storage)
    assert len(reopened(storage).backups()) == 1
    mend(storage, adopt=("all",))
    back_up(reopened(storage), tree, files(3))
    forget(reopened(storage), second)
    run(storage)


def rotated(storage: Recording, tree: Path) -> None:
    back_up(reopened(storage), tree, files(1))
    add_password(keychain(storage), OTHER, "other")
    rotate(keychain(storage), [PASSWORD])
    second = back_up(reopened(storage), tree, files(2))
    forget(reopened(storage), second)
    back_up(reopened(storage), tree, files(3))
    run(storage)
    rotate(keychain(storage), [PASSWORD])
    back_up(reopened(storage), tree, files(4))
    run(storage)


def passed_by(storage: Recording, tree: Path) -> None:
    """A backup and a prune with the old keys come too late for the inventory of a rotation."""
    back_up(reopened(storage), tree, files(1))
    old = reopened(storage)
    late = Repository(old.store, old.config, RunningClock())
    calls: list[int] = []

    def confirm() -> None:
        calls.append(1)
        if len(calls) > 1:
            raise CommitRefusedError("the rotation is still under way")

    def act() -> None:
        with contextlib.suppress(CommitRefusedError), late.begin_write(SMALL_PACKS) as session:
            session.commit(write(session, 2), confirm)
        mark(old.store, 1)
        sweep(old.store, 1)

    storage.interpose("inventories/", act)
    rotate(keychain(storage), [PASSWORD])
    assert len(calls) == 2
    forget(reopened(storage), back_up(reopened(storage), tree, files(2)))
    back_up(reopened(storage), tree, files(3))
    run(storage)


def keys_changed(storage: Recording, _: Path) -> None:
    add_password(keychain(storage), OTHER, "other")
    change_password(keychain(storage, OTHER), NEW)
    remove_key(keychain(storage), "other")
    remove_recovery_codes(keychain(storage), add_recovery_code(keychain(storage)).slot_id)
    rotate(keychain(storage), [PASSWORD])
    add_password(keychain(storage), OTHER, "other")
    remove_key(keychain(storage), "other")


def repaired(storage: Recording, tree: Path) -> None:
    for number in range(3):
        back_up(reopened(storage), tree, files(number, number + 1))
    flip(storage, packs(storage, 1)[0], -1)
    for name in [name for name in storage.objects if name.startswith(COPIES)]:
        flip(storage, name, -1)
    assert mend(storage, read_data=True).exit_code == 0
    back_up(reopened(storage), tree, files(9))


def set_aside(storage: Recording, tree: Path) -> None:
    """Marks, sweeps and notes that cannot be read: a repair puts others in their place, and brings back what it may."""
    first = back_up(reopened(storage), tree, files(1))
    forget(reopened(storage), first)
    back_up(reopened(storage), tree, files(2))
    run(storage)
    second = back_up(reopened(storage), tree, files(3))
    back_up(reopened(storage), tree, files(4))
    tombstone = forget(reopened(storage), second)
    mark_id = mark(reopened(storage).store, 7)
    hurt = [f"marks/{mark_id.hex()}", f"tombstones/{tombstone.hex()}"]
    hurt += [name for name in storage.objects if name.removeprefix(COPIES).startswith("sweeps/")]
    for name in hurt:
        flip(storage, name, -1)
    mend(storage)
    assert not storage.objects.keys() & set(hurt)
    assert second in {backup.object_id for backup in reopened(storage).backups()}
    back_up(reopened(storage), tree, files(5))
    run(storage)


def compacted(storage: Recording, tree: Path) -> None:
    """Segments of an index are merged, packs repacked: neither is anything to remember."""
    made = [back_up(reopened(storage), tree, files(*range(number, number + 4))) for number in range(6)]
    forget(reopened(storage), *made[::2])
    run(storage)


def copied(storage: Recording, tree: Path) -> None:
    origin = make_repository(MemoryStorage())
    for number in range(2):
        back_up(origin, tree, files(number))
        copy_backups(origin, reopened(storage), CopyRequest(), Hooks())


LAWFUL = (
    forgotten_and_pruned,
    brought_back,
    taken_back,
    voided,
    rotated,
    passed_by,
    keys_changed,
    repaired,
    set_aside,
    compacted,
    copied,
)


@pytest.mark.parametrize("history", LAWFUL, ids=lambda history: history.__name__)
def test_nothing_that_lawfully_goes_away_is_an_earlier_state(
    history: Callable[[Recording, Path], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After each put and deletion, for whoever looked at any moment before."""
    for module in (copies, fences, notes):
        monkeypatch.setattr(module, "_SETTLE_SECONDS", 0.0)
    storage = recorded()
    history(storage, tmp_path / "tree")
    assert len(storage.states) > 15
    require_no_alarm(storage.states)

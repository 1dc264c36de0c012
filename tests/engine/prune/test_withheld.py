"""A backup that is named and neither there nor deleted stops a prune: its manifest may come back (3.4, 3.14)."""

from pathlib import Path

import pytest

from repositories.engine.backup import Hooks
from repositories.engine.check import CheckReport, CheckRequest, check
from repositories.engine.errors import BackupUnreadableError
from repositories.engine.forgetting import ForgetRequest, plan
from repositories.engine.forgetting import forget as forget_by_name
from repositories.engine.format.kinds import ObjectKind
from repositories.engine.format.notes import TombstoneRecord
from repositories.engine.format.records import encode
from repositories.engine.keychain import rotate
from repositories.engine.objects.store import ObjectStore
from repositories.engine.storage.memory import MemoryStorage
from tests.engine.keychain.chains import keychain
from tests.engine.prune.builders import back_up, checked, files, forget, hold, reopened, require_backup, run
from tests.engine.repositories import PASSWORD, make_repository

Objects = dict[str, bytes]


@pytest.fixture
def storage() -> MemoryStorage:
    storage = MemoryStorage()
    make_repository(storage)
    return storage


def take(storage: MemoryStorage, manifest: str) -> Objects:
    """Take both copies of a manifest away; return them."""
    names = (f"manifests/{manifest}", f"copies/manifests/{manifest}")
    return {name: storage.objects.pop(name) for name in names}


def looked_at(storage: MemoryStorage) -> CheckReport:
    return check(reopened(storage), CheckRequest(), Hooks())


def require_refused(storage: MemoryStorage, manifest: str, named_by: str = "") -> None:
    """Neither a plan nor a prune deletes anything, and a check tells the same."""
    before = dict(storage.objects)
    for dry_run in (True, False):
        with pytest.raises(BackupUnreadableError, match="nothing was deleted") as caught:
            run(storage, dry_run=dry_run)
        assert caught.value.exit_code == 13
        assert f"manifests/{manifest}" in caught.value.message
        assert named_by in caught.value.message
        assert f"forget manifests/{manifest}" in caught.value.hint
    assert storage.objects == before
    (problem,) = looked_at(storage).problems
    assert problem.object == f"manifests/{manifest}"


def give_up(storage: MemoryStorage, manifest: str) -> None:
    """Forget a lost backup by its manifest's name, as check and prune tell people to."""
    repository = reopened(storage)
    forget_by_name(repository, plan(repository, ForgetRequest(ids=(f"manifests/{manifest}",))))


def test_a_backup_that_comes_back_is_whole(storage: MemoryStorage, tmp_path: Path) -> None:
    gone, deleted = (back_up(reopened(storage), tmp_path / "tree", files(number)) for number in (1, 2))
    back_up(reopened(storage), tmp_path / "tree", files(3))
    forget(reopened(storage), deleted)
    kept = take(storage, gone)
    require_refused(storage, gone, "backup ")
    storage.objects.update(kept)
    assert run(storage).removed_backups == 1
    require_backup(reopened(storage), gone, files(1), tmp_path / "restored")


def test_one_that_is_given_up_stops_nothing(storage: MemoryStorage, tmp_path: Path) -> None:
    gone = back_up(reopened(storage), tmp_path / "tree", files(1))
    back_up(reopened(storage), tmp_path / "tree", files(2))
    take(storage, gone)
    give_up(storage, gone)
    assert run(storage).deleted_packs
    assert checked(storage).backups == 1


def test_what_a_deleted_backup_names_can_be_given_up_too(storage: MemoryStorage, tmp_path: Path) -> None:
    gone, deleted = (back_up(reopened(storage), tmp_path / "tree", files(number)) for number in (1, 2))
    back_up(reopened(storage), tmp_path / "tree", files(3))
    forget(reopened(storage), deleted)
    take(storage, gone)
    require_refused(storage, gone)
    give_up(storage, gone)
    assert run(storage).finished


def test_the_newest_of_all_is_missed_by_its_hold(storage: MemoryStorage, tmp_path: Path) -> None:
    """No backup names it yet; a hold upon it is no hindrance to giving it up."""
    back_up(reopened(storage), tmp_path / "tree", files(1))
    newest = back_up(reopened(storage), tmp_path / "tree", files(2))
    hold(reopened(storage), newest)
    take(storage, newest)
    require_refused(storage, newest, "a hold names it")
    give_up(storage, newest)
    run(storage)
    assert checked(storage).backups == 1


def test_the_newest_before_a_rotation_is_missed_by_the_inventory(storage: MemoryStorage, tmp_path: Path) -> None:
    back_up(reopened(storage), tmp_path / "tree", files(1))
    newest = back_up(reopened(storage), tmp_path / "tree", files(2))
    rotate(keychain(storage), [PASSWORD])
    take(storage, newest)
    require_refused(storage, newest, "rotation of the keys names it")
    give_up(storage, newest)
    assert run(storage).finished
    assert checked(storage).backups == 1


def test_what_the_inventory_lists_may_be_pruned_or_taken_back_too_late(storage: MemoryStorage, tmp_path: Path) -> None:
    """The tombstone of a writer that a rotation passed by is sealed with a key that has ended."""
    for number in range(3):
        back_up(reopened(storage), tmp_path / "tree", files(number))
    first, _, newest = (stored.object_id for stored in reopened(storage).backups())
    old = reopened(storage).store
    rotate(keychain(storage), [PASSWORD])
    take_back(old, newest)
    forget(reopened(storage), first)
    assert run(storage).removed_backups == 1
    assert run(storage).finished
    assert checked(storage).backups == 1


def take_back(store: ObjectStore, manifest: str) -> None:
    manifest_id = bytes.fromhex(manifest)
    store.put(ObjectKind.TOMBSTONE, encode(TombstoneRecord((manifest_id,), 1, "taken back")))
    store.remove(ObjectKind.MANIFEST, manifest_id)


def test_one_that_is_withheld_while_a_prune_waits_is_missed_before_its_sweep(
    storage: MemoryStorage, tmp_path: Path
) -> None:
    gone, deleted = (back_up(reopened(storage), tmp_path / "tree", files(number)) for number in (1, 2))
    back_up(reopened(storage), tmp_path / "tree", files(3))
    forget(reopened(storage), deleted)
    taken: Objects = {}

    def withhold(_: object) -> None:
        if not taken and any(name.startswith("marks/") for name in storage.objects):
            taken.update(take(storage, gone))

    with pytest.raises(BackupUnreadableError, match="nothing was deleted"):
        run(storage, Hooks(report=withhold))
    assert taken
    storage.objects.update(taken)
    assert run(storage).removed_backups == 1
    require_backup(reopened(storage), gone, files(1), tmp_path / "restored")

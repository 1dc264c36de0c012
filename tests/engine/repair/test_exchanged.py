"""One copy exchanged for what an ended key sealed: a check calls it replaced, a repair writes it again (3.2, 3.11)."""

import pytest

from repositories.engine.format.commits import ManifestRecord
from repositories.engine.format.kinds import COPIES, ObjectKind, object_name
from repositories.engine.format.records import encode
from repositories.engine.ids import system_randomness
from repositories.engine.keychain import add_password, rotate
from repositories.engine.opening import unlock
from repositories.engine.repository import open_repository
from repositories.engine.storage.memory import MemoryStorage
from tests.engine.keychain.chains import OTHER, keychain
from tests.engine.repair.hurting import mend, run_check
from tests.engine.repositories import PASSWORD


def exchange(storage: MemoryStorage) -> dict[str, bytes]:
    """Rotate the keys, and put what an ended one seals in place of both copies of a manifest; return those."""
    add_password(keychain(storage, PASSWORD), OTHER, "leaked")
    thief = unlock(storage, OTHER, system_randomness)
    rotate(keychain(storage, PASSWORD), [PASSWORD])
    manifest_id = thief.store.ids(ObjectKind.MANIFEST)[0]
    name = object_name(ObjectKind.MANIFEST, manifest_id)
    true = {each: storage.objects.pop(each) for each in (name, COPIES + name)}
    thief.store.put(ObjectKind.MANIFEST, encode(ManifestRecord(0, 1, 1, bytes(16), b"forged")), manifest_id)
    return true


@pytest.mark.parametrize("prefix", ["", COPIES], ids=["the first copy", "the second copy"])
def test_a_copy_that_an_ended_key_sealed_is_written_again_from_the_good_one(small: MemoryStorage, prefix: str) -> None:
    true = exchange(small)
    name = min(true, key=lambda each: each.startswith(COPIES))
    other = name if prefix else COPIES + name
    small.objects[other] = true[other]
    before = run_check(small)
    assert [(each.object, "replaced" in each.message) for each in before.problems] == [(prefix + name, True)]
    report = mend(small)
    assert report.exit_code == 0
    assert [each.object for each in report.steps] == [prefix + name]
    assert small.objects[prefix + name] == true[other]
    assert run_check(small).ok
    assert len(open_repository(small, PASSWORD).backups()) == 2


def test_where_both_copies_were_exchanged_a_repair_says_that_it_cannot_mend_them(small: MemoryStorage) -> None:
    true = exchange(small)
    assert {each.object for each in run_check(small).problems} == true.keys()
    report = mend(small)
    assert report.exit_code == 13
    assert [(each.done, "bring it back" in each.message) for each in report.steps] == [(False, True)]
    small.objects.update(true)
    assert run_check(small).ok

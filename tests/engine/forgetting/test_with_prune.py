"""Deletion, hold, undelete, prune, check and rotation of keys, one after the other (3.3, 3.4)."""

from pathlib import Path

import pytest

from repositories.engine.backup import Hooks
from repositories.engine.check import CheckRequest, check
from repositories.engine.errors import BackupNotFoundError, CommitRefusedError
from repositories.engine.forgetting import ForgetRequest, forget, place_hold, plan, undelete
from repositories.engine.format.kinds import ObjectKind, generation_group
from repositories.engine.prune import PruneRequest, prune
from repositories.engine.repository import Repository, open_repository
from repositories.engine.retention.policy import KeepRules
from repositories.engine.storage.memory import MemoryStorage
from tests.engine.forgetting.builders import DAY, NOW, backup, listed, named, new_repository, put_backup
from tests.engine.repositories import PASSWORD, back_up_tree, make_repository


def test_what_is_deleted_is_there_until_a_prune_and_no_loss_after_it(tmp_path: Path) -> None:
    storage = MemoryStorage()
    tree = tmp_path / "tree"
    tree.mkdir()
    made: list[str] = []
    for number in range(4):
        (tree / "file").write_bytes(bytes([number]) * 100_000)
        made.append(back_up_tree(make_repository(storage) if not made else opened(storage), tree).manifest_id)
    repository = opened(storage)
    place_hold(repository, backup(repository, made[0]), "audit")
    forget(repository, plan(repository, ForgetRequest(rules=KeepRules(last=1))))
    assert listed(repository) == [made[0], made[3]]
    assert [each.manifest_id for each in undelete(repository, [made[1]]).back] == [made[1]]
    packs = len(repository.store.names(ObjectKind.PACK))
    assert prune(opened(storage), PruneRequest(max_unused=0.0), Hooks()).finished
    left = opened(storage)
    assert listed(left) == [made[0], made[1], made[3]]
    assert len(left.store.names(ObjectKind.PACK)) <= packs
    with pytest.raises(BackupNotFoundError, match="no deleted backup is named") as raised:
        undelete(left, [made[2]])
    assert "what a prune has taken is gone" in raised.value.hint
    report = check(left, CheckRequest(read_data=True), Hooks())
    assert (report.ok, report.backups) == (True, 3), report.problems


def opened(storage: MemoryStorage) -> Repository:
    return open_repository(storage, PASSWORD)


def test_a_hold_under_keys_that_were_rotated_is_not_claimed() -> None:
    repository = new_repository()
    made = [put_backup(repository, NOW - age * DAY) for age in (2, 1)]
    repository.store.storage.put(f"keyrings/{generation_group(2)}/{'ab' * 16}", b"the keyring of a rotation")
    with pytest.raises(CommitRefusedError, match="rotated meanwhile"):
        place_hold(repository, backup(repository, made[0]), "audit")
    with pytest.raises(CommitRefusedError, match="rotated meanwhile"):
        forget(repository, plan(repository, named(repository, made[1])))

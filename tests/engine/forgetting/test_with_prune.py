"""Deletion, hold, undelete, prune, check and rotation of keys, one after the other (3.3, 3.4)."""

from collections.abc import Callable
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
    with pytest.raises(BackupNotFoundError, match="gone for good") as raised:
        undelete(left, [made[2]])
    assert "can be brought back" in raised.value.hint
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


class Late(MemoryStorage):
    """Runs something once, directly before the sweep is put."""

    def __init__(self) -> None:
        super().__init__()
        self.before_sweep: Callable[[], object] = lambda: None

    def put(self, name: str, data: bytes | memoryview, *, overwrite: bool = False) -> None:
        if name.startswith("sweeps/"):
            act, self.before_sweep = self.before_sweep, lambda: None
            act()
        super().put(name, data, overwrite=overwrite)


def test_what_is_brought_back_too_late_is_no_loss_for_check(tmp_path: Path) -> None:
    """The prune has looked for the last time, its sweep is not there yet: nobody can know, and the answer says so."""
    storage = Late()
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "file").write_bytes(b"content")
    repository = make_repository(storage)
    gone, stays = (back_up_tree(repository, tree).manifest_id for _ in range(2))
    forget(repository, plan(repository, named(repository, gone)))
    answers = []
    storage.before_sweep = lambda: answers.append(undelete(opened(storage), [gone]))
    assert prune(opened(storage), PruneRequest(), Hooks()).finished
    assert [answer.uncertain for answer in answers] == [True]
    assert listed(repository) == [stays]
    report = check(opened(storage), CheckRequest(), Hooks())
    assert report.ok, report.problems

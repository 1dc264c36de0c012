"""A backup that its writer has put and not settled yet: it may be taken back, and nobody is told otherwise (3.3)."""

from collections.abc import Callable

import pytest

from repositories.engine.errors import BackupNotFoundError
from repositories.engine.forgetting import ForgetRequest, forget, place_hold, plan, undelete
from repositories.engine.format.collection import SweepRecord
from repositories.engine.format.commits import ManifestRecord
from repositories.engine.format.kinds import ObjectKind
from repositories.engine.format.records import decode, encode
from repositories.engine.repository import Repository
from repositories.engine.sessions.fences import join_ids
from repositories.engine.sessions.taking_back import take_back
from repositories.engine.storage.memory import MemoryStorage
from tests.engine.forgetting.builders import DAY, NOW, backup, listed, new_repository, put_backup, reopened


class After(MemoryStorage):
    """Lets somebody do something once, after the first put below a prefix."""

    def __init__(self) -> None:
        super().__init__()
        self.prefix = ""
        self.act: Callable[[], object] | None = None

    def put(self, name: str, data: bytes | memoryview, *, overwrite: bool = False) -> None:
        super().put(name, data, overwrite=overwrite)
        if self.act is not None and name.startswith(self.prefix):
            act, self.act = self.act, None
            act()


def root_of(repository: Repository, manifest: str) -> bytes:
    return decode(repository.store.read(ObjectKind.MANIFEST, bytes.fromhex(manifest)), ManifestRecord).root


def prune(repository: Repository, manifest: str) -> None:
    """Put the sweep of a prune that has seen this manifest and no other."""
    segments = join_ids(frozenset(repository.store.ids(ObjectKind.INDEX)))
    record = SweepRecord(1, bytes(16), NOW, bytes.fromhex(manifest), b"", segments, b"")
    repository.store.put(ObjectKind.SWEEP, encode(record))


def hold(repository: Repository, manifest: str) -> bool:
    return place_hold(repository, backup(repository, manifest), "needed").certain


def bring_back(repository: Repository, manifest: str) -> bool:
    forget(repository, plan(repository, ForgetRequest(ids=(manifest,), allow_last=True)))
    result = undelete(repository, [manifest])
    assert [each.manifest_id for each in result.back] == [manifest]
    return not result.uncertain


@pytest.mark.parametrize("act", [hold, bring_back])
@pytest.mark.parametrize("passes", [True, False], ids=["a prune passes by", "nothing happens"])
def test_nobody_is_told_that_it_is_safe_before_its_writer_has_ended(
    act: Callable[[Repository, str], bool],
    passes: bool,
) -> None:
    """It is taken back for a prune that came after the look; its writer commits the same as another manifest."""
    storage = After()
    repository = new_repository(storage)
    other = reopened(repository)
    old = put_backup(repository, NOW - DAY)
    answers: dict[str, bool] = {}

    def meanwhile() -> None:
        (found,) = set(listed(other)) - {old}
        answers[found] = act(other, found)
        if passes:
            prune(other, old)

    storage.prefix, storage.act = "copies/manifests/", meanwhile
    with repository.begin_write() as session:
        made = session.commit(root_of(repository, old), lambda: None)
    ((found, certain),) = answers.items()
    assert not certain
    assert (found == made) is not passes
    assert set(listed(other)) == {old, made}
    assert act(other, made), "once its writer has ended"


def test_a_hold_upon_what_is_taken_back_meanwhile_is_none() -> None:
    storage = After()
    repository = new_repository(storage)
    other = reopened(repository)
    made = put_backup(repository, NOW - DAY)
    found = backup(other, made)
    storage.prefix = "annotations/"
    storage.act = lambda: take_back(repository.store, bytes.fromhex(made), NOW)
    with pytest.raises(BackupNotFoundError, match="its writer took it back"):
        place_hold(other, found, "needed")

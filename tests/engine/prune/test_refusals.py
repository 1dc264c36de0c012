"""What cannot be known is never deleted: unreadable backups, pages and segments stop a prune (3.4)."""

from collections.abc import Callable
from pathlib import Path

import pytest

from repositories.engine.backup import Hooks
from repositories.engine.errors import BackupUnreadableError, EngineError, IntegrityError, OperationCancelledError
from repositories.engine.format.kinds import ObjectKind
from repositories.engine.packs.directory import PackClass
from repositories.engine.repository import Repository
from repositories.engine.storage.memory import MemoryStorage
from tests.engine.prune.builders import back_up, checked, files, forget, hold, packs, reopened, require_backup, run
from tests.engine.repositories import make_repository


@pytest.fixture
def storage() -> MemoryStorage:
    return MemoryStorage()


@pytest.fixture
def repository(storage: MemoryStorage) -> Repository:
    return make_repository(storage)


def flip(storage: MemoryStorage, name: str) -> None:
    data = bytearray(storage.objects[name])
    data[len(data) // 2] ^= 1
    storage.objects[name] = bytes(data)


def spoil_manifest(storage: MemoryStorage, repository: Repository, manifest: str) -> None:
    for name in (f"manifests/{manifest}", f"copies/manifests/{manifest}"):
        flip(storage, name)


def spoil_segments(storage: MemoryStorage, repository: Repository, manifest: str) -> None:
    for name in [name for name in storage.objects if "index/" in name]:
        flip(storage, name)


def spoil_pages(storage: MemoryStorage, repository: Repository, manifest: str) -> None:
    for pack in repository.reader().index.packs().values():
        if pack.pack_class == PackClass.METADATA:
            name = f"packs/{pack.pack_id.hex()[:2]}/{pack.pack_id.hex()}"
            for block in pack.blocks:
                data = bytearray(storage.objects[name])
                data[block.offset + block.length // 2] ^= 1
                storage.objects[name] = bytes(data)


Spoil = Callable[[MemoryStorage, Repository, str], None]


@pytest.mark.parametrize(
    ("spoil", "refusal"),
    [(spoil_manifest, BackupUnreadableError), (spoil_pages, BackupUnreadableError), (spoil_segments, IntegrityError)],
)
def test_what_cannot_be_read_stops_it(
    repository: Repository, storage: MemoryStorage, tmp_path: Path, spoil: Spoil, refusal: type[EngineError]
) -> None:
    first = back_up(repository, tmp_path / "tree", files(*range(8)))
    second = back_up(repository, tmp_path / "tree", files(20, 21))
    forget(repository, first)
    spoil(storage, repository, second)
    before = dict(storage.objects)
    with pytest.raises(refusal, match="nothing was deleted") as caught:
        run(storage)
    assert caught.value.exit_code == 13
    assert "repair" in caught.value.hint or "forget" in caught.value.hint
    assert storage.objects == before


def test_a_lost_backup_that_was_deleted_stops_nothing(
    repository: Repository, storage: MemoryStorage, tmp_path: Path
) -> None:
    first = back_up(repository, tmp_path / "tree", files(*range(8)))
    second = back_up(repository, tmp_path / "tree", files(20, 21))
    spoil_manifest(storage, repository, first)
    forget(repository, first)
    assert run(storage).finished
    assert checked(storage).backups == 1
    require_backup(reopened(storage), second, files(20, 21), tmp_path / "second")


def test_an_annotation_that_may_be_a_hold_keeps_all_deleted_backups(
    repository: Repository, storage: MemoryStorage, tmp_path: Path
) -> None:
    first = back_up(repository, tmp_path / "tree", files(*range(8)))
    back_up(repository, tmp_path / "tree", files(20, 21))
    forget(repository, first)
    annotation = hold(repository, first)
    name = f"annotations/{annotation.hex()}"
    whole = storage.objects[name]
    flip(storage, name)
    told: list[str] = []
    report = run(storage, Hooks(log=lambda level, message: told.append(message)))
    assert (report.removed_backups, len(told)) == (0, 1)
    assert f"{name} cannot be read and may be a hold" in told[0]
    storage.objects[name] = whole
    require_backup(reopened(storage), first, files(*range(8)), tmp_path / "first")


@pytest.mark.parametrize("kind", ["manifests", "index", "annotations", "tombstones", "damage", "marks", "sweeps"])
def test_what_was_torn_in_its_put_stops_nothing_and_goes(
    repository: Repository, storage: MemoryStorage, tmp_path: Path, kind: str
) -> None:
    first = back_up(repository, tmp_path / "tree", files(*range(8)))
    second = back_up(repository, tmp_path / "tree", files(20, 21))
    forget(repository, first)
    whole = repository.store.put(ObjectKind[{"index": "INDEX"}.get(kind, kind.rstrip("s").upper())], bytes(200))
    names = [name for name in storage.objects if name.endswith(f"{kind}/{whole.hex()}")]
    data = storage.objects[names[0]]
    for name in names:
        del storage.objects[name]
    storage.objects[f"{kind}/{whole.hex()}"] = data[: len(data) // 2]
    third = back_up(reopened(storage), tmp_path / "tree", files(20, 21, 22))
    run(storage)
    run(storage)
    assert f"{kind}/{whole.hex()}" not in storage.objects
    after = checked(storage)
    assert (after.backups, after.unused_packs) == (2, 0)
    for manifest, content in ((second, files(20, 21)), (third, files(20, 21, 22))):
        require_backup(reopened(storage), manifest, content, tmp_path / manifest)


def test_a_cancel_leaves_all_as_it_was_and_the_next_goes_on(
    repository: Repository, storage: MemoryStorage, tmp_path: Path
) -> None:
    first = back_up(repository, tmp_path / "tree", files(*range(8)))
    content = files(0, 3, 6)
    second = back_up(repository, tmp_path / "tree", content)
    forget(repository, first)
    before = packs(repository)
    with pytest.raises(OperationCancelledError):
        run(storage, Hooks(cancelled=lambda: True))
    assert packs(repository) == before
    assert not [name for name in storage.objects if name.startswith("sessions/")]
    assert run(storage).finished
    require_backup(reopened(storage), second, content, tmp_path / "second")

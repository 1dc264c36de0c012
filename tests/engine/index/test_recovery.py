"""The index is rebuilt from what the packs say of themselves: the repository is the truth (engine.md, 1.4)."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from repositories.engine.backup import Hooks
from repositories.engine.check import CheckRequest, check
from repositories.engine.format.collection import MarkRecord
from repositories.engine.format.kinds import ObjectKind
from repositories.engine.format.records import encode
from repositories.engine.index.recovery import IndexRecovery, is_current, read_unnamed
from repositories.engine.index.segments import SegmentRecord
from repositories.engine.keys.keyring import EpochKey, open_keyring
from repositories.engine.manifest.backups import list_backups, walk_entries
from repositories.engine.packs.directory import HASH_UNKNOWN
from repositories.engine.repository import Repository, open_repository
from repositories.engine.sessions.fences import join_ids
from repositories.engine.storage.memory import MemoryStorage
from tests.engine.contents import SMALL_PACKS
from tests.engine.repositories import PASSWORD, back_up_tree, make_repository, restore_latest
from tests.engine.trees import pattern

Harm = Callable[[MemoryStorage, list[str]], None]


def delete(storage: MemoryStorage, names: list[str]) -> None:
    for name in names:
        del storage.objects[name]


def flip(storage: MemoryStorage, names: list[str]) -> None:
    for name in names:
        data = bytearray(storage.objects[name])
        data[len(data) // 2] ^= 1
        storage.objects[name] = bytes(data)


@pytest.fixture
def storage(tmp_path: Path) -> MemoryStorage:
    """Return a repository with two backups, each with an index segment of its own."""
    storage = MemoryStorage()
    repository = make_repository(storage)
    (tmp_path / "tree" / "sub").mkdir(parents=True)
    for number in range(4):
        (tmp_path / "tree" / f"file{number}").write_bytes(pattern(1_200_000, number))
    _back_up(repository, tmp_path)
    (tmp_path / "tree" / "sub" / "new").write_bytes(pattern(300_000, 9))
    _back_up(repository, tmp_path)
    return storage


def _back_up(repository: Repository, tmp_path: Path) -> int:
    with repository.begin_write(SMALL_PACKS) as session:
        return back_up_tree(repository, tmp_path / "tree", session=session).new_chunks


def opened(storage: MemoryStorage) -> tuple[Repository, list[str]]:
    repository = open_repository(storage, PASSWORD)
    told: list[str] = []
    repository.warn = told.append
    return repository, told


def segments(storage: MemoryStorage) -> list[str]:
    return [name for name in storage.objects if "index/" in name]


def newest_segment(storage: MemoryStorage) -> list[str]:
    repository = open_repository(storage, PASSWORD)
    live = repository.catalogue.live(lambda *_: True)
    records = {each: segment for each, segment in live.items() if isinstance(segment, SegmentRecord)}
    newest = max(records, key=lambda each: records[each].created_ns).hex()
    return [name for name in segments(storage) if name.endswith(newest)]


@pytest.mark.parametrize("harm", [delete, flip])
@pytest.mark.parametrize("which", [segments, newest_segment])
def test_restore_browse_and_backup_need_no_index(
    storage: MemoryStorage, tmp_path: Path, harm: Harm, which: Callable[[MemoryStorage], list[str]]
) -> None:
    harm(storage, which(storage))
    repository, told = opened(storage)
    result = restore_latest(repository, tmp_path / "out")
    assert (result.exit_code, result.files) == (0, 5)
    for number in range(4):
        assert (tmp_path / "out" / f"file{number}").read_bytes() == pattern(1_200_000, number)
    assert len(told) == 1
    assert "repair" in told[0]
    backups = list_backups(repository)
    assert len(backups) == 2
    assert len(list(walk_entries(repository, backups[0]))) >= 5

    repository, told = opened(storage)
    report = check(repository, CheckRequest(read_data=True), Hooks())
    assert (report.exit_code, report.hurt) == (13, [])
    assert "index" in {problem.kind for problem in report.problems}

    repository, told = opened(storage)
    assert _back_up(repository, tmp_path) == 0
    assert len(told) == 1
    # What the new backup refers to is in a segment now, by which a prune knows what may not go.
    named = open_repository(storage, PASSWORD).reader().index
    for _, entry in walk_entries(open_repository(storage, PASSWORD), list_backups(repository)[-1]):
        assert all(named.present(each) is not None for each in entry.extents or () if isinstance(each, bytes))


def test_a_repository_without_damage_reads_no_directory(
    storage: MemoryStorage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(self: IndexRecovery) -> bool:
        raise AssertionError("directories were read")

    monkeypatch.setattr(IndexRecovery, "run", never)
    repository, told = opened(storage)
    assert restore_latest(repository, tmp_path / "out").exit_code == 0
    assert _back_up(repository, tmp_path) == 0
    (tmp_path / "tree" / "more").write_bytes(b"more")
    assert _back_up(repository, tmp_path) > 0
    assert check(repository, CheckRequest(), Hooks()).ok
    assert told == []


def test_marked_packs_are_not_taken_in_again(storage: MemoryStorage, tmp_path: Path) -> None:
    """engine.md 5: what a prune is about to take must not be referred to anew, wherever it is known from."""
    repository = open_repository(storage, PASSWORD)
    packs = frozenset(repository.reader().index.packs())
    repository.store.put(ObjectKind.MARK, encode(MarkRecord(1, bytes(16), 1, join_ids(packs))))
    delete(storage, segments(storage))
    repository, _ = opened(storage)
    assert _back_up(repository, tmp_path) >= 5
    assert not packs & open_repository(storage, PASSWORD).reader().index.packs().keys()


def test_only_packs_of_the_current_epoch_are_taken_in(storage: MemoryStorage) -> None:
    """Who knows a retired password must not be able to put packs into a repository that has lost its index."""
    repository = open_repository(storage, PASSWORD)
    found = read_unnamed(repository.store, repository.pack_reader, tuple)
    assert len(found.packs) >= 4
    assert all(is_current(repository.store, pack) for pack in found.packs)
    record = repository.keyring.record
    epochs = (*record.epochs, EpochKey(record.current_epoch + 1, bytes(32), 0))
    changed = msgspec.structs.replace(record, epochs=epochs, current_epoch=record.current_epoch + 1)
    rotated = open_keyring(changed)
    store = replace(repository.store, keyring=rotated)
    assert not any(is_current(store, pack) for pack in found.packs)


def test_directories_agree_with_the_index(storage: MemoryStorage) -> None:
    repository = open_repository(storage, PASSWORD)
    named = repository.reader().index.packs()
    found = read_unnamed(repository.store, repository.pack_reader, tuple)
    assert found.without == ()
    assert {pack.pack_id: pack for pack in found.packs} == {
        pack_id: type(pack)(pack_id, pack.length, HASH_UNKNOWN, pack.pack_class, pack.header, pack.blocks)
        for pack_id, pack in named.items()
    }

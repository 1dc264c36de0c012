"""Repositories to be hurt and repaired, and what is asked of them afterwards."""

from pathlib import Path

from repositories.engine.backup import Hooks
from repositories.engine.check import CheckReport, CheckRequest, check
from repositories.engine.repair import RepairReport, RepairRequest, list_aside, repair
from repositories.engine.repository import open_repository
from repositories.engine.storage.base import Storage
from repositories.engine.storage.memory import MemoryStorage
from tests.engine.contents import SMALL_PACKS
from tests.engine.repositories import PASSWORD, back_up_tree, make_repository, restore_latest
from tests.engine.trees import pattern

FILES, LARGE, SMALL = 4, 1_200_000, 1_000


def make_storage(tmp_path: Path, size: int) -> MemoryStorage:
    storage = MemoryStorage()
    make_repository(storage)
    (tmp_path / "tree").mkdir()
    for number in range(FILES):
        (tmp_path / "tree" / f"file{number}").write_bytes(pattern(size, number))
    back_up(storage, tmp_path)
    (tmp_path / "tree" / "new").write_bytes(pattern(size // 4, 9))
    back_up(storage, tmp_path)
    return storage


def back_up(storage: Storage, tmp_path: Path) -> int:
    repository = open_repository(storage, PASSWORD)
    repository.warn = lambda _: None
    with repository.begin_write(SMALL_PACKS) as session:
        return back_up_tree(repository, tmp_path / "tree", session=session).new_chunks


def mend(storage: Storage, **wanted: object) -> RepairReport:
    request = RepairRequest(**{"secret": PASSWORD, **wanted})  # type: ignore[arg-type]
    return repair(open_repository(storage, PASSWORD), request, Hooks())


def run_check(storage: Storage, *, read_data: bool = True) -> CheckReport:
    return check(open_repository(storage, PASSWORD), CheckRequest(read_data), Hooks())


def packs(storage: MemoryStorage, pack_class: int) -> list[str]:
    found = open_repository(storage, PASSWORD).reader().index.packs().values()
    return [f"packs/{p.pack_id.hex()[:2]}/{p.pack_id.hex()}" for p in found if p.pack_class == pack_class]


def flip(storage: MemoryStorage, name: str, position: int | None = None) -> None:
    data = bytearray(storage.objects[name])
    data[len(data) // 2 if position is None else position] ^= 1
    storage.objects[name] = bytes(data)


def lying_aside(storage: MemoryStorage) -> dict[str, bytes]:
    """Return what was set aside, by the names that it had."""
    return {each.original: storage.objects[each.name] for each in list_aside(storage)}


def drop_index(storage: MemoryStorage) -> None:
    for name in [name for name in storage.objects if "index/" in name]:
        del storage.objects[name]


def require_whole(storage: Storage, target: Path, size: int = LARGE) -> None:
    repository = open_repository(storage, PASSWORD)
    repository.warn = lambda _: None
    result = restore_latest(repository, target)
    assert (result.exit_code, result.files) == (0, FILES + 1)
    for number in range(FILES):
        assert (target / f"file{number}").read_bytes() == pattern(size, number)


def copy_of(storage: MemoryStorage) -> MemoryStorage:
    inner = MemoryStorage()
    inner.objects.update(storage.objects)
    return inner

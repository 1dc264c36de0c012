"""A manifest whose second copy the medium refuses is taken back: nobody who found it takes it for lost (3.9)."""

from collections.abc import Callable
from pathlib import Path

import pytest

from repositories.engine.backup import Hooks
from repositories.engine.check import CheckRequest, check
from repositories.engine.errors import StorageFullError
from repositories.engine.manifest.backups import list_backups
from repositories.engine.repository import open_repository
from repositories.engine.storage.memory import MemoryStorage
from tests.engine.histories import Observer
from tests.engine.repositories import PASSWORD, back_up_tree, make_repository


class Filling(MemoryStorage):
    """Has no room for the second copy of one manifest; somebody else does something while the first one lies there.

    `full`: it has none for a tombstone either, until that copy is gone.
    """

    def __init__(self) -> None:
        super().__init__()
        self.meanwhile: Callable[[], object] | None = None
        self.full = False
        self.half = ""

    def put(self, name: str, data: bytes | memoryview, *, overwrite: bool = False) -> None:
        if self.meanwhile is not None and name.startswith("copies/manifests/"):
            act, self.meanwhile = self.meanwhile, None
            self.half = name.removeprefix("copies/")
            act()
            raise StorageFullError("no room", hint="make room")
        if self.full and self.half in self.objects and name.startswith("tombstones/"):
            raise StorageFullError("no room", hint="make room")
        super().put(name, data, overwrite=overwrite)


@pytest.mark.parametrize("full", [False, True], ids=["room for a tombstone", "no room"])
def test_a_backup_that_names_what_was_taken_back_for_want_of_room_is_whole(tmp_path: Path, full: bool) -> None:
    storage, seen = Filling(), Observer()
    make_repository(storage)
    tree = tmp_path / "tree"
    tree.mkdir()

    def other() -> None:
        back_up_tree(open_repository(storage, PASSWORD), tree)
        seen.look(storage)

    storage.meanwhile, storage.full = other, full
    with pytest.raises(StorageFullError):
        back_up_tree(open_repository(storage, PASSWORD), tree)
    storage.full = False
    repository = open_repository(storage, PASSWORD)
    (backup,) = list_backups(repository)
    lineage = backup.root.lineage
    named = {each.hex() for each in (*lineage.heads, lineage.parent_manifest or b"")}
    assert storage.half.rpartition("/")[2] in named
    assert storage.half not in storage.objects
    assert check(repository, CheckRequest(), Hooks()).problems == []
    assert seen.look(storage) == "", "nor is it taken for withheld"

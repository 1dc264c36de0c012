"""A fault at each storage operation of a prune: what is kept stays whole, and the next backup and prune go on (3.9)."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from repositories.engine.errors import EngineError, RepositoryError
from repositories.engine.storage.base import Storage, StoredObject
from repositories.engine.storage.faults import KilledError
from repositories.engine.storage.memory import MemoryStorage
from tests.engine.prune.builders import Tree, back_up, checked, files, forget, reopened, require_backup, run
from tests.engine.repositories import make_repository

KINDS = ("kill", "fail", "tear", "lost answer")


class BreakingStorage(MemoryStorage):
    """Breaks at the n-th operation, reads and lists too. After a kill or a tear nothing answers any more."""

    def __init__(self, objects: dict[str, bytes], kind: str = "", at: int = 0) -> None:
        super().__init__()
        self.objects.update(objects)
        self.operations = 0
        self._kind = kind
        self._at = at
        self._dead = False

    def put(self, name: str, data: bytes | memoryview, *, overwrite: bool = False) -> None:
        if self._breaks():
            super().put(name, bytes(data)[: len(data) // 2] if self._kind == "tear" else data, overwrite=overwrite)
            self._end()
        super().put(name, data, overwrite=overwrite)

    def get(self, name: str, offset: int = 0, length: int | None = None) -> bytes:
        if self._breaks():
            self._end()
        return super().get(name, offset, length)

    def size(self, name: str) -> int:
        if self._breaks():
            self._end()
        return super().size(name)

    def list(self, prefix: str) -> Iterator[StoredObject]:
        if self._breaks():
            self._end()
        return super().list(prefix)

    def delete(self, name: str) -> None:
        if self._breaks():
            super().delete(name)
            self._end()
        super().delete(name)

    def _breaks(self) -> bool:
        """Count; raise if it breaks before anything is done, return whether it breaks afterwards."""
        if self._dead:
            raise KilledError("the process is dead")
        self.operations += 1
        if self.operations != self._at:
            return False
        if self._kind == "kill":
            self._dead = True
            raise KilledError("the process is dead")
        if self._kind == "fail":
            raise RepositoryError("the medium does not answer")
        return True

    def _end(self) -> None:
        if self._kind == "tear":
            self._dead = True
            raise KilledError("the process is dead")
        raise RepositoryError("the answer was lost")


def attempt(storage: Storage) -> None:
    with contextlib.suppress(EngineError, KilledError):
        run(storage)


class Scene:
    """Three backups, the first of which is deleted: packs to delete, to repack and to keep."""

    def __init__(self, root: Path) -> None:
        storage = MemoryStorage()
        repository = make_repository(storage)
        self.kept: dict[str, Tree] = {}
        first = back_up(repository, root / "tree", files(*range(12), size=20_000))
        for content in (files(*range(0, 12, 3), 20, 21, size=20_000), files(*range(0, 12, 4), 30, size=20_000)):
            self.kept[back_up(repository, root / "tree", content)] = content
        forget(repository, first)
        self.objects = storage.objects
        self.root = root

    def require_whole(self, storage: MemoryStorage, mark: str) -> None:
        """Everything kept is restored; then a backup and a prune succeed, and everything is restored again."""
        repository = reopened(storage)
        for number, (manifest, content) in enumerate(self.kept.items()):
            require_backup(repository, manifest, content, self.root / f"{mark}.{number}")
        content = files(1, 2, 3, 30, 50, size=20_000)
        new = back_up(repository, self.root / "tree", content)
        run(storage)
        after = checked(storage, read_data=False)
        assert (after.unused_packs, after.unreferenced_packs) == (0, 0)
        left = {name.split("/")[0] for name in storage.objects}
        assert left.isdisjoint({"marks", "sessions"})
        for manifest, restored in (*self.kept.items(), (new, content)):
            require_backup(reopened(storage), manifest, restored, self.root / f"{mark}.{manifest}")


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Scene:
    return Scene(tmp_path_factory.mktemp("prune"))


def operations(scene: Scene) -> int:
    storage = BreakingStorage(scene.objects)
    report = run(storage)
    assert report.finished
    assert report.deleted_packs
    assert report.repacked_packs
    return storage.operations


@pytest.mark.parametrize("kind", KINDS)
def test_a_fault_at_each_operation_loses_nothing(scene: Scene, kind: str) -> None:
    total = operations(scene)
    step = 1 if os.environ.get("EVERY_OPERATION") else 7
    for at in range(1 + KINDS.index(kind), total + 1, step):
        storage = BreakingStorage(scene.objects, kind, at)
        attempt(storage)
        after = MemoryStorage()
        after.objects.update(storage.objects)
        # The process that held these leases is gone; here it is ours.
        for name in [name for name in after.objects if name.startswith("sessions/")]:
            del after.objects[name]
        scene.require_whole(after, f"{kind} {at}")

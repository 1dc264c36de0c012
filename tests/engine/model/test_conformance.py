"""What real operations do to the medium is a path of the state model: it takes the steps that the code takes (3.8).

Compared are all puts and deletions, and the lists and looks that decide anything, in order. Left out are lists of what
no decision of the model depends on: leases (whoever looks at them may take anybody for dead), notes and keys outside of
a look at them, checkpoints, damage, results of checks, what lies aside.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from repositories.engine.forgetting import undelete
from repositories.engine.ids import ChunkKind
from repositories.engine.keychain.rotation import rotate
from repositories.engine.repository import Repository
from repositories.engine.storage.memory import MemoryStorage
from tests.engine.keychain.chains import keychain
from tests.engine.model.medium import INDEX, MANIFEST, NOTE, Manifest, Segment, Tombstone
from tests.engine.model.noting import Noter
from tests.engine.model.program import run_alone
from tests.engine.model.pruning import Prune
from tests.engine.model.recording import RecordingStorage, in_short
from tests.engine.model.rotating import Rotation
from tests.engine.model.start import FIRST
from tests.engine.model.writer import Writer
from tests.engine.prune.builders import SMALL, back_up, files, forget, run
from tests.engine.repositories import PASSWORD, make_repository

SILENT = [
    *(f"list {kind}" for kind in ("sessions", "checkpoints", "damage", "verified", "controllers", "inventories")),
    *(f"list {kind}" for kind in ("annotations", "tombstones", "keychanges", "intents", "keyrings", "slots")),
    "list aside",
    *(f"{what} reserve" for what in ("size", "put", "delete")),
]
GONE = Manifest(MANIFEST, "gone", 0, 1, 0, frozenset({"d"}))
WITH_A_DELETED_ONE = frozenset(
    {*FIRST, GONE, Tombstone(NOTE, "earlier", 1, GONE), Segment(INDEX, "more", 0, 1, 0, frozenset())}
)
ALL_USED = FIRST | {Manifest(MANIFEST, "gone", 0, 1, 0, frozenset({"a", "d"}))}


@pytest.fixture
def storage() -> RecordingStorage:
    return RecordingStorage()


@pytest.fixture
def repository(storage: RecordingStorage) -> Repository:
    return make_repository(storage)


def require_same(real: Sequence[str], model: Sequence[str], *after: str) -> None:
    """Require that both did the same from the first lease on; `after` is what the model has no step for at the end."""
    first = list(real).index("put sessions")
    # Renewals of the lease are no steps either.
    begun = ["put sessions", *(each for each in real[first + 1 :] if each != "put sessions")]
    assert in_short(begun, SILENT) == [*in_short(model, SILENT), *after]


def beside(storage: RecordingStorage) -> MemoryStorage:
    """Return the same medium as another process sees it, who is not recorded."""
    other = MemoryStorage()
    other.objects = storage.objects
    return other


def test_a_commit(repository: Repository, storage: RecordingStorage) -> None:
    storage.told.clear()
    with repository.begin_write(SMALL) as session:
        session.put(ChunkKind.DATA, b"new" * 1000)
        session.commit(b"root", lambda: None)
    require_same(storage.told, run_alone(FIRST, Writer("w", ("split",)))[2], "delete sessions")


def test_a_commit_that_a_mark_overtakes(repository: Repository, storage: RecordingStorage, tmp_path: Path) -> None:
    """It takes its manifest back, follows the mark, and commits again."""
    forget(repository, back_up(repository, tmp_path / "tree", files(1)))
    storage.told.clear()
    marks: list[bool] = []

    def confirm() -> None:
        if not marks:
            marks.append(run(beside(storage), max_seconds=0.0).finished)

    with repository.begin_write(SMALL) as session:
        session.put(ChunkKind.DATA, b"new" * 1000)
        session.commit(b"root", confirm)
    assert marks == [False], "it has put its mark and waits for this session"
    medium, writer, before = run_alone(ALL_USED, Writer("w", ("split",)), "manifest")
    medium, _, _ = run_alone(medium, Prune("p", ("spares",)), "alone to names to decide")
    _, writer, after = run_alone(medium, writer)
    assert writer.outcome == "committed"
    require_same(storage.told, [*before, *after], "delete sessions")


def test_a_prune(repository: Repository, storage: RecordingStorage, tmp_path: Path) -> None:
    gone = back_up(repository, tmp_path / "tree", files(1, 2))
    back_up(repository, tmp_path / "tree", files(20))
    forget(repository, gone)
    storage.told.clear()
    report = run(storage)
    assert (report.removed_backups, report.repacked_packs) == (1, 0)
    _, prune, told = run_alone(WITH_A_DELETED_ONE, Prune("p"))
    assert prune.outcome == "done"
    require_same(storage.told, told, "delete sessions")


def test_a_prune_that_repacks(repository: Repository, storage: RecordingStorage, tmp_path: Path) -> None:
    gone = back_up(repository, tmp_path / "tree", files(*range(16)))
    back_up(repository, tmp_path / "tree", files(*range(0, 16, 3)))
    forget(repository, gone)
    storage.told.clear()
    assert run(storage).repacked_packs > 0
    _, prune, told = run_alone(WITH_A_DELETED_ONE, Prune("p", ("repacks",)))
    assert prune.outcome == "done"
    require_same(storage.told, told, "delete sessions")


def test_a_rotation(repository: Repository, storage: RecordingStorage, tmp_path: Path) -> None:
    back_up(repository, tmp_path / "tree", files(1))
    keys = keychain(storage, PASSWORD)
    storage.told.clear()
    rotate(keys, [PASSWORD])
    _, rotation, told = run_alone(FIRST, Rotation())
    assert rotation.outcome == "done"
    require_same(storage.told, told, "delete sessions", "delete slots")


def test_bringing_a_backup_back(repository: Repository, storage: RecordingStorage, tmp_path: Path) -> None:
    """Compared from the record that undoes the deletion on."""
    gone = back_up(repository, tmp_path / "tree", files(1, 2))
    forget(repository, gone)
    storage.told.clear()
    undelete(repository, [gone])
    _, noter, told = run_alone(WITH_A_DELETED_ONE, Noter("u", "undelete", ("gone",)))
    assert noter.outcome == "safe"
    assert from_the_put(storage.told) == from_the_put(told)


def from_the_put(operations: list[str]) -> list[Any]:
    return in_short(operations[operations.index("put tombstones") :], SILENT)

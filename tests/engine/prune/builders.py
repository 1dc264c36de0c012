"""Repositories to prune: backups of small trees, deletions, and the proof that all that is kept is whole."""

import os
from pathlib import Path

from repositories.engine.backup import Hooks
from repositories.engine.check import CheckReport, CheckRequest, check
from repositories.engine.format.kinds import ObjectKind
from repositories.engine.format.notes import AnnotationKind, AnnotationRecord, TombstoneRecord
from repositories.engine.format.records import encode
from repositories.engine.manifest.backups import list_backups
from repositories.engine.prune import PruneReport, PruneRequest, prune
from repositories.engine.repository import Repository, WriteOptions, open_repository
from repositories.engine.restore import RestoreRequest, restore
from repositories.engine.storage.base import Storage
from tests.engine.repositories import PASSWORD, back_up_tree
from tests.engine.trees import pattern

SMALL = WriteOptions(workers=2, pack_target=300_000)
TARGET = 300_000
Tree = dict[str, bytes]


def reopened(storage: Storage) -> Repository:
    return open_repository(storage, PASSWORD)


def write_tree(root: Path, content: Tree) -> None:
    """Make `root` hold exactly these files."""
    root.mkdir(exist_ok=True)
    for name in os.listdir(root):
        if name not in content:
            (root / name).unlink()
    for name, data in content.items():
        path = root / name
        if not path.exists() or path.read_bytes() != data:
            path.write_bytes(data)


def files(*numbers: int, size: int = 40_000) -> Tree:
    """Return files whose contents have nothing in common."""
    return {f"file {number}": pattern(size + number, number) for number in numbers}


def back_up(repository: Repository, root: Path, content: Tree, **changes: object) -> str:
    """Back these files up; return the manifest's id."""
    write_tree(root, content)
    with repository.begin_write(SMALL) as session:
        return back_up_tree(repository, root, session=session, **changes).manifest_id


def forget(repository: Repository, *manifests: str, undoes: bytes | None = None) -> bytes:
    """Delete backups by a tombstone."""
    ids = tuple(map(bytes.fromhex, manifests))
    record = TombstoneRecord(ids, repository.clock.now_ns(), "test", undoes)
    return repository.store.put(ObjectKind.TOMBSTONE, encode(record))


def hold(repository: Repository, manifest: str) -> bytes:
    """Put a backup under a hold."""
    record = AnnotationRecord(AnnotationKind.HOLD, bytes.fromhex(manifest), repository.clock.now_ns(), "kept")
    return repository.store.put(ObjectKind.ANNOTATION, encode(record))


def run(storage: Storage, hooks: Hooks | None = None, **changes: object) -> PruneReport:
    """Prune with small packs."""
    request = PruneRequest(**{"pack_target": TARGET, "max_unused": 0.0} | changes)  # type: ignore[arg-type]
    return prune(reopened(storage), request, hooks or Hooks())


def require_backup(repository: Repository, manifest: str, content: Tree, target: Path) -> None:
    """Restore a backup and compare it bit for bit."""
    (backup,) = [each for each in list_backups(repository) if each.manifest_id == manifest]
    result = restore(repository, backup, RestoreRequest(os.fsencode(target)), Hooks())
    assert result.exit_code == 0
    assert {path.name: path.read_bytes() for path in target.iterdir()} == content


def checked(storage: Storage, *, read_data: bool = True) -> CheckReport:
    """Check; nothing may be wrong."""
    report = check(reopened(storage), CheckRequest(read_data=read_data), Hooks())
    assert report.problems == []
    return report


def packs(repository: Repository) -> set[str]:
    return {stored.name for stored in repository.object_names("packs/")}

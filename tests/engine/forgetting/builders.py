"""Repositories with backups of chosen times: no content, but a manifest each, as the backup would have written it."""

from collections.abc import Sequence
from dataclasses import dataclass

from repositories.engine.forgetting import ForgetRequest
from repositories.engine.format.commits import ManifestRecord
from repositories.engine.format.kinds import ObjectKind
from repositories.engine.format.records import encode
from repositories.engine.ids import backup_id, uuid7
from repositories.engine.manifest.backups import Backup, list_backups
from repositories.engine.manifest.root import BackupRoot, LineageRecord, OriginRecord, SourceRecord, Statistics
from repositories.engine.repository import Repository, open_repository
from repositories.engine.storage.base import Storage
from repositories.engine.storage.memory import MemoryStorage
from tests.engine.repositories import PASSWORD, make_repository

SECOND = 1_000_000_000
HOUR = 3600 * SECOND
DAY = 24 * HOUR
NOW = 1_796_000_000 * SECOND


@dataclass
class SetClock:
    """A clock that stands where it is put."""

    now: int = NOW

    def now_ns(self) -> int:
        return self.now

    def monotonic(self) -> float:
        return self.now / SECOND


def new_repository(storage: Storage | None = None, clock: SetClock | None = None) -> Repository:
    return make_repository(storage or MemoryStorage(), clock or SetClock())


def reopened(repository: Repository) -> Repository:
    """Return the same repository as another process sees it."""
    return open_repository(repository.storage, PASSWORD, clock=repository.clock)


def put_backup(
    repository: Repository,
    received_ns: int,
    source: str = "home",
    *,
    skipped: int = 0,
    tags: Sequence[str] = (),
    sequence: int | None = None,
) -> str:
    """Put the manifest of an empty backup; return its id (hex)."""
    number = len(repository.backups(deleted=True)) + 1 if sequence is None else sequence
    identity = backup_id(uuid7(received_ns), source, f"{number}".encode())
    root = BackupRoot(
        backup_id=identity,
        source=SourceRecord(source, "filesystem", b"/" + source.encode(), "host"),
        origin=OriginRecord("run", "external", tags=tuple(tags)),
        lineage=LineageRecord(number, identity, "full"),
        started_ns=received_ns,
        finished_ns=received_ns,
        statistics=Statistics(0, 0, 0, 0, 0, 0, 0, 0, 0, skipped, 0, 0),
    )
    record = ManifestRecord(0, received_ns, 1, bytes(16), encode(root))
    return repository.store.put(ObjectKind.MANIFEST, encode(record)).hex()


def listed(repository: Repository) -> list[str]:
    return [each.object_id for each in reopened(repository).backups()]


def named(repository: Repository, *ids: str, **options: bool) -> ForgetRequest:
    return ForgetRequest(ids=ids, **options)  # type: ignore[arg-type]


def backup(repository: Repository, manifest_id: str) -> Backup:
    return next(each for each in list_backups(repository, deleted=True) if each.manifest_id == manifest_id)

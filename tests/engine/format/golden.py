"""The golden repository: one of each kind of object, the same bytes in each run.

`python -m tests.engine.format.golden` writes repository_format_1.json anew. Do that only for a new format: the stored
bytes stand for repositories that people have.
"""

import json
from pathlib import Path

from repositories.engine.controllers import put_controller
from repositories.engine.format import collection, notes, verification
from repositories.engine.format.inventories import InventoryEntry, InventoryRecord
from repositories.engine.format.kinds import ObjectKind
from repositories.engine.format.records import Record, encode
from repositories.engine.ids import ChunkKind
from repositories.engine.repository import CreatedRepository, Repository, WriteOptions
from repositories.engine.storage.memory import MemoryStorage
from tests.engine.fakes import START_NS, pinned_repository

FILE = Path(__file__).with_name("repository_format_1.json")
ROOT = b"\x93root of a backup"
CHUNKS = {
    ChunkKind.DATA: [b"hello, world\n", bytes(range(256)) * 8, b"a" * 3000],
    ChunkKind.PAGE: [b"a page of entries"],
    ChunkKind.STREAM: [b"a content stream"],
}
LEASE = collection.LeaseRecord(
    b"\x01" * 16, collection.SessionPurpose.WRITE, 3, 2, b"\x02" * 16, 4026531836, 4711, 123456, "host", START_NS
)
RECORDS: dict[ObjectKind, Record] = {
    ObjectKind.ANNOTATION: notes.AnnotationRecord(notes.AnnotationKind.HOLD, b"\x03" * 16, START_NS, "court", 5, None),
    ObjectKind.TOMBSTONE: notes.TombstoneRecord((b"\x03" * 16,), START_NS, "keep rule", None),
    ObjectKind.SESSION: LEASE,
    ObjectKind.MARK: collection.MarkRecord(1, b"\x01" * 16, START_NS, b"\x04" * 16 + b"\x05" * 16),
    ObjectKind.SWEEP: collection.SweepRecord(0, b"\x01" * 16, START_NS, b"\x03" * 16, b"", b"\x06" * 16, b"\x05" * 16),
    ObjectKind.VERIFIED: verification.VerifiedRecord(START_NS, b"\x07" * 16),
    ObjectKind.DAMAGE: verification.DamageRecord(START_NS, b"\x08" * 16, b"\x09" * 32, "authentication"),
    ObjectKind.INVENTORY: InventoryRecord(2, (InventoryEntry(ObjectKind.MANIFEST, b"\x03" * 16, b"\x0a" * 32),)),
}


def build() -> tuple[CreatedRepository, dict[str, bytes]]:
    """Return the golden repository and its objects by name."""
    storage = MemoryStorage()
    created = pinned_repository(storage)
    repository = created.repository
    with repository.begin_write(WriteOptions(workers=1)) as session:
        for kind, contents in CHUNKS.items():
            session.put_many(kind, contents)
        session.checkpoint(ROOT)
        session.commit(ROOT, lambda: None)
    put_controller(repository, b"\x0b" * 16, 1, 42)
    _put_records(repository)
    return created, dict(storage.objects)


def _put_records(repository: Repository) -> None:
    for kind, record in RECORDS.items():
        repository.store.put(kind, encode(record))


def load() -> dict[str, bytes]:
    """Return the stored golden objects by name."""
    return {name: bytes.fromhex(digits) for name, digits in json.loads(FILE.read_text()).items()}


if __name__ == "__main__":
    FILE.write_text(json.dumps({name: data.hex() for name, data in sorted(build()[1].items())}, indent=0) + "\n")

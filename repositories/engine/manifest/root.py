"""The root of a backup: one record of at most 64 KiB that names the pages and says what the backup is.

Owns the fields of the root and their limits. The repository's session seals it, adds fence and time of receipt,
and puts it; nothing here does.
"""

from repositories.engine.errors import ConfigurationError, IntegrityError
from repositories.engine.format.records import ObjectId, Record, decode, encode
from repositories.engine.limits import MAX_ROOT
from repositories.engine.manifest.entries import Entry, StreamRef, check_values
from repositories.engine.manifest.problems import ProblemCount

MAX_HEADS = 256
MAX_TEXT = 4096
MAX_OPTIONS = 16 * 1024
MODE_FULL = "full"
MODE_INCREMENTAL = "incremental"


class SourceRecord(Record, frozen=True):
    """What was backed up: `id` is the raw path (or what identifies the source for its type).

    `mount_point` and `file_system` (its type) tell what the root lay on; None where that is unknown.
    """

    name: str
    type: str
    id: bytes
    host: str
    mount_point: bytes | None = None
    file_system: str | None = None


class OriginRecord(Record, frozen=True):
    """Why and by whom: the run, its trigger, its planned time, the control plane's fence; and by which rules."""

    run_id: str
    trigger: str
    scheduled_for_ns: int | None = None
    run_fence: int | None = None
    tags: tuple[str, ...] = ()
    excludes: tuple[str, ...] = ()
    one_file_system: bool = False
    program: str = ""
    excludes_ignore_case: bool = False


class LineageRecord(Record, frozen=True):
    """Where it stands among others: `sequence` grows over the repository, `chain` over one source."""

    sequence: int
    chain: str
    mode: str
    parent: str | None = None
    parent_manifest: ObjectId | None = None
    heads: tuple[ObjectId, ...] = ()
    keyring_generation: int = 0


class Statistics(Record, frozen=True):
    """Figures of the backup; `logical_bytes` is the full size of what it describes (C9)."""

    files: int
    directories: int
    links: int
    others: int
    logical_bytes: int
    bytes_read: int
    bytes_stored: int
    new_chunks: int
    unchanged_files: int
    skipped: int
    warnings: int
    notes: int

    @property
    def entries(self) -> int:
        """How many objects the backup describes, its root directory aside."""
        return self.files + self.directories + self.links + self.others


class BackupRoot(Record, frozen=True):
    """One backup. `top_entry` describes the source's root directory; None when the source is a single file."""

    backup_id: str
    source: SourceRecord
    origin: OriginRecord
    lineage: LineageRecord
    started_ns: int
    finished_ns: int
    statistics: Statistics
    pages: StreamRef | None = None
    top_entry: Entry | None = None
    problems: StreamRef | None = None
    problem_counts: tuple[ProblemCount, ...] = ()


def encode_root(root: BackupRoot) -> bytes:
    """Return the canonical bytes; raises ConfigurationError when names, tags or patterns are too long for a root."""
    data = encode(root)
    if len(data) > MAX_ROOT:
        raise ConfigurationError(
            f"the description of backup {root.backup_id} needs {len(data)} bytes; {MAX_ROOT} is the limit",
            hint="shorten its tags",
        )
    return data


def decode_root(data: bytes) -> BackupRoot:
    """Return the root; raises IntegrityError."""
    if len(data) > MAX_ROOT:
        raise IntegrityError(f"the root of a backup has {len(data)} bytes; {MAX_ROOT} is the limit")
    root = decode(data, BackupRoot)
    if root.lineage.sequence < 0 or (root.top_entry is not None and not root.top_entry.is_directory):
        raise IntegrityError(f"the root of backup {root.backup_id[:80]!r} has impossible values")
    if root.top_entry is not None:
        check_values(root.top_entry)
    return root

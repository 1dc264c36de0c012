"""The request that a parent sends its engine child: what to do, with which repository, how.

Owns the shape of the first line on stdin. Unknown fields are ignored, fields are only ever added. Must not start
processes, touch files or know what an operation does.
Paths are bytes; on the wire they are base64 (fields named `…_base64`).
"""

from typing import Literal

from msgspec import Struct, field

from repositories.engine.high_water import HighWater

VERSION = 1

Operation = Literal[
    "backup", "restore", "check", "repair", "info", "list", "copy", "forget", "prune", "browse", "find", "content"
]


class RememberedState(Struct, frozen=True, kw_only=True):
    """What a caller that keeps it itself has seen of the repository with this id; what is seen now is told back."""

    repository_id: str
    state: HighWater = HighWater()


class RepositoryAccess(Struct, frozen=True, kw_only=True):
    """Where the repository lies and what opens it; `password` may also be a recovery code.

    `seen_directory` holds what this machine has seen of repositories; `remembered` is what the caller has, and is
    compared instead. Both null: nothing is compared or remembered. Below `kept_directory` indexes are kept, not to be
    read again; null: none. `credentials` are a remote medium's, by the names of storage/credentials.py;
    `write_bytes_per_second` limits what is sent to it.
    """

    location: str
    password: str
    expected_id: str | None = None
    seen_directory: bytes | None = field(name="seen_directory_base64", default=None)
    accept_rollback: bool = False
    remembered: RememberedState | None = None
    credentials: dict[str, str] = field(default_factory=dict)
    write_bytes_per_second: int | None = None
    kept_directory: bytes | None = field(name="kept_directory_base64", default=None)

    def __repr__(self) -> str:
        return f"RepositoryAccess(location={self.location!r}, password=<hidden>)"


class RunReference(Struct, frozen=True, kw_only=True):
    """The run that backups belong to; `fence` is null where no control plane asks."""

    id: str
    fence: int | None = None
    scheduled_for_ns: int | None = None
    trigger: str = "external"


class ControllerReference(Struct, frozen=True, kw_only=True):
    """The control plane's identity, put into the repository when it is opened for writing."""

    id: str
    epoch: int
    fence_intended: int


class SourceOptions(Struct, frozen=True, kw_only=True):
    """What may differ per source; `parent` is a backup id, null = the newest of the chain."""

    one_file_system: bool = False
    ignore_inode: bool = False
    ignore_ctime: bool = False
    accept_new_root: bool = False
    parent: str | None = None
    exclude_ignoring_case: bool = False
    exclude_caches: bool = False
    reread_percent: int = 0


class CommandPlace(Struct, frozen=True, kw_only=True):
    """Where a source's command runs, and its whole environment: pairs of name and value."""

    directory: bytes = field(name="directory_base64", default=b"/")
    environment: tuple[tuple[bytes, bytes], ...] = field(name="environment_base64", default=())

    def __repr__(self) -> str:
        return f"CommandPlace(directory={self.directory!r}, environment=<hidden>)"


class SourceRequest(Struct, frozen=True, kw_only=True):
    """One source; `key` is the caller's name for it and comes back in every event about it.

    `type` is `filesystem`, `device` (`path` is a block device) or `stdin` (`path` is `stdin:` and the name that the
    output of `command` gets).
    """

    key: str
    name: str
    path: bytes = field(name="path_base64")
    type: str = "filesystem"
    excludes: tuple[str, ...] = ()
    options: SourceOptions = SourceOptions()
    command: tuple[bytes, ...] = field(name="command_base64", default=())
    place: CommandPlace = CommandPlace()


class RestoreOrder(Struct, frozen=True, kw_only=True):
    """What to restore where; `backup` is an id, a unique part of one, or `latest`.

    With `in_place` the source's own path is the target, and `target` is empty; where there are `in_place_roots`, it has
    to lie in one of them and in none of the request's `skip_paths`, links resolved. `delete` spares what was changed at
    `delete_before_ns` or later, and the directories in the request's `skip_paths`.
    """

    backup: str
    target: bytes = field(name="target_base64", default=b"")
    source: str | None = None
    at_ns: int | None = None
    paths: tuple[bytes, ...] = field(name="paths_base64", default=())
    overwrite: str = "never"
    verify: bool = False
    in_place: bool = False
    delete: bool = False
    dry_run: bool = False
    delete_before_ns: int | None = None
    in_place_roots: tuple[bytes, ...] = field(name="in_place_roots_base64", default=())


class CheckOrder(Struct, frozen=True, kw_only=True):
    """Whether `check` also reads packs: `read_percent` of all bytes, for `max_seconds` at most (null: no limit)."""

    read_data: bool = False
    read_percent: float = 100.0
    max_seconds: float | None = None


class CopyOrder(Struct, frozen=True, kw_only=True):
    """What to copy from the request's repository, and to where.

    All backups but for `source` and `backups`: ids, unique parts of ids, or `latest`.
    """

    to: RepositoryAccess
    backups: tuple[str, ...] = ()
    source: str | None = None


class ForgetOrder(Struct, frozen=True, kw_only=True):
    """What to delete: the named `backups`, or of each source all that no keep rule keeps; the request may be dry.

    A count of 0 is no rule; `zone` names whose days count. `source` and `tag` narrow what rules look at.
    """

    backups: tuple[str, ...] = ()
    keep_last: int = 0
    keep_hourly: int = 0
    keep_daily: int = 0
    keep_weekly: int = 0
    keep_monthly: int = 0
    keep_yearly: int = 0
    keep_within_seconds: int = 0
    keep_tags: tuple[str, ...] = ()
    zone: str = "UTC"
    source: str | None = None
    tag: str | None = None
    allow_last: bool = False
    reason: str = ""


class PruneOrder(Struct, frozen=True, kw_only=True):
    """How much of all stored bytes may stay unused, and for how long to repack and wait (null: as long as it takes)."""

    max_unused_percent: float = 10.0
    max_seconds: float | None = None


class RepairOrder(Struct, frozen=True, kw_only=True):
    """Whether a repair reads all packs first, and which void manifests it makes backups of (`all`: each).

    With `remove_aside` it mends nothing: it removes what was set aside before `aside_before_ns`. A dry run `ahead` of
    that lists it, and is refused where nothing may be removed.
    """

    read_data: bool = False
    adopt: tuple[str, ...] = ()
    remove_aside: bool = False
    aside_before_ns: int = 0
    ahead: bool = False


class LookOrder(Struct, frozen=True, kw_only=True):
    """What to look for in one backup: the directory at `path`, or what `pattern` fits.

    One answer has `limit` entries, and `most_bytes` of JSON, at most, and begins after `after`: a name in the
    directory, or a path. `content` writes the file at `path` to `descriptor`, a pipe that the child was started with:
    all of it, or from byte `first` to `last`, both included (None: to its end), or without `first` its `last` bytes.
    """

    manifest_id: str
    path: bytes = field(name="path_base64", default=b"")
    pattern: str = "*"
    ignore_case: bool = False
    after: bytes = field(name="after_base64", default=b"")
    limit: int = 200
    most_bytes: int = 512 * 1024
    descriptor: int | None = None
    first: int | None = None
    last: int | None = None


class Request(Struct, frozen=True, kw_only=True):
    """The first line on stdin; EngineProcess fills in `parent_pid`.

    With `turn_seconds` a backup asks before each source for its turn (TurnWanted), and ends where no answer comes for
    so long.
    """

    operation: Operation
    repository: RepositoryAccess
    parent_pid: int = 0
    v: int = VERSION
    run: RunReference | None = None
    controller: ControllerReference | None = None
    host: str = ""
    sources: tuple[SourceRequest, ...] = ()
    bandwidth_bytes_per_second: int | None = None
    strict: bool = False
    dry_run: bool = False
    compression: str = "default"
    checkpoint_seconds: float = 600.0
    tags: tuple[str, ...] = ()
    skip_paths: tuple[bytes, ...] = field(name="skip_paths_base64", default=())
    restore: RestoreOrder | None = None
    check: CheckOrder | None = None
    repair: RepairOrder | None = None
    prune: PruneOrder | None = None
    copy: CopyOrder | None = None
    forget: ForgetOrder | None = None
    turn_seconds: float | None = None
    look: LookOrder | None = None

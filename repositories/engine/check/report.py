"""What a check is asked to do and what it found.

Owns values, and the collector that bounds them.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from repositories.engine.check.surroundings import Surroundings
from repositories.engine.display import show_path
from repositories.engine.packs.directory import PackRecord

PATHS_LISTED: Final = 100
PROBLEMS_LISTED: Final = 1000


@dataclass(frozen=True, slots=True)
class CheckRequest:
    """`read_data`: read, decrypt, decode and re-hash blocks too; else structure alone, and what is known as damaged.

    `read_percent` of all stored bytes are read, those first that nobody read or that were read longest ago. No pack is
    begun when `max_seconds` are over since the check began. What was read is recorded after `record_seconds`, then each
    time after twice as long (at most 10 minutes), and at the end; nothing is with `remember` False.
    """

    read_data: bool = False
    read_percent: float = 100.0
    max_seconds: float | None = None
    record_seconds: float = 5.0
    remember: bool = True


@dataclass(frozen=True, slots=True)
class Proof:
    """How much of the repository is proven: packs of the index and their bytes; times are integer ns.

    `read` in this check; `unread` the others; `never` neither in this nor, as far as is remembered, in an earlier one;
    `good` read whole in this or an earlier check, there, and not known to be damaged: the longest ago at `oldest_ns`.
    """

    packs: int = 0
    bytes: int = 0
    read_packs: int = 0
    unread_packs: int = 0
    unread_bytes: int = 0
    never_packs: int = 0
    never_bytes: int = 0
    good_packs: int = 0
    good_bytes: int = 0
    oldest_ns: int | None = None


@dataclass(frozen=True, slots=True)
class PackResult:
    """What reading one pack gave. `bad` chunks cannot be read from it; None in `failure` = all is good.

    `read`: it was read now. `twice`: the first reading failed, the second did not. `barred`: this user may not read it,
    which says nothing of what it holds.
    """

    pack: PackRecord
    chunks: int
    bad: tuple[bytes, ...]
    failure: str | None
    read: bool = True
    twice: bool = False
    barred: bool = False


@dataclass(frozen=True, slots=True)
class CheckProblem:
    """One thing that is wrong. `object` names what, `kind` is stable: copy, keyring, index,
    manifest, page, pack, chunk, rollback.
    """

    kind: str
    object: str
    message: str


@dataclass(frozen=True, slots=True)
class HurtBackup:
    """A backup that cannot be restored whole. `paths` are the first 100 of `count` hurt objects, shown safely."""

    backup_id: str
    source: str
    count: int
    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CheckReport:
    """The result. `problems` are the first 1,000 of `problem_count`; `unreferenced_packs` are no problem: in no index.

    Nor are `unused_packs`, of which no backup uses a single chunk: checkpoints, backups that are being made or were
    broken off, or backups whose manifests are gone without a trace. Counted only where nothing else is wrong.

    Nor are `replaced_packs`: missing or damaged, but all that they held lies in other packs, too. `gone_packs` of them
    are missing: they count neither in `packs` nor in `proof`, and a prune takes them out of the index.

    `remembered`: results were written into the repository, so that damaged chunks are stored again by the next
    backup that still has them.

    `healed_packs` were known as damaged and read whole now. `read_twice` packs failed at first and were whole at the
    second reading: the transport is to blame. `reserve` is `present`, `missing` or `short`, which is no problem, but
    a prune on a full medium needs it. `stopped`: the time was over before all was read that should be.

    `void_manifests` were put by sessions that a prune had given up on: they are no backups, `repair --adopt` may make
    them some. `half_done` objects have one copy, since their writer died between the two: the next prune writes the
    other. `left_over` ones have one copy, too, and mean nothing. `suspect` are the packs that anything is wrong with.

    `late_backups` came while the check went on, and were not looked at. `around` is what else lies on the medium;
    `older_objects` are small objects under keys from before a rotation, `disowned_objects` those of them that no
    rotation listed: they do not count. `passed_by_objects` do not either: left by sessions that were open at a
    rotation, and were refused.
    """

    backups: int
    packs: int
    objects: int
    chunks_referenced: int
    chunks_read: int
    bytes_read: int
    unreferenced_packs: int
    replaced_packs: int
    problem_count: int
    remembered: bool
    unused_packs: int = 0
    unused_bytes: int = 0
    proof: Proof = field(default_factory=Proof)
    healed_packs: int = 0
    read_twice: int = 0
    reserve: str = "present"
    stopped: bool = False
    void_manifests: int = 0
    half_done: int = 0
    left_over: int = 0
    late_backups: int = 0
    older_objects: int = 0
    disowned_objects: int = 0
    passed_by_objects: int = 0
    around: Surroundings = field(default_factory=Surroundings)
    suspect: tuple[PackResult, ...] = ()
    problems: list[CheckProblem] = field(default_factory=list)
    hurt: list[HurtBackup] = field(default_factory=list)
    gone_packs: int = 0

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return self.problem_count == 0

    @property
    def exit_code(self) -> int:
        """0, or 13 when something is wrong."""
        return 0 if self.ok else 13


class Findings:
    """Collects problems; one thread."""

    def __init__(self) -> None:
        self.problems: list[CheckProblem] = []
        self.count = 0

    def add(self, kind: str, name: str, message: str) -> None:
        """Take one problem."""
        self.count += 1
        if len(self.problems) < PROBLEMS_LISTED:
            self.problems.append(CheckProblem(kind, name, message))

    def back_to(self, count: int) -> None:
        """Forget all but the first `count`: what followed is judged again."""
        self.count = count
        del self.problems[count:]


class HurtPaths:
    """Collects the hurt paths of one backup."""

    def __init__(self) -> None:
        self.count = 0
        self.paths: list[str] = []

    def add(self, path: bytes, count: int = 1) -> None:
        """Take `count` hurt objects, of which `path` is the first."""
        self.count += count
        if len(self.paths) < PATHS_LISTED:
            self.paths.append(show_path(path or b"."))


Beat = Callable[[], None]
"""Called often by every part of a check; raises when it was cancelled."""

"""What a prune is asked to do, what it plans, and what it did.

Owns values only. Sizes are bytes, shares are between 0 and 1, times seconds or integer ns.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from repositories.engine.limits import MIB

Beat = Callable[[], None]
"""Called often by every part of a prune; raises when it was cancelled."""


@dataclass(frozen=True, slots=True)
class PruneRequest:
    """`max_unused` is the share of all stored bytes that may stay unused in packs, rather than be repacked.

    `max_seconds` bounds repacking and waiting: what is not done then is left to the next prune. `dry_run` plans only.
    """

    max_unused: float = 0.1
    max_seconds: float | None = None
    dry_run: bool = False
    pack_target: int = 32 * MIB


@dataclass(frozen=True, slots=True)
class PackUse:
    """A pack as a plan sees it: bytes on the medium, those that used chunks take, and what must be left alone.

    `listed`: an index segment names it. `spared`: a session that lives may need it. `whole`: it is there, and nothing
    of it is known to be damaged. `retired`: a key from before a rotation seals it.
    """

    pack_id: bytes
    pack_class: int
    length: int
    used: int
    listed: bool = True
    spared: bool = False
    whole: bool = True
    retired: bool = False

    @property
    def unused(self) -> int:
        """Bytes that no backup uses."""
        return self.length - self.used


@dataclass(frozen=True, slots=True)
class PrunePlan:
    """What goes and what is written anew. `unused_after` bytes stay in kept packs; `spared` packs may go later."""

    delete: tuple[PackUse, ...] = ()
    repack: tuple[PackUse, ...] = ()
    packs: int = 0
    bytes: int = 0
    unused_before: int = 0
    unused_after: int = 0
    spared: int = 0

    @property
    def bytes_to_read(self) -> int:
        """About how many bytes repacking reads."""
        return sum(pack.used for pack in self.repack)

    @property
    def bytes_to_free(self) -> int:
        """About how many bytes are free afterwards that are not now."""
        return sum(pack.length for pack in self.delete) + sum(pack.unused for pack in self.repack)


@dataclass(slots=True)
class PruneReport:
    """What was planned and done; filled while a prune runs.

    `waiting` names the sessions that a prune which was out of time still waited for: it is finished by the next one.
    `unindexed` chunks are named by backups and in no index: then packs in no index are kept. `reserve_used`: the medium
    was full. `reserve_lack` says why the reserve is not whole at the end, if it is not; `reserve_gone`: less than half
    is left, and a full medium may not be cleaned. `repack_stopped` says why packs that were planned were not repacked.
    `repack_needs`: so many bytes must be free before a prune can pack anew, `repack_free` are; 0 where nothing lacks.
    """

    plan: PrunePlan = field(default_factory=PrunePlan)
    dry_run: bool = False
    backups: int = 0
    deleted_backups: int = 0
    removed_backups: int = 0
    deleted_packs: int = 0
    repacked_packs: int = 0
    unmarked_packs: int = 0
    bytes_freed: int = 0
    bytes_read: int = 0
    bytes_written: int = 0
    removed_objects: int = 0
    unindexed: int = 0
    sweep: int = 0
    reserve_used: bool = False
    reserve_lack: str = ""
    repack_stopped: str = ""
    finished: bool = False
    waiting: tuple[str, ...] = ()
    waited_for: tuple[str, ...] = ()
    reserve_gone: bool = False
    repack_needs: int = 0
    repack_free: int = 0

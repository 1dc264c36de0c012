"""How many bytes must be free on a medium for packing anew, and whether running the prune again changes anything.

Owns the estimate. What a prune puts besides new packs may spend the reserve: new packs never do, so the estimate is
generous. One that was too low costs no content: the medium refuses a pack, and nothing of the old ones is deleted.
"""

from collections.abc import Iterable
from typing import Final

from repositories.engine.limits import MIB
from repositories.engine.prune.report import PackUse, PruneReport
from repositories.engine.storage.base import Storage

# For segments, and for what a backup beside it puts meanwhile.
_BESIDES: Final = MIB
# Directories, and chunks that shrink less in their new block than they did in the old one.
_GROWTH: Final = 8


def room_for(used: int) -> int:
    """Return how many bytes must be free for new packs of `used` bytes of chunks as they were stored."""
    return used + used // _GROWTH + _BESIDES


def least_room(packs: Iterable[PackUse]) -> int:
    """Return how many bytes must be free to pack at least one of these anew; 0 without any."""
    return min((room_for(pack.used) for pack in packs), default=0)


def judge_room(report: PruneReport, storage: Storage) -> PruneReport:
    """Say at the end whether packing anew waits for room that no prune makes: then the report is not finished.

    Where there is room now, by what this prune has deleted, the next one goes on. A preview says what is to be free.
    """
    needs = least_room(report.plan.repack) if report.dry_run else report.repack_needs
    if report.waiting:
        # What it marked is deleted by the next one, and makes room.
        needs = 0
    free = storage.free_space()
    # A medium that does not tell has refused a pack; what was deleted since may have made the room.
    is_stuck = needs > free if free is not None else needs > 0 and not (report.dry_run or report.deleted_packs)
    report.repack_needs, report.repack_free = (needs, free or 0) if is_stuck else (0, 0)
    if is_stuck and not report.dry_run:
        report.finished = False
    return report

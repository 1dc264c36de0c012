"""A repository that shows an earlier state than was seen before (engine.md, section 5): rolled back or withheld.

Owns what is remembered of a state and the judgement; where that is kept is the caller's. Without memory the newest
state cannot be proven: whoever holds the medium may always show an older one to a reader who never saw the newer.
"""

from collections.abc import Collection
from dataclasses import dataclass

from repositories.engine.format.kinds import ObjectKind
from repositories.engine.repository import Repository
from repositories.engine.sessions.views import read_newest_sweep

MANIFESTS_KEPT = 256


@dataclass(frozen=True, slots=True)
class HighWater:
    """What one look at a repository shows. Generation of the keyring and number of the newest sweep only ever rise.

    `manifests` (hex) are the newest 256 that count, deleted ones among them: each stays there, or a tombstone names it.
    """

    generation: int = 0
    sweep: int = 0
    manifests: tuple[str, ...] = ()


def read_high_water(repository: Repository) -> HighWater:
    """Return what the repository shows now. Raises the storage's errors."""
    sweep = read_newest_sweep(repository.store).number
    newest = [stored.object_id for stored in repository.backups(deleted=True)[-MANIFESTS_KEPT:]]
    return HighWater(repository.keyring.generation, sweep, tuple(newest))


def judge(repository: Repository, remembered: HighWater, now: HighWater) -> str:
    """Return why this is an earlier state than the remembered one, in words for people; empty if it is none."""
    if now.generation < remembered.generation:
        return f"its keys are of generation {now.generation}, while generation {remembered.generation} was seen here"
    if now.sweep < remembered.sweep:
        return f"its last prune is number {now.sweep}, while number {remembered.sweep} was seen here"
    gone = _gone(repository, remembered.manifests)
    if gone:
        return f"{len(gone)} of the backups that were seen here are neither there nor deleted, manifest {gone[0]} first"
    return ""


def merge(remembered: HighWater, now: HighWater) -> HighWater:
    """Return what is to be remembered after a look that was no earlier state."""
    return HighWater(
        max(remembered.generation, now.generation), max(remembered.sweep, now.sweep), now.manifests[-MANIFESTS_KEPT:]
    )


def _gone(repository: Repository, manifests: Collection[str]) -> list[str]:
    if not manifests:
        return []
    there = {manifest_id.hex() for manifest_id in repository.store.ids(ObjectKind.MANIFEST)}
    missing = [each for each in manifests if each not in there]
    # Also one that is held now: a sweep may have taken it before the hold came.
    deleted = repository.notes().deletions if missing else {}
    return [each for each in missing if bytes.fromhex(each) not in deleted]

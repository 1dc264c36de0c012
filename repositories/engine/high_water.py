"""What is kept of looks at a repository, so that an earlier state of it is known (engine.md, section 5).

Owns the value, and how a look is added to what is kept. Pure: the judgement is rollback's; where the value is kept, and
that only one at a time changes it there, is the keeper's.
"""

from collections import defaultdict
from collections.abc import Iterable

from msgspec import Struct, structs

MANIFESTS_KEPT = 256
SLOTS_KEPT = 256
BACKUPS_KEPT = 16


class SeenBackup(Struct, frozen=True):
    """By what people know a backup: `manifest_id` (hex), `short_id`, `source` as shown, time of receipt (ns)."""

    manifest_id: str
    short_id: str
    source: str
    received_ns: int


class HighWater(Struct, frozen=True):
    """What was seen of a repository; fields are only ever added, each with a default.

    `generation` of the keyring only ever rises; `sweep` (number of the newest) and `fence` (of the newest mark or
    sweep) only rise within one generation. `manifests` (hex) are the newest 256 that count, deleted ones among them:
    each stays there, or a tombstone names it. `slots` (hex) are the key slots of this generation, `ended_slots` the
    last 256 of it that were seen and are gone: such an id never comes again. `given_up` is the highest number of a
    prune that was seen before somebody confirmed a state that shows a lower one: it is not to be used again.
    `backups` says of the newest 16 of each source among `manifests` what people know them by; of those that were kept
    by an earlier version nothing may be known but the id.
    """

    generation: int = 0
    sweep: int = 0
    manifests: tuple[str, ...] = ()
    fence: int = 0
    slots: tuple[str, ...] = ()
    ended_slots: tuple[str, ...] = ()
    given_up: int = 0
    backups: tuple[SeenBackup, ...] = ()

    @property
    def highest_number(self) -> int:
        """Return the highest number of a prune that was ever seen."""
        return max(self.sweep, self.fence, self.given_up)


def confirmed(kept: HighWater, now: HighWater) -> HighWater:
    """Return what is to be kept once somebody has confirmed that the repository is as a look shows it."""
    return structs.replace(now, given_up=kept.highest_number if kept.highest_number > max(now.sweep, now.fence) else 0)


def merge(before: HighWater, now: HighWater, kept: HighWater | None = None) -> HighWater:
    """Return what is to be kept after a look that was no earlier state.

    `before` is what was kept when the look began, and `kept` what is kept at its end (None: the same): another process
    may have looked meanwhile, and what that saw must neither be lost nor be taken for missing.
    """
    kept = before if kept is None else kept
    merged = _merged(before, now, kept)
    known = newest_known((*kept.backups, *now.backups), merged.manifests)
    return structs.replace(merged, given_up=max(kept.given_up, now.given_up), backups=known)


def newest_known(backups: Iterable[SeenBackup], manifests: Iterable[str]) -> tuple[SeenBackup, ...]:
    """Return the newest of each source among those that are `manifests` (hex), the oldest first, each once."""
    counted = frozenset(manifests)
    by_source: dict[str, list[SeenBackup]] = defaultdict(list)
    for each in {each.manifest_id: each for each in backups if each.manifest_id in counted}.values():
        by_source[each.source].append(each)
    newest = [each for found in by_source.values() for each in sorted(found, key=_age)[-BACKUPS_KEPT:]]
    return tuple(sorted(newest, key=_age))


def _age(backup: SeenBackup) -> tuple[int, str]:
    return backup.received_ns, backup.manifest_id


def _merged(before: HighWater, now: HighWater, kept: HighWater) -> HighWater:
    others = tuple(each for each in kept.manifests if each not in before.manifests)
    manifests = tuple(dict.fromkeys((*now.manifests, *others)))[-MANIFESTS_KEPT:]
    if now.generation < kept.generation:
        # Keys were rotated since the look began: what it saw of the older ones is of no more use.
        return HighWater(kept.generation, kept.sweep, manifests, kept.fence, kept.slots, kept.ended_slots)
    if now.generation > kept.generation:
        return HighWater(now.generation, now.sweep, manifests, now.fence, now.slots)
    ended = _ended_slots(before, now, kept)
    slots = dict.fromkeys((*now.slots, *(each for each in kept.slots if each not in before.slots)))
    return HighWater(
        now.generation,
        max(kept.sweep, now.sweep),
        manifests,
        max(kept.fence, now.fence),
        tuple(each for each in slots if each not in ended),
        ended,
    )


def _ended_slots(before: HighWater, now: HighWater, kept: HighWater) -> tuple[str, ...]:
    known = before.slots if before.generation == now.generation else ()
    gone = (each for each in known if each not in now.slots)
    return tuple(dict.fromkeys((*kept.ended_slots, *gone)))[-SLOTS_KEPT:]

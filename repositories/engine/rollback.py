"""A repository that shows an earlier state than was seen before (engine.md, section 5): rolled back or withheld.

Owns the look and the judgement; where what was seen is kept is the caller's. Without memory the newest state cannot be
proven: whoever holds the medium may always show an older one to a reader who never saw the newer.
What is kept has to be read before the look: whatever it names was on the medium then.
"""

import contextlib

from repositories.engine.errors import IntegrityError, UnsupportedFormatError
from repositories.engine.format.collection import MarkRecord, SweepRecord
from repositories.engine.format.kinds import ObjectKind, generation_group
from repositories.engine.format.notes import TombstoneRecord
from repositories.engine.high_water import MANIFESTS_KEPT, HighWater
from repositories.engine.objects.decided import newest_keyring
from repositories.engine.objects.retired import retired_records
from repositories.engine.objects.store import ObjectStore
from repositories.engine.repository import Repository
from repositories.engine.sessions.views import read_mark_records, read_newest_sweep


def read_high_water(repository: Repository, remembered: HighWater) -> HighWater:
    """Return what the repository shows now. Raises the storage's errors.

    A damaged mark hides how far the marks go: then they go as far as `remembered` says. Whoever writes meets it.
    """
    store = repository.store
    generation = store.keyring.generation
    slots = tuple(name.rpartition("/")[2] for name in store.names(ObjectKind.SLOT) if _is_of(name, generation))
    # Marks before sweeps: a mark that is gone by the first look has a sweep that the second one sees.
    marked = _newest_mark(store)
    sweep = read_newest_sweep(store).number
    fence = remembered.fence if marked is None else max(marked, sweep)
    newest = [stored.object_id for stored in repository.backups(deleted=True)[-MANIFESTS_KEPT:]]
    return HighWater(generation, sweep, tuple(newest), fence, slots)


def is_overtaken(repository: Repository) -> bool:
    """Tell whether the keys were rotated since the repository was opened: then it shows nothing that can be judged.

    Whoever writes then is refused by the look at the keys that ends every writing.
    """
    return newest_keyring(repository.storage) > repository.keyring.generation


def judge(repository: Repository, remembered: HighWater, now: HighWater) -> str:
    """Return why this is an earlier state than the remembered one, in words for people; empty if it is none."""
    if now.generation < remembered.generation:
        return f"its keys are of generation {now.generation}, while generation {remembered.generation} was seen here"
    shown = _older_numbers(repository.store, remembered, now)
    if shown:
        return shown
    back = [each for each in now.slots if each in remembered.ended_slots]
    if now.generation == remembered.generation and back:
        return f"key {back[0][:8]} is there again, which was removed: what it sealed opens the repository"
    gone = _gone(repository, remembered.manifests)
    if gone:
        first = f"manifest {gone[0]} first (syncova-repo show tells of it by this id, in a copy of the repository)"
        return f"{len(gone)} of the backups that were seen here are neither there nor deleted, {first}"
    return ""


def _newest_mark(store: ObjectStore) -> int | None:
    with contextlib.suppress(IntegrityError, UnsupportedFormatError):
        return max((mark.number for mark in read_mark_records(store).values()), default=0)
    return None


def _is_of(name: str, generation: int) -> bool:
    return name.split("/")[1] == generation_group(generation)


def _older_numbers(store: ObjectStore, remembered: HighWater, now: HighWater) -> str:
    """Say which number of a prune is lower than it was. One that a rotation made void lies there, and is none."""
    if now.sweep >= remembered.sweep and now.fence >= remembered.fence:
        return ""
    voided = _voided_fence(store) if now.generation > remembered.generation else 0
    if now.sweep < remembered.sweep and remembered.sweep > voided:
        return f"its last prune is number {now.sweep}, while number {remembered.sweep} was seen here"
    if now.fence < remembered.fence and remembered.fence > voided:
        return f"its newest mark of a prune is number {now.fence}, while number {remembered.fence} was seen here"
    return ""


def _voided_fence(store: ObjectStore) -> int:
    marks = (mark.number for mark in retired_records(store, ObjectKind.MARK, MarkRecord))
    sweeps = (sweep.number for sweep in retired_records(store, ObjectKind.SWEEP, SweepRecord))
    return max((*marks, *sweeps), default=0)


def _gone(repository: Repository, manifests: tuple[str, ...]) -> list[str]:
    if not manifests:
        return []
    store = repository.store
    # Manifests before tombstones: who takes one away has put the tombstone first.
    there = {manifest_id.hex() for manifest_id in store.ids(ObjectKind.MANIFEST)}
    missing = [each for each in manifests if each not in there]
    # Also one that is held now: a sweep may have taken it before the hold came.
    deleted = set(repository.notes().deletions) if missing else set()
    left = [each for each in missing if bytes.fromhex(each) not in deleted]
    return _without_voided(store, left) if left and store.inventory else left


def _without_voided(store: ObjectStore, missing: list[str]) -> list[str]:
    """Leave out what a rotation passed by and its writer then took back: its tombstone was too late as well.

    Only what the inventory does not name: of all else a retired key must not tell that it is deleted.
    """
    retired = retired_records(store, ObjectKind.TOMBSTONE, TombstoneRecord)
    taken_back = {each for record in retired if record.undoes is None for each in record.manifests}
    passed_by = {each for each in taken_back if (ObjectKind.MANIFEST, each) not in store.inventory}
    return [each for each in missing if bytes.fromhex(each) not in passed_by]

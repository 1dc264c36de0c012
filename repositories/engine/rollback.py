"""A repository that shows an earlier state than was seen before (engine.md, section 5): rolled back or withheld.

Owns the look and the judgement; where what was seen is kept is the caller's. Without memory the newest state cannot be
proven: whoever holds the medium may always show an older one to a reader who never saw the newer.
What is kept has to be read before the look: whatever it names was on the medium then.
"""

import contextlib

from repositories.engine.display import show_count, show_text, show_time
from repositories.engine.errors import IntegrityError, UnsupportedFormatError
from repositories.engine.format.collection import MarkRecord, SweepRecord
from repositories.engine.format.kinds import ObjectKind, generation_group
from repositories.engine.format.notes import TombstoneRecord
from repositories.engine.high_water import MANIFESTS_KEPT, HighWater, SeenBackup, newest_known
from repositories.engine.ids import short_id
from repositories.engine.manifest.root import decode_root
from repositories.engine.objects.decided import newest_keyring
from repositories.engine.objects.retired import retired_records
from repositories.engine.objects.store import ObjectStore
from repositories.engine.repository import Repository, StoredManifest
from repositories.engine.sessions.views import read_mark_records, read_newest_sweep

_NAMED = 3
_LONGEST_SOURCE = 200


def read_high_water(repository: Repository, remembered: HighWater) -> HighWater:
    """Return what the repository shows now. Raises the storage's errors.

    A damaged mark hides how far the marks go: then they go as far as `remembered` says. Whoever writes meets it.
    """
    store = repository.store
    generation = store.keyring.generation
    names, ((marked, sweep), backups) = store.both(
        lambda: store.names(ObjectKind.SLOT),
        lambda: store.both(lambda: _newest_numbers(store), lambda: repository.backups(deleted=True)),
    )
    slots = tuple(name.rpartition("/")[2] for name in names if _is_of(name, generation))
    fence = remembered.fence if marked is None else max(marked, sweep)
    newest = backups[-MANIFESTS_KEPT:]
    manifests = tuple(stored.object_id for stored in newest)
    return HighWater(generation, sweep, manifests, fence, slots, backups=_known(newest, remembered, manifests))


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
    shown_now = frozenset(now.manifests)
    gone = _gone(repository, tuple(each for each in remembered.manifests if each not in shown_now))
    return _told(gone, remembered.backups) if gone else ""


def _known(newest: list[StoredManifest], remembered: HighWater, manifests: tuple[str, ...]) -> tuple[SeenBackup, ...]:
    """Return what people know the newest backups by; one that was seen before is not looked into again."""
    known = list(remembered.backups)
    # An earlier version has remembered ids alone.
    seen = frozenset(remembered.manifests if known else ())
    for stored in newest:
        if stored.object_id not in seen:
            # One bad root must not keep anybody from all others: it is known by its id alone.
            with contextlib.suppress(IntegrityError):
                known.append(_seen_backup(stored))
    return newest_known(known, manifests)


def _seen_backup(stored: StoredManifest) -> SeenBackup:
    root = decode_root(stored.root)
    # A writer that is not ours may have chosen any name; it is kept as people are shown it.
    source = show_text(root.source.name)[:_LONGEST_SOURCE]
    return SeenBackup(stored.object_id, short_id(root.backup_id), source, stored.received_ns)


def _told(gone: list[str], backups: tuple[SeenBackup, ...]) -> str:
    """Name the newest of the backups that are gone, as people know them where that was remembered."""
    names = {each.manifest_id: _name(each) for each in backups}
    # Remembered ones are the newest of their sources; the others follow, the latest seen first.
    newest = [each.manifest_id for each in reversed(backups) if each.manifest_id in gone]
    others = [each for each in reversed(gone) if each not in names]
    listed = "; ".join(names.get(each, f"manifest {each}") for each in (newest + others)[:_NAMED])
    more = f"; and {len(gone) - _NAMED:,} more" if len(gone) > _NAMED else ""
    was, are = ("was", "is") if len(gone) == 1 else ("were", "are")
    told = f"{show_count(len(gone), 'backup')} that {was} seen here {are} neither there nor deleted: {listed}{more}"
    return f"{told} (in a copy of the repository, syncova-repo show tells of one by its manifest's id)"


def _name(backup: SeenBackup) -> str:
    when = show_time(backup.received_ns)
    return f"{backup.short_id} of {backup.source} of {when}, manifest {backup.manifest_id}"


def _newest_numbers(store: ObjectStore) -> tuple[int | None, int]:
    # Marks before sweeps: a mark that is gone by the first look has a sweep that the second one sees.
    return _newest_mark(store), read_newest_sweep(store).number


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

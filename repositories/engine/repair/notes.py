"""Small records in one copy that cannot be read: moved aside, and what they may have said is told.

Owns what is lost with each kind, and the caution that follows. An annotation may have been a hold, a tombstone may have
brought a backup back: nobody can tell. So before one is moved away, nothing is left that a prune or keep rules could
take for want of it: the backups that are there are held for a time, and deleted ones are brought back.
"""

import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from repositories.engine.check.report import Beat
from repositories.engine.clock import Clock
from repositories.engine.errors import IntegrityError, ObjectMissingError, RetiredKeyError, UnsupportedFormatError
from repositories.engine.forgetting.returning import take_back
from repositories.engine.format.kinds import ObjectKind, object_id_of
from repositories.engine.format.notes import AnnotationKind
from repositories.engine.objects.pairs import get_bounded
from repositories.engine.objects.rotations import KeyWatch
from repositories.engine.objects.torn import was_torn
from repositories.engine.repair.aside import ASIDE, Aside
from repositories.engine.repair.report import Steps
from repositories.engine.repository import Repository
from repositories.engine.retention.writing import NotesWriter

HOLD_DAYS: Final = 90
HOLD_REASON: Final = "a damaged annotation was set aside by repair: it may have been a hold on this backup"
_DAY_NS: Final = 24 * 3600 * 1_000_000_000
_SETTLE_SECONDS = 2.0
_LOST: Final[Mapping[ObjectKind, str]] = {
    ObjectKind.CHECKPOINT: "what an unfinished backup had read is read again",
    ObjectKind.ANNOTATION: (
        f"it may have been a hold, tag or note of any backup: all that are there are held for {HOLD_DAYS} days, and "
        "deleted ones are brought back; set the holds that you know of anew"
    ),
    ObjectKind.TOMBSTONE: (
        "it may have deleted backups or brought some back: deleted ones that are there are brought back; forget them "
        "again"
    ),
    ObjectKind.CONTROLLER: "a control plane's epoch and fence: it puts them again",
    ObjectKind.VERIFIED: "packs that it told to be good count as never read",
    ObjectKind.DAMAGE: "damage that it told of is found again by check --read-data: run that before the next backup",
}
_TORN: Final = "it was cut when it was put, and never counted"


class NotesMender:
    """Moves unreadable records aside."""

    def __init__(
        self, repository: Repository, steps: Steps, clock: Clock, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self._repository = repository
        self._steps = steps
        self._clock = clock
        self._sleep = sleep

    def mend(self, aside: Aside, beat: Beat) -> None:
        """Go through all kinds. Raises CommitRefusedError if the keys were rotated since the repository was opened."""
        first = self._damaged(beat)
        if not first:
            return
        self._sleep(_SETTLE_SECONDS)
        damaged = [each for each in self._damaged(beat) if each in first]
        if not self._steps.dry_run:
            # What a newer key sealed is not damaged.
            KeyWatch(self._repository.store, self._clock).require_quiet("nothing was set aside", beat)
        for kind, name in damaged:
            torn = self._is_torn(kind, name)
            told = f"{_TORN if torn else f'it cannot be read; {_LOST[kind]}'}; moved below {ASIDE}"
            self._steps.do("note", name, told, partial(self._move, kind if not torn else None, name, aside))

    def _damaged(self, beat: Beat) -> list[tuple[ObjectKind, str]]:
        found: list[tuple[ObjectKind, str]] = []
        for kind in _LOST:
            for name in self._repository.store.names(kind):
                beat()
                if self._is_damaged(kind, name):
                    found.append((kind, name))
        return found

    def _is_damaged(self, kind: ObjectKind, name: str) -> bool:
        store, object_id = self._repository.store, object_id_of(name) or b""
        try:
            store.open(kind, object_id, get_bounded(store.storage, kind, name))
        except ObjectMissingError:
            return False
        except RetiredKeyError:
            # Of one that a rotation has listed other bytes lie there; one that none has listed never counted.
            return (kind, object_id) in store.inventory
        except (IntegrityError, UnsupportedFormatError):
            return True
        return False

    def _is_torn(self, kind: ObjectKind, name: str) -> bool:
        return was_torn(self._repository.storage, kind, object_id_of(name) or b"")

    def _move(self, kind: ObjectKind | None, name: str, aside: Aside) -> None:
        """Move a record; `kind` is None where it never said anything."""
        if kind is ObjectKind.ANNOTATION:
            self._hold_all()
        if kind in (ObjectKind.ANNOTATION, ObjectKind.TOMBSTONE):
            self._bring_back()
        aside.take(name)

    def _hold_all(self) -> None:
        """Hold every backup that no other hold keeps for as long. Run again, it holds only what it had not come to."""
        now_ns = self._clock.now_ns()
        until_ns = now_ns + HOLD_DAYS * _DAY_NS
        notes = self._repository.notes()
        writer = NotesWriter(self._repository.store, self._clock)
        for stored in self._repository.backups(deleted=True):
            manifest_id = bytes.fromhex(stored.object_id)
            held = notes.holds(manifest_id, now_ns)
            if not any(each.text == HOLD_REASON or each.holds_at(until_ns) for each in held):
                writer.annotate(AnnotationKind.HOLD, manifest_id, HOLD_REASON, until_ns)

    def _bring_back(self) -> None:
        notes = self._repository.notes()
        there = {stored.object_id for stored in self._repository.backups(deleted=True)}
        named = sorted(there & {each.hex() for each in notes.deletions})
        if named and take_back(self._repository, named, "a record about deletions cannot be read any more").uncertain:
            told = "a prune has begun: it may have decided on deleted backups before they were brought back"
            self._steps.fail("note", "tombstones", told)

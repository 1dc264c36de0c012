"""Tags, notes and holds that came upon backups after they were made, carried over to their copies.

Owns which of them. Each keeps the id under which it was put first, wherever that was: what the target has heard of is
not carried again, even if it was withdrawn there, and what an earlier copy brought ends when it has ended in the
origin. What was said in the target itself no copy ends. Deletions are no matter of a copy.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Final

import msgspec

from repositories.engine.copying.request import CopyReport
from repositories.engine.errors import ConfigurationError, IntegrityError
from repositories.engine.forgetting.returning import take_back
from repositories.engine.forgetting.wording import require_tag, require_text
from repositories.engine.format.kinds import ObjectKind, object_name
from repositories.engine.format.notes import AnnotationKind, CopiedAnnotationRecord
from repositories.engine.format.records import decode
from repositories.engine.ids import OBJECT_ID_LENGTH
from repositories.engine.manifest.backups import Backup
from repositories.engine.objects.torn import was_torn
from repositories.engine.repository import Repository
from repositories.engine.retention.standing import Annotation, annotations
from repositories.engine.retention.writing import NotesWriter

MOST_OF_ONE: Final = 1000
"""What is said of a backup with more annotations than this is not carried: nobody wrote that by hand."""
_KINDS: Final = frozenset(AnnotationKind)
_TAGS: Final = (AnnotationKind.TAG, AnnotationKind.TAG_TAKEN)

Records = Mapping[bytes, CopiedAnnotationRecord]
Pair = tuple[Backup, str]
"""A backup of the origin, and the manifest (hex) of its copy; that is empty while there is none."""


class Labels:
    """Carries what the origin said of `backups` when the copy began. One thread."""

    def __init__(self, origin: Repository, target: Repository, backups: Sequence[Backup]) -> None:
        """Read the origin's annotations. Raises the storage's errors."""
        self._target = target
        self._writer = NotesWriter(target.store, target.clock)
        self._heard: Records = {}
        wanted = {bytes.fromhex(each.manifest_id): each for each in backups}
        found = origin.store.read_whole(ObjectKind.ANNOTATION, {}, _parser_of(wanted.keys()))
        self.damaged = [
            object_name(ObjectKind.ANNOTATION, each)
            for each in found.damaged
            if not was_torn(origin.storage, ObjectKind.ANNOTATION, each)
        ]
        records = {each: record for each, record in found.found.items() if record is not None}
        counts = Counter(record.manifest_id for record in records.values())
        crowded = {each for each, count in counts.items() if count > MOST_OF_ONE}
        for each in sorted(crowded):
            origin.warn(
                f"backup {wanted[each].short_id} has {counts[each]:,} tags, notes and holds: none of them is carried"
            )
        self._said = _Said({each: record for each, record in records.items() if record.manifest_id not in crowded})

    def carry(self, pairs: Sequence[Pair], report: CopyReport, *, dry_run: bool = False) -> None:
        """Put what the copies lack, end what has ended; count both in `report`. Raises the target's errors.

        A crash leaves a part of it undone, which the next copy does. With `dry_run` it is counted alone.
        """
        spoken_of = [pair for pair in pairs if self._said.first_ids(_id_of(pair[0]))]
        if not spoken_of:
            return
        there = self._read_target()
        for backup, copy in spoken_of:
            new, over = self._changes(backup, bytes.fromhex(copy), there)
            report.labels_carried += len(new)
            report.labels_ended += len(over)
            if not dry_run:
                self._put(copy, new, over)

    def _changes(
        self, backup: Backup, copy: bytes, there: "_Said"
    ) -> tuple[list[CopiedAnnotationRecord], list[Annotation]]:
        now_ns = self._target.clock.now_ns()
        in_force = {self._said.first_id(each.annotation_id): each for each in self._said.in_force(_id_of(backup))}
        known = there.first_ids(copy)
        new = [
            CopiedAnnotationRecord(each.kind, copy, each.created_ns, each.text, each.expires_ns, copied=first)
            for first, each in in_force.items()
            if first not in known and (each.kind != AnnotationKind.HOLD or each.holds_at(now_ns))
        ]
        ended = self._said.first_ids(_id_of(backup)) - in_force.keys()
        return new, [each for first, each in there.carried(copy) if first in ended]

    def _put(self, copy: str, new: Sequence[CopiedAnnotationRecord], over: Sequence[Annotation]) -> None:
        # New ones first: where a hold or a note was replaced there is never none.
        for record in new:
            self._writer.carry(record)
        if any(record.kind == AnnotationKind.HOLD for record in new):
            # Whoever deletes at the same moment sees the hold, or is seen here.
            take_back(self._target, [copy], "a hold came upon it with a copy", self._writer)
        for each in over:
            self._writer.withdraw(each)

    def _read_target(self) -> "_Said":
        self._heard = self._target.store.read_whole(
            ObjectKind.ANNOTATION, self._heard, lambda payload: decode(payload, CopiedAnnotationRecord)
        ).found
        return _Said(self._heard)


class _Said:
    """What the annotations of one repository say together, by manifest."""

    def __init__(self, records: Records) -> None:
        self._records = records
        self._in_force = annotations(records)
        self._first_ids: dict[bytes, set[bytes]] = {}
        for annotation_id, record in records.items():
            if record.withdraws is None:
                self._first_ids.setdefault(record.manifest_id, set()).add(record.copied or annotation_id)

    def first_id(self, annotation_id: bytes) -> bytes:
        """Return the id under which an annotation was put first."""
        return self._records[annotation_id].copied or annotation_id

    def first_ids(self, manifest_id: bytes) -> set[bytes]:
        """Return the first ids of all that was ever said of a manifest, withdrawn or not."""
        return self._first_ids.get(manifest_id, set())

    def in_force(self, manifest_id: bytes) -> tuple[Annotation, ...]:
        """Return what nothing withdraws."""
        return self._in_force.get(manifest_id, ())

    def carried(self, manifest_id: bytes) -> Iterator[tuple[bytes, Annotation]]:
        """Yield (first id, annotation) of what is in force and came with copies; two at once may bring it twice."""
        for each in self.in_force(manifest_id):
            first = self._records[each.annotation_id].copied
            if first is not None:
                yield first, each


def _id_of(backup: Backup) -> bytes:
    return bytes.fromhex(backup.manifest_id)


def _parser_of(wanted: Collection[bytes]) -> Callable[[bytes], CopiedAnnotationRecord | None]:
    """Return what decodes an annotation, but None for one of another manifest or of a kind that nobody knows yet."""

    def parse(payload: bytes) -> CopiedAnnotationRecord | None:
        record = decode(payload, CopiedAnnotationRecord)
        if record.manifest_id not in wanted or record.kind not in _KINDS:
            return None
        _require_sound(record)
        # Of one that ends another nothing else is needed, and nobody looked at the text.
        return record if record.withdraws is None else msgspec.structs.replace(record, text="")

    return parse


def _require_sound(record: CopiedAnnotationRecord) -> None:
    """Raise IntegrityError for what no program would have put: it could not be shown, or not be ended."""
    ids = (each for each in (record.copied, record.withdraws) if each is not None)
    if any(len(each) != OBJECT_ID_LENGTH for each in ids):
        raise IntegrityError("an annotation names no id")
    if record.withdraws is not None:
        return
    try:
        if record.kind in _TAGS:
            require_tag(record.text)
        else:
            require_text(record.text, "it")
    except ConfigurationError as error:
        raise IntegrityError(f"an annotation is no plain text: {error.message}") from error

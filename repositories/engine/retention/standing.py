"""What tombstones and annotations say together: which backups are deleted, held, tagged, noted.

Owns the rules, which know no order: every record is put once, by any number of writers whose clocks differ, and all
readers of the same records come to the same answer. Reads nothing; times are shown and compared to no other writer's,
but for the end of a hold.
"""

from collections.abc import Iterable, Mapping

import msgspec

from repositories.engine.format.notes import AnnotationKind, AnnotationRecord, TombstoneRecord


class Deletion(msgspec.Struct, frozen=True):
    """One tombstone's word about one manifest, not undone. Times are the writer's, in ns."""

    tombstone_id: bytes
    manifest_id: bytes
    created_ns: int
    reason: str


class Annotation(msgspec.Struct, frozen=True):
    """An annotation in force: nothing withdraws it."""

    annotation_id: bytes
    kind: int
    manifest_id: bytes
    created_ns: int
    text: str
    expires_ns: int | None

    def holds_at(self, now_ns: int) -> bool:
        """Return whether this is a hold that has not ended by `now_ns`."""
        return self.kind == AnnotationKind.HOLD and (self.expires_ns is None or self.expires_ns > now_ns)


def deletions(tombstones: Mapping[bytes, TombstoneRecord]) -> dict[bytes, tuple[Deletion, ...]]:
    """Return the deletions in force by manifest, in the order of their times and ids.

    A tombstone that undoes another deletes nothing: it takes those manifests that it names back from that one, all of
    them if it names none. So two writers that undo different parts of one deletion cannot get in each other's way.
    """
    undone = _undone(tombstones.values())
    found: dict[bytes, list[Deletion]] = {}
    for tombstone_id, record in tombstones.items():
        if record.undoes is not None:
            continue
        for manifest_id in dict.fromkeys(record.manifests):
            if (tombstone_id, manifest_id) not in undone and (tombstone_id, b"") not in undone:
                deletion = Deletion(tombstone_id, manifest_id, record.created_ns, record.reason)
                found.setdefault(manifest_id, []).append(deletion)
    return {each: tuple(sorted(those, key=_age)) for each, those in found.items()}


def _undone(tombstones: Iterable[TombstoneRecord]) -> set[tuple[bytes, bytes]]:
    """Return (tombstone, manifest) of all that is undone, the manifest empty for a whole tombstone."""
    undone: set[tuple[bytes, bytes]] = set()
    for record in tombstones:
        if record.undoes is not None:
            undone.update((record.undoes, manifest_id) for manifest_id in record.manifests or (b"",))
    return undone


def _age(deletion: Deletion) -> tuple[int, bytes]:
    return deletion.created_ns, deletion.tombstone_id


def annotations(records: Mapping[bytes, AnnotationRecord]) -> dict[bytes, tuple[Annotation, ...]]:
    """Return the annotations in force by manifest, in the order of their times and ids.

    One that withdraws another says nothing itself. It ends only what is of its own kind and of its own manifest, so
    that a withdrawn tag cannot end a hold by accident. Holds that have ended are in force here: ask `holds_at`.
    """
    withdrawn = {
        (record.withdraws, record.kind, record.manifest_id)
        for record in records.values()
        if record.withdraws is not None
    }
    found: dict[bytes, list[Annotation]] = {}
    for annotation_id, record in records.items():
        if record.withdraws is None and (annotation_id, record.kind, record.manifest_id) not in withdrawn:
            annotation = Annotation(
                annotation_id, record.kind, record.manifest_id, record.created_ns, record.text, record.expires_ns
            )
            found.setdefault(record.manifest_id, []).append(annotation)
    return {
        manifest_id: tuple(sorted(those, key=lambda each: (each.created_ns, each.annotation_id)))
        for manifest_id, those in found.items()
    }


def tags_of(own: Iterable[str], annotations: Iterable[Annotation]) -> tuple[str, ...]:
    """Return a backup's tags, sorted: those it was made with, less those taken away, and those given since."""
    tags = set(own)
    said = list(annotations)
    tags -= {each.text for each in said if each.kind == AnnotationKind.TAG_TAKEN}
    tags |= {each.text for each in said if each.kind == AnnotationKind.TAG}
    return tuple(sorted(tags))

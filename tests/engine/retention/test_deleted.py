"""Deletions and holds as they lie in a repository: put once, by any number of writers, in any order (engine.md, 2)."""

from pathlib import Path

import pytest

from repositories.engine.format.kinds import ObjectKind
from repositories.engine.format.notes import AnnotationKind, AnnotationRecord, TombstoneRecord
from repositories.engine.format.records import encode
from repositories.engine.objects.store import ObjectStore
from repositories.engine.repository import Repository, open_repository
from repositories.engine.retention.deleted import deleted_manifests
from repositories.engine.retention.standing import annotations, deletions, tags_of
from repositories.engine.storage.memory import MemoryStorage
from tests.engine.repositories import PASSWORD, back_up_tree, make_repository

A, B, C = (bytes([each]) * 16 for each in range(3))
X, Y, Z = (bytes([each]) * 16 for each in range(16, 19))
NOW = 1_000


def tombstone(store: ObjectStore, *manifests: bytes, undoes: bytes | None = None) -> bytes:
    return store.put(ObjectKind.TOMBSTONE, encode(TombstoneRecord(manifests, NOW, "", undoes)))


def annotation(
    store: ObjectStore, kind: int, manifest: bytes, *, expires: int | None = None, withdraws: bytes | None = None
) -> bytes:
    record = AnnotationRecord(kind, manifest, NOW, "because", expires, withdraws)
    return store.put(ObjectKind.ANNOTATION, encode(record))


@pytest.fixture
def storage() -> MemoryStorage:
    return MemoryStorage()


@pytest.fixture
def store(storage: MemoryStorage) -> ObjectStore:
    return make_repository(storage).store


def test_a_part_of_a_deletion_can_be_undone_and_all_of_it(store: ObjectStore) -> None:
    assert deleted_manifests(store, NOW) == frozenset()
    first = tombstone(store, A, B, C)
    assert deleted_manifests(store, NOW) == {A, B, C}
    tombstone(store, B, undoes=first)
    assert deleted_manifests(store, NOW) == {A, C}
    tombstone(store, A, undoes=first)
    assert deleted_manifests(store, NOW) == {C}
    tombstone(store, undoes=first)
    assert deleted_manifests(store, NOW) == frozenset()
    tombstone(store, B)
    assert deleted_manifests(store, NOW) == {B}


def test_undoing_one_deletion_leaves_another_of_the_same_backup(store: ObjectStore) -> None:
    first, second = tombstone(store, A), tombstone(store, A, B)
    tombstone(store, A, undoes=first)
    assert deleted_manifests(store, NOW) == {A, B}
    tombstone(store, A, undoes=second)
    assert deleted_manifests(store, NOW) == {B}


def test_a_hold_wins_until_it_ends_or_is_withdrawn(store: ObjectStore) -> None:
    tombstone(store, A, B)
    forever = annotation(store, AnnotationKind.HOLD, A)
    annotation(store, AnnotationKind.HOLD, B, expires=NOW + 1)
    assert deleted_manifests(store, NOW) == frozenset()
    assert deleted_manifests(store, NOW + 1) == {B}
    annotation(store, AnnotationKind.HOLD, B, withdraws=forever)
    annotation(store, AnnotationKind.TAG, A, withdraws=forever)
    assert deleted_manifests(store, NOW + 1) == {B}, "what is of another backup or kind withdraws no hold"
    annotation(store, AnnotationKind.HOLD, A, withdraws=forever)
    assert deleted_manifests(store, NOW + 1) == {A, B}


def test_while_an_annotation_is_damaged_nothing_may_be_swept(storage: MemoryStorage, store: ObjectStore) -> None:
    tombstone(store, A)
    annotation(store, AnnotationKind.TAG, B)
    (name,) = (each for each in storage.objects if each.startswith("annotations/"))
    whole = storage.objects[name]
    storage.objects[name] = whole[:-1] + bytes([whole[-1] ^ 1])
    assert deleted_manifests(store, NOW) == frozenset()
    # One that was torn when it was put was never told to hold anything.
    storage.objects[name] = whole[:-1]
    assert deleted_manifests(store, NOW) == {A}


def test_while_a_tombstone_is_damaged_that_may_undo_a_deletion_nothing_may_be_swept(
    storage: MemoryStorage, store: ObjectStore
) -> None:
    first = tombstone(store, A)
    before = set(storage.objects)
    tombstone(store, A, undoes=first)
    (name,) = storage.objects.keys() - before
    whole = storage.objects[name]
    storage.objects[name] = whole[:-1] + bytes([whole[-1] ^ 1])
    assert deleted_manifests(store, NOW) == frozenset()
    storage.objects[name] = whole[:-1]
    assert deleted_manifests(store, NOW) == {A}


def test_rules_know_no_order() -> None:
    tombstones = {
        X: TombstoneRecord((A, B), 2, "keep rule"),
        Y: TombstoneRecord((A,), 1, "undone", X),
        Z: TombstoneRecord((B,), 1, "twice"),
    }
    forwards, backwards = deletions(tombstones), deletions(dict(reversed(tombstones.items())))
    assert forwards == backwards
    assert [(each.tombstone_id, each.reason) for each in forwards[B]] == [(Z, "twice"), (X, "keep rule")]
    assert A not in forwards


def test_tags_are_those_of_the_backup_less_those_taken_away_and_those_given_since() -> None:
    said = annotations(
        {
            X: AnnotationRecord(AnnotationKind.TAG, A, 1, "given"),
            Y: AnnotationRecord(AnnotationKind.TAG_TAKEN, A, 1, "own"),
            Z: AnnotationRecord(AnnotationKind.NOTE, A, 1, "a note"),
        }
    )
    assert tags_of(("own", "other"), said[A]) == ("given", "other")
    assert tags_of(("own",), ()) == ("own",)


def test_deleted_backups_are_listed_only_when_asked_for(storage: MemoryStorage, tmp_path: Path) -> None:
    """3.3: whatever names a backup works on those that are not deleted."""
    repository = make_repository(storage)
    (tmp_path / "file").write_bytes(b"content")
    gone, stays = (back_up_tree(repository, tmp_path).manifest_id for _ in range(2))

    def listed(opened: Repository, *, deleted: bool = False) -> list[str]:
        return [each.object_id for each in opened.backups(deleted=deleted)]

    again = open_repository(storage, PASSWORD)
    assert listed(again) == [gone, stays]
    tombstone_id = tombstone(repository.store, bytes.fromhex(gone))
    assert listed(again) == listed(repository) == [stays]
    assert listed(again, deleted=True) == [gone, stays]
    tombstone(repository.store, undoes=tombstone_id)
    assert listed(again) == [gone, stays]

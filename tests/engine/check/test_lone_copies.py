"""Objects of which one copy alone is there: damage where they are needed, nothing where they mean nothing.

A writer or prune that sleeps between two copies while others go on, and then dies or withdraws, leaves such objects;
a medium that loses a copy of what counts leaves the same picture.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from repositories.engine.backup import Hooks
from repositories.engine.check import CheckReport, CheckRequest, check
from repositories.engine.format.collection import SweepRecord
from repositories.engine.format.commits import ManifestRecord
from repositories.engine.format.kinds import COPIES, ObjectKind, generation_group, object_name
from repositories.engine.format.notes import TombstoneRecord
from repositories.engine.format.records import encode
from repositories.engine.ids import ChunkKind
from repositories.engine.index.catalogue import packs_of
from repositories.engine.index.segments import HeldSegment, SegmentRecord, decode_segment
from repositories.engine.prune import PruneRequest, prune
from repositories.engine.repair import RepairRequest, repair
from repositories.engine.repository import Repository, open_repository
from repositories.engine.sessions.views import read_newest_sweep
from repositories.engine.storage.memory import MemoryStorage
from tests.engine.repositories import PASSWORD, back_up_tree, make_repository, restore_latest
from tests.engine.trees import pattern

Put = Callable[[Repository], str]


def opened(storage: MemoryStorage) -> Repository:
    return open_repository(storage, PASSWORD)


def run(storage: MemoryStorage) -> CheckReport:
    return check(opened(storage), CheckRequest(), Hooks())


@pytest.fixture
def storage(tmp_path: Path) -> MemoryStorage:
    """Return a repository that was pruned once: its newest sweep has number 1."""
    storage = MemoryStorage()
    repository = make_repository(storage)
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "file").write_bytes(pattern(300_000, 1))
    first = back_up_tree(repository, tmp_path / "tree")
    (tmp_path / "tree" / "file").write_bytes(pattern(300_000, 2))
    back_up_tree(opened(storage), tmp_path / "tree")
    record = TombstoneRecord((bytes.fromhex(first.manifest_id),), 1, "keep rule")
    repository.store.put(ObjectKind.TOMBSTONE, encode(record))
    prune(opened(storage), PruneRequest(max_unused=0.0), Hooks())
    assert read_newest_sweep(opened(storage).store).number == 1
    assert run(storage).ok
    return storage


def _segments(repository: Repository) -> dict[bytes, SegmentRecord | HeldSegment]:
    return repository.catalogue.live(read_newest_sweep(repository.store).accepts_segment)


def void_segment(repository: Repository) -> str:
    """Its writer began before the sweep, and slept."""
    record = SegmentRecord(0, bytes(16), 0, (), tuple(packs_of(_segments(repository))))
    return object_name(ObjectKind.INDEX, repository.store.put(ObjectKind.INDEX, encode(record)))


def void_manifest(repository: Repository) -> str:
    root = repository.backups()[0].root
    record = ManifestRecord(0, 1, 1, bytes(16), root)
    return object_name(ObjectKind.MANIFEST, repository.store.put(ObjectKind.MANIFEST, encode(record)))


def deleted_manifest(repository: Repository) -> str:
    root = repository.backups()[0].root
    record = ManifestRecord(1, 1, 1, bytes(16), root)
    manifest = repository.store.put(ObjectKind.MANIFEST, encode(record))
    repository.store.put(ObjectKind.TOMBSTONE, encode(TombstoneRecord((manifest,), 1, "taken back")))
    return object_name(ObjectKind.MANIFEST, manifest)


def old_sweep(repository: Repository) -> str:
    sweep = repository.store.put(ObjectKind.SWEEP, encode(SweepRecord(0, bytes(16), 0, b"", b"", b"", b"")))
    return object_name(ObjectKind.SWEEP, sweep)


def segment_of_a_merge_that_went_on(repository: Repository) -> str:
    """A merge put another segment for it and removed one copy; that one was merged again since, and is gone."""
    record = SegmentRecord(1, bytes(16), 0, (), tuple(packs_of(_segments(repository))))
    return object_name(ObjectKind.INDEX, repository.store.put(ObjectKind.INDEX, encode(record)))


def segment_of_a_backup_that_never_was(repository: Repository) -> str:
    """Packs and index were put, the answer of the second copy was lost, and the first was taken back."""
    before = set(repository.store.ids(ObjectKind.INDEX))
    with repository.begin_write() as session:
        session.put(ChunkKind.DATA, pattern(400_000, 7))
        session.flush()
    (new,) = set(repository.store.ids(ObjectKind.INDEX)) - before
    return object_name(ObjectKind.INDEX, new)


def other_config(repository: Repository) -> str:
    """Two creations raced; the slower one died while it withdrew."""
    other = MemoryStorage()
    name = object_name(ObjectKind.CONFIG, make_repository(other).config.repository_id)
    for each in (name, COPIES + name):
        repository.storage.put(each, other.objects[name])
    return name


def ended_keyring(repository: Repository) -> str:
    data = next(repository.storage.get(stored.name) for stored in repository.storage.list("keyrings/"))
    name = object_name(ObjectKind.KEYRING, bytes(16), generation_group(0))
    for each in (name, COPIES + name):
        repository.storage.put(each, data)
    return name


NOTHING: list[Put] = [
    void_segment,
    void_manifest,
    deleted_manifest,
    old_sweep,
    segment_of_a_merge_that_went_on,
    segment_of_a_backup_that_never_was,
    other_config,
    ended_keyring,
]


@pytest.mark.parametrize("first", [False, True], ids=["second copy", "first copy"])
@pytest.mark.parametrize("put", NOTHING, ids=lambda put: str(put.__name__))
def test_what_counts_for_nothing_is_no_damage(storage: MemoryStorage, tmp_path: Path, put: Put, *, first: bool) -> None:
    name = put(opened(storage))
    del storage.objects[COPIES + name if first else name]
    report = run(storage)
    assert (report.exit_code, report.problems, report.left_over + report.half_done) == (0, [], 1)
    assert restore_latest(opened(storage), tmp_path / "out").exit_code == 0
    prune(opened(storage), PruneRequest(max_unused=0.0), Hooks())
    assert run(storage).ok


LIVE = ("config", "slots", "keyrings", "index", "manifests", "sweeps")


@pytest.mark.parametrize("first", [False, True], ids=["first copy", "second copy"])
@pytest.mark.parametrize("kind", LIVE)
def test_a_lost_copy_of_what_counts_is_damage_that_a_repair_mends(
    storage: MemoryStorage, kind: str, *, first: bool
) -> None:
    """It is there, and readable, and one more loss away from being gone: that is told until it is mended."""
    whole = dict(storage.objects)
    for name in [each for each in storage.objects if each.startswith(f"{kind}/")]:
        victim = name if first else COPIES + name
        data = storage.objects.pop(victim)
        report = run(storage)
        assert (report.exit_code, [problem.object for problem in report.problems]) == (13, [victim])
        assert report.left_over == 0
        repair(opened(storage), RepairRequest(secret=PASSWORD), Hooks())
        assert storage.objects[victim] == data
    assert run(storage).ok
    assert {name for name in whole if name.startswith(COPIES)} <= storage.objects.keys()


def test_a_lone_segment_that_alone_lists_what_backups_use_is_needed(storage: MemoryStorage) -> None:
    """Also beside another one that lists a part of it."""
    repository = opened(storage)
    ((segment_id, record),) = _segments(repository).items()
    assert len(record.packs) > 1
    part = SegmentRecord(1, bytes(16), 0, (), record.packs[:1])
    repository.store.put(ObjectKind.INDEX, encode(part))
    name = object_name(ObjectKind.INDEX, segment_id)
    del storage.objects[name]
    assert [problem.object for problem in run(storage).problems] == [name]
    rest = SegmentRecord(1, bytes(16), 0, (), record.packs[1:])
    repository.store.put(ObjectKind.INDEX, encode(rest))
    report = run(storage)
    assert (report.problems, report.left_over) == ([], 1)


def test_where_backups_are_hurt_no_lone_segment_is_judged(storage: MemoryStorage) -> None:
    """What a page that is lost named might lie there."""
    repository = opened(storage)
    name = segment_of_a_backup_that_never_was(repository)
    del storage.objects[name]
    pages = [pack for pack in packs_of(_segments(repository)) if pack.pack_class == 2]
    for pack in pages:
        del storage.objects[object_name(ObjectKind.PACK, pack.pack_id)]
    assert name in {problem.object for problem in run(storage).problems}
    assert decode_segment(opened(storage).store.read(ObjectKind.INDEX, bytes.fromhex(name[-32:]))).packs

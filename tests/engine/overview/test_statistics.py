"""What is unique and what is shared, and what forgetting frees (3.7)."""

from pathlib import Path

import pytest

from repositories.engine.ids import ChunkKind
from repositories.engine.manifest.backups import Backup, list_backups
from repositories.engine.overview.statistics import Statistics, gather
from repositories.engine.repository import Repository
from tests.engine.repositories import back_up_tree, make_repository
from tests.engine.trees import change, pattern


def measured(repository: Repository, *chosen: Backup) -> Statistics:
    return gather(repository, chosen, lambda: None)


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    """Source one: three backups, the second with 400 kB of its own. Source two: one backup, half of it as in one."""
    repository = make_repository()
    one, two = tmp_path / "one", tmp_path / "two"
    for directory in (one, two):
        directory.mkdir()
        change(directory / "both", pattern(200_000, 1), 10**18)
    change(one / "kept", pattern(100_000, 2), 10**18)
    change(two / "alone", pattern(150_000, 3), 10**18)
    back_up_tree(repository, one, name="one")
    change(one / "passing", pattern(240_000, 4), 10**18)
    back_up_tree(repository, one, name="one")
    (one / "passing").unlink()
    back_up_tree(repository, one, name="one")
    back_up_tree(repository, two, name="two")
    return repository


def near(found: int, wanted: int) -> bool:
    """Sizes of content that does not compress, and a little for pages."""
    return wanted <= found < wanted + 5000


def test_unique_and_shared(repository: Repository) -> None:
    found = measured(repository)
    one, two = found.sources
    assert (one.name, len(one.backups), two.name, len(two.backups)) == ("one", 3, "two", 1)
    assert found.logical_bytes == 300_000 + 540_000 + 300_000 + 350_000
    assert near(found.content_bytes, 690_000)
    assert near(found.between_sources_bytes, 200_000)
    assert near(found.shared_bytes, 300_000)
    assert near(one.unique_bytes, 340_000)
    assert near(two.unique_bytes, 150_000)
    assert [near(use.unique_bytes, wanted) for use, wanted in zip(found.backups, (0, 240_000, 0, 150_000), strict=True)]
    assert near(found.backups[1].unique_bytes, 240_000)
    assert near(found.backups[0].unique_bytes, 0)
    assert (found.unused_bytes, found.repeated_bytes, found.missing_chunks, found.unreadable) == (0, 0, 0, [])


def test_the_sums_are_all_there_is(repository: Repository) -> None:
    """Each byte of each block is somebody's: nothing is counted twice or left out."""
    found = measured(repository)
    blocks = sum(block.length for pack in repository.reader().index.packs().values() for block in pack.blocks)
    assert found.used_bytes + found.unused_bytes + found.repeated_bytes == blocks
    assert found.used_bytes == found.shared_bytes + sum(use.unique_bytes for use in found.backups)
    assert found.used_bytes == found.between_sources_bytes + sum(use.unique_bytes for use in found.sources)
    assert found.pack_bytes + found.index_bytes + found.other_bytes == sum(
        stored.size for stored in repository.object_names()
    )


def test_what_forgetting_several_would_free(repository: Repository) -> None:
    """Shared among the chosen alone counts as theirs."""
    backups = list_backups(repository)
    first = measured(repository, backups[0]).chosen
    every = measured(repository, *backups[:3]).chosen
    assert first is not None
    assert near(first.unique_bytes, 0)
    assert every is not None
    assert len(every.backups) == 3
    assert near(every.unique_bytes, 340_000)
    whole = measured(repository, *backups)
    assert whole.chosen is not None
    assert whole.chosen.unique_bytes == whole.used_bytes


def test_what_no_backup_uses(repository: Repository, tmp_path: Path) -> None:
    """A backup that was broken off leaves chunks that only a prune takes away."""
    before = measured(repository)
    with repository.begin_write() as session:
        session.put(ChunkKind.DATA, pattern(90_000, 9))
        session.flush()
    after = measured(repository)
    assert near(after.unused_bytes, 90_000)
    assert after.used_bytes == before.used_bytes


def test_an_unreadable_backup_is_told(repository: Repository) -> None:
    storage = repository.storage
    sizes = [(stored.size, stored.name) for stored in repository.object_names("packs/")]
    for _, name in sorted(sizes)[:2]:
        storage.delete(name)
    found = measured(repository)
    assert found.unreadable
    assert len(found.backups) == 4


def test_an_empty_repository() -> None:
    found = measured(make_repository())
    assert (found.used_bytes, found.packs, found.sources) == (0, 0, [])

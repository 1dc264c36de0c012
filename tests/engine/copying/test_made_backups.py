"""Streams, long attributes and problems go over under other ids; fields that nobody knows keep their bytes (3.6)."""

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from repositories.engine.backup.options import Hooks
from repositories.engine.check import CheckRequest, check
from repositories.engine.ids import ChunkKind
from repositories.engine.manifest.backups import Backup, list_backups, walk_entries
from repositories.engine.manifest.problems import read_problems
from repositories.engine.manifest.streams import read_extents, read_value
from repositories.engine.packs.table import table_ids
from repositories.engine.repository import Repository
from tests.engine.copying.builders import copy, target_for
from tests.engine.copying.made import FUTURE, LONG_VALUE, PARTS, PROBLEMS, commit_made
from tests.engine.repositories import make_repository

RELATION = pytest.mark.parametrize("related", [True, False], ids=["related", "unrelated"])


def copied(repository: Repository, *, related: bool) -> tuple[Repository, Backup]:
    target = target_for(repository, related=related)
    assert len(copy(repository, target).copied) == 1
    return target, list_backups(target)[0]


@RELATION
def test_streams_and_attributes(related: bool) -> None:
    repository = make_repository()
    commit_made(repository, "run-1")
    target, backup = copied(repository, related=related)
    assert check(target, CheckRequest(read_data=True), Hooks()).problems == []
    reader = target.reader()
    entries = dict(walk_entries(target, backup))
    first, second, third = entries[b"a"], entries[b"b"], entries[b"c"]
    assert first.extents is not None
    assert isinstance(first.extents[0], bytes)
    assert (reader.read(ChunkKind.DATA, first.extents[0]), first.extents[1]) == (b"small content", 1000)
    assert second.xattrs is not None
    assert read_value(reader, second.xattrs[0].chunks or ()) == LONG_VALUE
    assert third.stream is not None
    assert third.stream.level > 0
    extents = list(read_extents(reader, third.stream))
    assert [length for length, _ in extents] == [10, 100] * PARTS
    contents = [reader.read(ChunkKind.DATA, chunk) for _, chunk in extents[:140] if chunk is not None]
    assert contents == [b"%010d" % (number % 50) for number in range(70)]
    problems = list(read_problems(reader, backup.root.problems))
    assert [each.path for each in problems] == [b"path %d" % number for number in range(PROBLEMS)]


def without_ids(value: Any, ids: frozenset[bytes]) -> Any:
    """Return a decoded record with each chunk id replaced by a mark."""
    if isinstance(value, list):
        return [without_ids(each, ids) for each in value]
    return "id" if isinstance(value, bytes) and value in ids else value


def chunk_ids(repository: Repository) -> frozenset[bytes]:
    packs = repository.reader().index.packs().values()
    return frozenset(each for pack in packs for block in pack.blocks for each in table_ids(block.table))


def page_of(repository: Repository) -> Iterator[Any]:
    (stored,) = repository.backups()
    root = msgspec.msgpack.decode(stored.root)
    yield root
    yield msgspec.msgpack.decode(repository.reader().read(ChunkKind.PAGE, root[7][0]))


def test_what_nobody_knows_keeps_its_place() -> None:
    """Format, section 3: fields are only appended, and a program that copies a record copies what it does not know."""
    repository = make_repository()
    commit_made(repository, "run-1", future=True)
    target, _ = copied(repository, related=False)
    (old_root, old_page), (new_root, new_page) = page_of(repository), page_of(target)
    assert new_page != old_page
    assert without_ids(new_page, chunk_ids(target)) == without_ids(old_page, chunk_ids(repository))
    assert str(new_page).count(FUTURE) == 7
    assert new_root[-1] == new_root[3][-1] == FUTURE
    assert without_ids(new_root[7:], chunk_ids(target)) == without_ids(old_root[7:], chunk_ids(repository))


def test_between_related_repositories_pages_are_the_same() -> None:
    repository = make_repository()
    commit_made(repository, "run-1", future=True)
    target, _ = copied(repository, related=True)
    (_, old_page), (new_root, new_page) = page_of(repository), page_of(target)
    assert new_page == old_page
    assert new_root[-1] == new_root[3][-1] == FUTURE

"""2.11: find over many backups tells every version of a path, and reads what they share once."""

import random

import pytest

from repositories.engine.browse.criteria import Criteria, matcher
from repositories.engine.browse.finding import Found, Search
from repositories.engine.errors import IntegrityError
from repositories.engine.ids import ChunkKind
from repositories.engine.manifest.backups import Backup, list_backups
from repositories.engine.manifest.entries import EntryType
from repositories.engine.manifest.entry_reader import page_ids
from repositories.engine.repository import Repository
from repositories.engine.storage.memory import MemoryStorage
from tests.engine.browse.builders import CountingChunks, hurt_chunk, made_up, make_backup, wide
from tests.engine.repositories import make_repository
from tests.engine.restore.test_hostile import ATTACKS, hostile


def find(repository: Repository, **wanted: object) -> list[Found]:
    return list(Search(repository.reader(), list_backups(repository), Criteria(**wanted)).results())  # type: ignore[arg-type]


def told(found: list[Found]) -> list[tuple[bytes, list[tuple[int, list[str]]]]]:
    return [
        (each.path, [(version.entry.size, [backup.id for backup in version.backups]) for version in each.versions])
        for each in found
    ]


def test_versions_and_the_backups_that_hold_them(repository: Repository) -> None:
    name, other = b"report.odt", b"other"
    directory = {b"d": made_up(b"d", EntryType.DIRECTORY)}
    for size in (1, 1, 2, None, 1):
        held = {b"d/" + name: made_up(name, size=size)} if size else {}
        make_backup(repository, {**directory, b"other": made_up(other), **held})
    assert told(find(repository, patterns=("*.odt",))) == [
        (b"d/report.odt", [(1, ["run-1", "run-2", "run-5"]), (2, ["run-3"])])
    ]
    assert told(find(repository, patterns=("nothing*",))) == []


def test_sources_are_kept_apart_and_absolute_patterns_know_them(repository: Repository) -> None:
    paths = {b"x": made_up(b"x", size=1)}
    make_backup(repository, paths, name="b", place=b"/srv/b")
    make_backup(repository, paths, name="a", place=b"/srv/a")
    assert [(each.source_name, each.path) for each in find(repository, patterns=("x",))] == [("a", b"x"), ("b", b"x")]
    assert [each.source_name for each in find(repository, patterns=("/srv/b/*",))] == ["b"]
    assert [each.source_name for each in find(repository, paths=("x",))] == ["a", "b"]


def test_many_near_equal_backups_cost_little_more_than_one(repository: Repository) -> None:
    """Pages are read once, whatever number of backups share them."""
    paths = wide(20, 200)
    make_backup(repository, paths)
    alone = CountingChunks(repository.reader())
    list(Search(alone, list_backups(repository), Criteria(patterns=("file 00007*",))).results())
    for number in range(49):
        changed = b"d%04d/file %05d of a long enough name" % (number % 20, number)
        paths[changed] = made_up(changed.partition(b"/")[2], size=10_000 + number)
        make_backup(repository, paths)
    together = CountingChunks(repository.reader())
    found = list(Search(together, list_backups(repository), Criteria(patterns=("file 00007*",))).results())
    assert [path.path for path in found] == [b"d%04d/file 00007 of a long enough name" % number for number in range(20)]
    assert sum(len(version.backups) for path in found for version in path.versions) == 50 * 20
    assert len(together.pages) == len(set(together.pages))
    assert len(alone.pages) > 3
    # Each change makes one leaf and the list above it anew; two leaves where the new name is a cut under these keys.
    assert len(together.pages) <= len(alone.pages) + 49 * 3


def test_what_is_found_is_what_a_plain_walk_finds(repository: Repository) -> None:
    """Against a walk that shares nothing, over random backups."""
    generator = random.Random(7)
    names = [b"a", b"b", b"a b", b"A", "ä".encode(), b"\xff", b"z.txt"]
    expected: dict[bytes, dict[int, list[str]]] = {}
    for _ in range(12):
        paths = {b"d": made_up(b"d", EntryType.DIRECTORY)}
        for name in names:
            for path in (name, b"d/" + name):
                if generator.random() < 0.7:
                    paths[path] = made_up(name, size=generator.randrange(3))
        backup = make_backup(repository, paths)
        for path, entry in paths.items():
            if path.rpartition(b"/")[2].startswith(b"a"):
                expected.setdefault(path, {}).setdefault(entry.size, []).append(backup.id)
    found = {path: dict(versions) for path, versions in told(find(repository, patterns=("a*",)))}
    assert found == expected


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        (Criteria(patterns=("*.TXT",)), []),
        (Criteria(patterns=("*.TXT",), ignore_case=True), [b"dir/a.txt"]),
        (Criteria(patterns=("dir/*",)), [b"dir/a.txt", b"dir/deep/gr\xc3\xbc\xc3\x9fe"]),
        (Criteria(patterns=("*/gr??e",)), [b"dir/deep/gr\xc3\xbc\xc3\x9fe"]),
        (Criteria(patterns=("/home/dir/a*",)), [b"dir/a.txt"]),
        (Criteria(names=("a*", "l*"), paths=("dir/*",)), [b"dir/a.txt"]),
        (Criteria(types=frozenset({3})), [b"link"]),
        (Criteria(larger=9), [b"dir/a.txt"]),
        (Criteria(smaller=10), [b"dir/deep/gr\xc3\xbc\xc3\x9fe"]),
        (Criteria(newer_ns=50, names=("*",)), [b"dir/deep/gr\xc3\xbc\xc3\x9fe"]),
        (Criteria(older_ns=50), [b"dir/a.txt", b"link"]),
        (Criteria(patterns=("[!a-z]*",)), [b"\xffbytes"]),
        (Criteria(patterns=("*" * 50 + "b",)), []),
    ],
)
def test_each_criterion(wanted: Criteria, expected: list[bytes]) -> None:
    entries = {
        b"dir/a.txt": made_up(b"a.txt", size=10, mtime=49),
        b"dir/deep/gr\xc3\xbc\xc3\x9fe": made_up("grüße".encode(), size=9, mtime=50),
        b"link": made_up(b"link", EntryType.LINK, target=b"x", size=1, mtime=1),
        b"\xffbytes": made_up(b"\xffbytes", EntryType.FIFO, mtime=50),
    }
    match = matcher(wanted, b"/home/")
    if wanted.newer_ns:
        del entries[b"\xffbytes"]
    assert [path for path, entry in entries.items() if match(path.rpartition(b"/")[0], entry)] == expected


def test_lost_pages_are_told_for_each_backup_and_the_rest_is_found(
    repository: Repository, storage: MemoryStorage
) -> None:
    # More pages than the largest block holds: the list of pages lies in another one than the first leaf.
    paths = wide(40, 1200)
    first = make_backup(repository, paths)
    top = first.root.pages
    assert top is not None
    make_backup(repository, paths | {b"new": made_up(b"new")})
    leaves = [page for page, level in page_ids(repository.reader(), top, lambda _: False) if level == 0]
    hurt_chunk(repository, storage, ChunkKind.PAGE, leaves[0])
    search = Search(repository.reader(), list_backups(repository), Criteria(patterns=("file 00000*",)))
    found = list(search.results())
    assert 0 < len(found) < 40
    lost = dict(told_lost(search.unread))
    assert set(lost) == {"run-1", "run-2"}
    assert all(0 < count < 48_000 for count in lost.values())


def told_lost(unread: list[tuple[Backup, int]]) -> list[tuple[str, int]]:
    return [(backup.id, count) for backup, count in unread]


@pytest.mark.parametrize("attack", ATTACKS)
def test_tampered_manifests_end_in_an_error_or_are_found_in(attack: str) -> None:
    """2.12: no name that cannot be one is ever found."""
    repository = hostile(ATTACKS[attack])
    search = Search(repository.reader(), list_backups(repository), Criteria(patterns=("*",)))
    try:
        found = list(search.results())
    except IntegrityError:
        return
    assert all(b".." not in each.path.split(b"/") and not each.path.startswith(b"/") for each in found)
    assert found or search.unread


def test_an_empty_repository_and_empty_backups(repository: Repository) -> None:
    assert find(repository, patterns=("*",)) == []
    make_backup(repository, {})
    assert find(repository, patterns=("*",)) == []
    assert find(make_repository(), patterns=("*",)) == []

"""2.11: diff tells each difference once and reads only what differs."""

import random

import pytest

from repositories.engine.browse.difference import Change, Summary, differences
from repositories.engine.errors import ConfigurationError, EngineError
from repositories.engine.manifest.backups import list_backups
from repositories.engine.manifest.entries import Entry, EntryType, Xattr
from repositories.engine.manifest.order import directory_key, is_within, split
from repositories.engine.repository import Repository
from tests.engine.browse.builders import CountingChunks, made_up, make_backup, wide
from tests.engine.restore.test_hostile import ATTACKS, hostile


def changes(repository: Repository, path: bytes = b"") -> list[Change]:
    before, after = list_backups(repository)[-2:]
    return list(differences(repository.reader(), before, after, path))


ONE = {
    b"same": made_up(b"same", size=5),
    b"gone": made_up(b"gone", size=7),
    b"content": made_up(b"content", size=3),
    b"type": made_up(b"type", size=3),
    b"link": made_up(b"link", EntryType.LINK, target=b"a"),
    b"device": made_up(b"device", EntryType.BLOCK_DEVICE, device=(1, 1)),
    b"mode": made_up(b"mode"),
    b"owner": made_up(b"owner"),
    b"time": made_up(b"time"),
    b"xattr": made_up(b"xattr", xattrs=(Xattr(b"user.a", b"1"),)),
    b"hard": made_up(b"hard"),
    b"volatile": made_up(b"volatile", link_group=(0, 1)),
}
TWO = {
    b"same": ONE[b"same"],
    b"came": made_up(b"came", size=11),
    b"content": made_up(b"content", size=4),
    b"type": made_up(b"type", EntryType.DIRECTORY),
    b"link": made_up(b"link", EntryType.LINK, target=b"b"),
    b"device": made_up(b"device", EntryType.BLOCK_DEVICE, device=(1, 2)),
    b"mode": made_up(b"mode", mode=0o100600),
    b"owner": made_up(b"owner", gid=5),
    b"time": made_up(b"time", mtime=2),
    b"xattr": made_up(b"xattr", xattrs=(Xattr(b"user.a", b"2"),)),
    b"hard": made_up(b"hard", link_group=(0, 9)),
    b"volatile": made_up(b"volatile", link_group=(1, 2), inode=9, ctime=9, flags=1),
}


def test_each_aspect_is_named(repository: Repository) -> None:
    make_backup(repository, ONE, top=made_up(b".", EntryType.DIRECTORY))
    make_backup(repository, TWO, top=made_up(b".", EntryType.DIRECTORY, uid=1))
    found = changes(repository)
    assert {each.path: ",".join(each.aspects) for each in found} == {
        b"": "owner",
        b"came": "",
        b"content": "content",
        b"device": "device",
        b"gone": "",
        b"hard": "hard_link",
        b"link": "target",
        b"mode": "mode",
        b"owner": "owner",
        b"time": "mtime",
        b"xattr": "xattrs",
        b"type": "type,mode",
    }
    by_path = {each.path: each for each in found}
    assert (by_path[b"came"].before, by_path[b"gone"].after) == (None, None)
    assert {path for path, each in by_path.items() if each.only_metadata} == {
        b"", b"hard", b"mode", b"owner", b"time", b"xattr",
    }  # fmt: skip
    summary = Summary()
    for each in found:
        summary.count(each)
    assert (summary.added, summary.removed, summary.changed, summary.metadata_only) == (1, 1, 4, 6)
    assert (summary.added_bytes, summary.removed_bytes) == (11 + 4, 7 + 3 + 3)
    assert summary.aspects["owner"] == 2


def mutated(generator: random.Random, paths: dict[bytes, Entry]) -> dict[bytes, Entry]:
    """Return a tree that differs in a few places: files, and whole directories."""
    after = dict(paths)
    for path in generator.sample(sorted(paths), 12):
        entry = paths[path]
        if path not in after:
            continue
        if entry.is_directory and generator.random() < 0.3:
            after = {each: value for each, value in after.items() if not is_within(each, path)}
        elif not entry.is_directory:
            del after[path]
            if generator.random() < 0.6:
                after[path + b"~"] = made_up(entry.name + b"~", size=generator.randrange(9))
            else:
                after[path] = made_up(entry.name, size=entry.size + 1, inode=entry.inode)
    return after


def expected(before: dict[bytes, Entry], after: dict[bytes, Entry], within: bytes) -> list[bytes]:
    paths = {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}
    below = [path for path in paths if is_within(path, within) and path != within]
    in_order = sorted(below, key=lambda path: (directory_key(split(path)[0]), split(path)[1]))
    return ([within] if within in paths else []) + in_order


@pytest.mark.parametrize("seed", range(6))
def test_against_a_plain_comparison(repository: Repository, seed: int) -> None:
    generator = random.Random(seed)
    before = wide(15, 120)
    for number in range(0, 15, 4):
        deep = b"d%04d/deep" % number
        before[deep] = made_up(b"deep", EntryType.DIRECTORY)
        before |= {deep + b"/%d" % each: made_up(b"%d" % each, size=each) for each in range(50)}
    after = mutated(generator, before)
    make_backup(repository, before)
    make_backup(repository, after)
    assert [each.path for each in changes(repository)] == expected(before, after, b"")
    for within in (b"d0004", b"d0004/deep", b"d0014", sorted(before.keys() - after.keys())[0]):
        assert [each.path for each in changes(repository, within)] == expected(before, after, within), within


def test_what_is_the_same_is_not_read(repository: Repository) -> None:
    paths = wide(60, 300)
    make_backup(repository, paths)
    make_backup(repository, paths | {b"d0030/changed": made_up(b"changed")})
    counting = CountingChunks(repository.reader())
    before, after = list_backups(repository)
    assert [each.path for each in differences(counting, before, after)] == [b"d0030/changed"]
    assert len(counting.pages) <= 8
    everything = CountingChunks(repository.reader())
    assert sum(1 for _ in differences(everything, before, make_backup(repository, {}))) == len(paths)
    assert len(everything.pages) > 10
    again = CountingChunks(repository.reader())
    assert list(differences(again, after, after)) == []
    assert again.pages == []


def test_a_path_in_neither_is_an_error_and_in_one_a_difference(repository: Repository) -> None:
    make_backup(repository, {b"old": made_up(b"old")})
    make_backup(repository, {b"new": made_up(b"new")})
    with pytest.raises(ConfigurationError, match="nothing is not in backup"):
        changes(repository, b"nothing")
    assert [(each.path, each.before is None) for each in changes(repository, b"new")] == [(b"new", True)]
    assert [(each.path, each.after is None) for each in changes(repository, b"old")] == [(b"old", True)]


@pytest.mark.parametrize("attack", ATTACKS)
def test_tampered_manifests_end_in_an_error_or_in_possible_names(attack: str) -> None:
    """2.12"""
    repository = hostile(ATTACKS[attack])
    make_backup(repository, {b"x": made_up(b"x")})
    code = 0
    found: list[Change] = []
    try:
        found = changes(repository)
    except EngineError as error:
        code = error.exit_code
    assert code in (0, 13)
    assert all(b".." not in each.path.split(b"/") and not each.path.startswith(b"/") for each in found)

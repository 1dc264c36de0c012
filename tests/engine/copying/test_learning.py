"""Between unrelated repositories, too, a later copy reads only what is new in the origin (3.6)."""

from pathlib import Path

import pytest

from repositories.engine.format.kinds import ObjectKind, object_name
from repositories.engine.manifest.backups import find_backup
from repositories.engine.packs.directory import PackClass
from repositories.engine.storage.memory import MemoryStorage
from tests.engine.copying.builders import OTHER_PASSWORD, copy
from tests.engine.copying.made import commit_made
from tests.engine.copying.small import all_contents, clone, contents, make_origin, make_target, opened
from tests.engine.repositories import back_up_tree
from tests.engine.trees import change, pattern


@pytest.fixture
def origin(tmp_path: Path) -> MemoryStorage:
    return make_origin(tmp_path)


def test_content_that_was_copied_before_is_not_read_again(origin: MemoryStorage, tmp_path: Path) -> None:
    target = make_target(origin, related=False)
    first = copy(opened(origin), opened(target, OTHER_PASSWORD))
    change(tmp_path / "one" / "small", b"changed again", 10**18)
    change(tmp_path / "one" / "new", pattern(40_000, 9), 10**18)
    back_up_tree(opened(origin), tmp_path / "one", name="one")
    second = copy(opened(origin), opened(target, OTHER_PASSWORD))
    assert (len(second.copied), second.there) == (1, 3)
    assert second.copied[0].missing_bytes == 40_000 + len(b"changed again")
    assert second.bytes_read < first.bytes_read / 3
    assert all_contents(opened(target, OTHER_PASSWORD)) == all_contents(opened(origin))


def test_what_the_target_lost_is_read_again(origin: MemoryStorage, tmp_path: Path) -> None:
    """A chunk that an earlier copy names and that is not there any more is no reason to name it once more."""
    target = make_target(origin, related=False)
    copy(opened(origin), opened(target, OTHER_PASSWORD))
    for name in [name for name in target.objects if name.startswith("packs/") and len(target.objects[name]) > 100_000]:
        del target.objects[name]
    change(tmp_path / "one" / "small", b"changed again", 10**18)
    newest = back_up_tree(opened(origin), tmp_path / "one", name="one").backup_id
    report = copy(opened(origin), opened(target, OTHER_PASSWORD))
    assert [each.backup.id for each in report.copied] == [newest]
    found = opened(target, OTHER_PASSWORD)
    assert contents(found, find_backup(found, newest)) == all_contents(opened(origin))[newest]


def test_streams_are_learnt(origin: MemoryStorage) -> None:
    """What was learnt is not asked of the origin at all: it may have lost it."""
    target = make_target(origin, related=False)
    repository = opened(origin)
    commit_made(repository, "run-1")
    assert copy(repository, opened(target, OTHER_PASSWORD)).failed == []
    commit_made(repository, "run-2")
    for pack in repository.reader().index.packs().values():
        if pack.pack_class == PackClass.DATA:
            del origin.objects[object_name(ObjectKind.PACK, pack.pack_id)]
    report = copy(opened(origin), opened(target, OTHER_PASSWORD))
    assert [each.backup.id for each in report.copied] == ["run-2"]
    assert (report.failed, report.new_chunks) == ([], 0)


def test_an_earlier_copy_that_cannot_be_read_teaches_nothing(origin: MemoryStorage, tmp_path: Path) -> None:
    target = make_target(origin, related=False)
    copy(opened(origin), opened(target, OTHER_PASSWORD))
    change(tmp_path / "one" / "small", b"changed again", 10**18)
    newest = back_up_tree(opened(origin), tmp_path / "one", name="one").backup_id
    whole = clone(origin)
    for name in [name for name in target.objects if name.startswith("packs/") and len(target.objects[name]) < 100_000]:
        data = bytearray(target.objects[name])
        data[120:200] = bytes(80)
        target.objects[name] = bytes(data)
    report = copy(opened(whole), opened(target, OTHER_PASSWORD))
    assert [each.backup.id for each in report.copied] == [newest]
    wanted = all_contents(opened(origin))[newest]
    found = opened(target, OTHER_PASSWORD)
    assert contents(found, find_backup(found, newest)) == wanted

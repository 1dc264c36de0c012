"""Damage in the origin leaves out the backups that it hurts, damage in the target is healed (3.6)."""

from collections.abc import Iterator

import pytest

from repositories.engine.backup.options import Hooks
from repositories.engine.check import CheckRequest, check
from repositories.engine.format.kinds import ObjectKind, object_name
from repositories.engine.ids import ChunkKind
from repositories.engine.manifest.backups import list_backups
from repositories.engine.repository import Repository
from repositories.engine.storage.memory import MemoryStorage
from tests.engine.copying.builders import OTHER_PASSWORD, copy
from tests.engine.copying.small import all_contents, clone, make_origin, make_target, opened

RELATION = pytest.mark.parametrize("related", [True, False], ids=["related", "unrelated"])


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> MemoryStorage:
    return make_origin(tmp_path_factory.mktemp("sources"))


def packs_of_page(repository: Repository, number: int) -> Iterator[str]:
    """Yield the names of the packs that hold the content of backup `number`, then that of its pages."""
    root = list_backups(repository)[number].root
    assert root.pages is not None
    reader = repository.reader()
    page = reader.locate(ChunkKind.PAGE, root.pages.id)
    assert page is not None
    packs = list(reader.index.packs().values())
    at = [pack.pack_id for pack in packs].index(page.pack)
    # A session puts its data pack before its metadata pack, or the other way: they stand beside each other.
    data = [pack for pack in packs[max(0, at - 1) : at + 2] if pack.pack_class == 1]
    yield object_name(ObjectKind.PACK, data[-1].pack_id)
    yield object_name(ObjectKind.PACK, page.pack)


def flip(storage: MemoryStorage, name: str) -> None:
    data = bytearray(storage.objects[name])
    data[len(data) // 3] ^= 1
    storage.objects[name] = bytes(data)


@RELATION
@pytest.mark.parametrize("which", [0, 1], ids=["content", "pages"])
@pytest.mark.parametrize("how", ["flipped", "gone"])
def test_others_are_copied(whole: MemoryStorage, related: bool, which: int, how: str) -> None:
    origin, target = clone(whole), make_target(whole, related=related)
    name = list(packs_of_page(opened(whole), 2))[which]
    if how == "gone":
        del origin.objects[name]
    else:
        flip(origin, name)
    hurt = list_backups(opened(whole))[2].id
    report = copy(opened(origin), opened(target, OTHER_PASSWORD))
    assert report.exit_code == 13
    assert [each.backup.id for each in report.failed] == [hurt]
    assert report.failed[0].reason
    wanted = all_contents(opened(whole))
    found = all_contents(opened(target, OTHER_PASSWORD))
    assert found == {each: wanted[each] for each in wanted if each != hurt}
    again = copy(opened(whole), opened(target, OTHER_PASSWORD))
    assert (again.exit_code, [each.backup.id for each in again.copied]) == (0, [hurt])
    assert all_contents(opened(target, OTHER_PASSWORD)) == wanted


@RELATION
def test_damage_that_two_backups_share_leaves_out_both(whole: MemoryStorage, related: bool) -> None:
    """What the first one named does not count as carried over for the second one."""
    origin, target = clone(whole), make_target(whole, related=related)
    flip(origin, next(packs_of_page(opened(whole), 0)))
    report = copy(opened(origin), opened(target, OTHER_PASSWORD))
    assert [each.backup.source_name for each in report.failed] == ["one", "one"]
    assert [each.backup.source_name for each in report.copied] == ["two"]


@pytest.mark.parametrize("how", ["flipped", "gone"])
@RELATION
def test_without_an_index(whole: MemoryStorage, related: bool, how: str) -> None:
    """The packs' own directories will do; only that the index is damaged is said."""
    origin, target = clone(whole), make_target(whole, related=related)
    for name in [name for name in origin.objects if "index/" in name]:
        if how == "gone":
            del origin.objects[name]
        else:
            flip(origin, name)
    repository, said = opened(origin), list[str]()
    repository.warn = said.append
    report = copy(repository, opened(target, OTHER_PASSWORD))
    assert (report.exit_code, len(report.copied)) == (0, 3)
    assert any("run syncova-repo repair" in line for line in said)
    assert all_contents(opened(target, OTHER_PASSWORD)) == all_contents(opened(whole))


def test_a_lost_manifest_is_named(whole: MemoryStorage) -> None:
    origin, target = clone(whole), make_target(whole, related=True)
    name = list_backups(opened(whole))[0].manifest_id
    for prefix in ("", "copies/"):
        flip(origin, f"{prefix}manifests/{name}")
    report = copy(opened(origin), opened(target, OTHER_PASSWORD))
    assert (report.exit_code, len(report.copied)) == (13, 2)
    assert report.damaged_manifests == [f"manifests/{name}"]
    assert check(opened(target, OTHER_PASSWORD), CheckRequest(), Hooks()).problems == []


@RELATION
def test_a_hurt_target_is_healed(whole: MemoryStorage, related: bool) -> None:
    """What a check of the target has found to be damaged is stored again, and no backup is doubled."""
    target = make_target(whole, related=related)
    copy(opened(whole), opened(target, OTHER_PASSWORD))
    for name in packs_of_page(opened(target, OTHER_PASSWORD), 2):
        flip(target, name)
    assert check(opened(target, OTHER_PASSWORD), CheckRequest(read_data=True), Hooks()).hurt
    report = copy(opened(whole), opened(target, OTHER_PASSWORD))
    assert report.healed
    assert report.copied == []
    assert all_contents(opened(target, OTHER_PASSWORD)) == all_contents(opened(whole))
    assert not check(opened(target, OTHER_PASSWORD), CheckRequest(read_data=True), Hooks()).hurt

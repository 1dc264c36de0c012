"""Copies of copies, copies back, and repositories whose keys were rotated (3.5, 3.6)."""

import pytest

from repositories.engine.backup.options import Hooks
from repositories.engine.check import CheckRequest, check
from repositories.engine.format.headers import parse_object_header
from repositories.engine.keychain import rotate
from repositories.engine.manifest.backups import list_backups
from repositories.engine.packs.table import table_ids
from repositories.engine.process.describe import backup_fields
from repositories.engine.process.label_fields import said_now
from repositories.engine.repository import CreateOptions, Repository, create_repository
from repositories.engine.storage.memory import MemoryStorage
from tests.engine.copying.builders import OTHER_PASSWORD, copy, target_for
from tests.engine.copying.small import all_contents, clone, make_origin, make_target, opened
from tests.engine.keychain.chains import keychain
from tests.engine.repositories import CHEAP, PASSWORD, back_up_tree
from tests.engine.trees import change

RELATION = pytest.mark.parametrize("related", [True, False], ids=["related", "unrelated"])


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> MemoryStorage:
    return make_origin(tmp_path_factory.mktemp("sources"))


def origins(repository: Repository) -> dict[str, tuple[str, str, str]]:
    """Return by backup id: the repository that it was copied from, the one that it was made in, its manifest there."""
    found = {}
    for backup in list_backups(repository):
        told = backup_fields(backup, said_now(repository))["copied_from"]
        found[backup.id] = (told["repository_id"], told["first_repository_id"], told["first_manifest_id"])
    return found


@pytest.mark.parametrize("relations", [(True, True), (True, False), (False, True), (False, False)])
def test_a_chain_keeps_where_a_backup_was_made(made: MemoryStorage, relations: tuple[bool, bool]) -> None:
    """A to B to C: each says whence it comes, and all of them where it began; id, origin and age stay."""
    first = opened(clone(made))
    middle = target_for(first, related=relations[0])
    last = target_for(middle, related=relations[1])
    copy(first, middle)
    assert copy(middle, last).related == relations[1]
    manifests = {each.id: each.manifest_id for each in list_backups(first)}
    assert origins(middle) == {each: (first.id, first.id, manifests[each]) for each in manifests}
    assert origins(last) == {each: (middle.id, first.id, manifests[each]) for each in manifests}
    kept = [(each.id, each.received_ns, each.root.origin, each.root.source) for each in list_backups(first)]
    assert [(each.id, each.received_ns, each.root.origin, each.root.source) for each in list_backups(last)] == kept
    assert all_contents(last) == all_contents(first)
    assert check(last, CheckRequest(read_data=True), Hooks()).problems == []
    again = copy(first, last)
    assert (again.there, again.copied) == (3, [])
    fourth = target_for(last, related=False)
    copy(last, fourth)
    assert {each[1] for each in origins(fourth).values()} == {first.id}


@RELATION
def test_a_copy_back_finds_everything_there(made: MemoryStorage, related: bool) -> None:
    """And brings what was made in the second repository meanwhile; then both have the same, none twice."""
    first = opened(clone(made))
    second = target_for(first, related=related)
    copy(first, second)
    before = {stored.name for stored in first.object_names()}
    back = copy(second, first)
    assert (back.there, back.copied, back.bytes_read) == (3, [], 0)
    assert {stored.name for stored in first.object_names()} == before
    assert all(each.copied is None for each in list_backups(first))


def test_between_three_that_hold_different_ones(made: MemoryStorage) -> None:
    first = opened(clone(made))
    second = target_for(first, related=True)
    copy(first, second, backups=(list_backups(first)[0].id,))
    third = target_for(first, related=False)
    copy(first, third, backups=(list_backups(first)[2].id,))
    copy(second, third)
    assert sorted(all_contents(third)) == sorted(each.id for each in (list_backups(first)[0], list_backups(first)[2]))
    copy(third, second)
    assert all_contents(second) == all_contents(third)


def rotated(storage: MemoryStorage, password: bytes) -> None:
    """Rotate the keys, the password kept."""
    rotate(keychain(storage, password), [password])


def epochs(storage: MemoryStorage) -> set[int]:
    return {parse_object_header(data).epoch for name, data in storage.objects.items() if name.startswith("packs/")}


@RELATION
def test_between_rotated_repositories(
    made: MemoryStorage, tmp_path_factory: pytest.TempPathFactory, related: bool
) -> None:
    """Old and new epochs on either side: read from both, written under the newest, and nothing stored twice."""
    origin, root = clone(made), tmp_path_factory.mktemp("more")
    target = make_target(origin, related=related)
    copy(opened(origin), opened(target, OTHER_PASSWORD), backups=(list_backups(opened(origin))[0].id,))
    rotated(origin, PASSWORD)
    rotated(target, OTHER_PASSWORD)
    change(root / "new", b"under the second epoch" * 100, 10**18)
    back_up_tree(opened(origin), root, name="three")
    assert epochs(origin) == {1, 2}
    report = copy(opened(origin), opened(target, OTHER_PASSWORD))
    assert (report.related, report.exit_code, report.there, len(report.copied)) == (related, 0, 1, 3)
    assert epochs(target) == {1, 2}
    rotated(target, OTHER_PASSWORD)
    assert all_contents(opened(target, OTHER_PASSWORD)) == all_contents(opened(origin))
    assert check(opened(target, OTHER_PASSWORD), CheckRequest(read_data=True), Hooks()).problems == []
    packs = opened(target, OTHER_PASSWORD).reader().index.packs().values()
    chunks = [each for pack in packs for block in pack.blocks for each in table_ids(block.table)]
    assert len(chunks) == len(set(chunks))


def test_a_repository_related_to_a_copy_is_related_to_the_first(made: MemoryStorage) -> None:
    """Also after rotations: the names of chunks are for life."""
    first = clone(made)
    second = make_target(first, related=True)
    rotated(first, PASSWORD)
    rotated(second, OTHER_PASSWORD)
    third = MemoryStorage()
    keyring = opened(second, OTHER_PASSWORD).keyring
    create_repository(third, CreateOptions(password=OTHER_PASSWORD, kdf=CHEAP, reserve_bytes=9, related_to=keyring))
    report = copy(opened(first), opened(third, OTHER_PASSWORD))
    assert report.related
    assert report.resealed_blocks
    assert all_contents(opened(third, OTHER_PASSWORD)) == all_contents(opened(first))

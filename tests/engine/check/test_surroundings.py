"""What a check says of what is no damage: packs that nobody read, ended keys, what lies aside, strays, lateness.

Every report says what was not looked at (3.1).
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from repositories.engine.backup import Hooks
from repositories.engine.check import CheckReport, CheckRequest, check
from repositories.engine.errors import RepositoryError
from repositories.engine.format.kinds import ObjectKind, object_name
from repositories.engine.format.notes import AnnotationRecord
from repositories.engine.format.records import encode
from repositories.engine.ids import ChunkKind
from repositories.engine.keychain import rotate
from repositories.engine.repository import open_repository
from repositories.engine.storage.base import StoredObject
from repositories.engine.storage.local import LocalStorage
from repositories.engine.storage.memory import MemoryStorage
from tests.engine.keychain.chains import keychain
from tests.engine.repositories import PASSWORD, back_up_tree, make_repository
from tests.engine.trees import pattern


class Watched(MemoryStorage):
    """Does something once, when the first pack is read."""

    meanwhile: Callable[[], object] | None = None

    def get(self, name: str, offset: int = 0, length: int | None = None) -> bytes:
        if name.startswith("packs/") and self.meanwhile is not None:
            act, self.meanwhile = self.meanwhile, None
            act()
        return super().get(name, offset, length)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "file").write_bytes(pattern(300_000, 1))
    return tree


@pytest.fixture
def storage(tree: Path) -> Watched:
    storage = Watched()
    back_up_tree(make_repository(storage), tree)
    return storage


def run(storage: MemoryStorage | LocalStorage, *, read_data: bool = False) -> CheckReport:
    return check(open_repository(storage, PASSWORD), CheckRequest(read_data=read_data), Hooks())


def test_names_of_the_format_are_no_strays(storage: Watched, tree: Path) -> None:
    """Whatever a repository's life leaves there: every kind of object is known by its name."""
    rotate(keychain(storage), [PASSWORD])
    back_up_tree(open_repository(storage, PASSWORD), tree)
    run(storage, read_data=True)
    storage.objects["tmp/half"] = b"being written"
    store = open_repository(storage, PASSWORD).store
    groups = {ObjectKind.CONTROLLER: "ab" * 16, ObjectKind.INTENT: "00000009"}
    for kind in (ObjectKind.CONTROLLER, ObjectKind.INTENT, ObjectKind.KEY_CHANGE, ObjectKind.SESSION):
        storage.objects[object_name(kind, store.new_id(), groups.get(kind, ""))] = b"whatever"
    around = run(storage).around
    assert (around.strays, around.stray_names, around.aside.count) == (0, (), 0)


STRAYS = (
    "notes.txt",
    "packs/readme",
    "packs/00/" + "f" * 32,
    "packs/ff/" + "f" * 31,
    "copies/packs/ff/" + "f" * 32,
    "copies/annotations/" + "f" * 32,
    "manifests/old/" + "f" * 32,
    "keyrings/" + "f" * 32,
    "reserve.old",
)


@pytest.mark.parametrize("name", STRAYS)
def test_what_is_not_of_the_format_is_counted_and_named(storage: Watched, name: str) -> None:
    storage.objects[name] = b"x"
    report = run(storage)
    assert (report.ok, report.around.strays, report.around.stray_names) == (True, 1, (name,))


def test_a_directory_that_bars_the_way_is_no_end_of_a_check(tmp_path: Path, tree: Path) -> None:
    """`lost+found` at the top of a file system belongs to root."""

    class Barred(LocalStorage):
        def list(self, prefix: str) -> Iterator[StoredObject]:
            if not prefix:
                yield StoredObject("notes.txt", 1)
                raise RepositoryError("lost+found: Permission denied")
            yield from super().list(prefix)

    back_up_tree(make_repository(LocalStorage(str(tmp_path / "repository"))), tree)
    report = run(Barred(str(tmp_path / "repository")))
    assert (report.ok, report.around.stray_names) == (True, ("notes.txt",))


def test_what_lies_aside_is_counted(storage: Watched) -> None:
    storage.objects["aside/packs/aa/" + "a" * 32] = bytes(100)
    storage.objects["aside/20261130t101112z/index/" + "b" * 32] = bytes(10)
    around = run(storage).around
    assert (around.aside.count, around.aside.bytes, around.strays) == (2, 110, 0)


def test_packs_in_no_index_are_told_as_not_read(storage: Watched) -> None:
    repository = open_repository(storage, PASSWORD)
    session = repository.begin_write()
    session.put(ChunkKind.DATA, pattern(500_000, 9))
    known = set(storage.objects)
    session.flush()
    for name in set(storage.objects) - known:
        if "index/" in name:
            del storage.objects[name]
    report = run(storage, read_data=True)
    assert (report.ok, report.unreferenced_packs) == (True, 1)
    assert report.around.unlisted.bytes > 400_000
    assert report.proof.unread_packs == 0


def test_backups_and_packs_that_come_meanwhile_are_told(storage: Watched, tree: Path) -> None:
    """They are not in what was looked at, and the report says so; the next check has them."""
    (tree / "second").write_bytes(pattern(400_000, 2))
    storage.meanwhile = lambda: back_up_tree(open_repository(storage, PASSWORD), tree)
    report = run(storage, read_data=True)
    assert (report.ok, report.backups, report.late_backups) == (True, 1, 1)
    assert report.unreferenced_packs == 2
    after = run(storage, read_data=True)
    assert (after.ok, after.backups, after.late_backups, after.unreferenced_packs) == (True, 2, 0, 0)


def test_what_ended_keys_have_sealed_is_counted(storage: Watched, tree: Path) -> None:
    """3.2: packs and records that count, though a key from before the rotation sealed them; and what does not."""
    assert run(storage).around.retired.count == 0
    old = open_repository(storage, PASSWORD)
    rotate(keychain(storage), [PASSWORD])
    report = run(storage)
    assert (report.ok, report.around.retired.count) == (True, report.packs)
    assert report.around.retired.bytes == sum(
        len(data) for name, data in storage.objects.items() if name.startswith("packs/")
    )
    # Manifest and index segments; the sum is of objects, not of copies.
    assert report.older_objects >= 2
    assert report.disowned_objects == 0
    manifest = bytes.fromhex(old.backups()[0].object_id)
    old.store.put(ObjectKind.ANNOTATION, encode(AnnotationRecord(1, manifest, 1, "by an old password")))
    later = run(storage)
    assert (later.ok, later.older_objects, later.disowned_objects) == (True, report.older_objects, 1)


def test_a_copy_that_an_old_password_replaced_is_found(storage: Watched) -> None:
    """Who knows an ended key can seal another object of the same name; the rotation has listed what was there."""
    old = open_repository(storage, PASSWORD)
    (stored,) = old.backups()
    manifest = bytes.fromhex(stored.object_id)
    names = (stored.name, "copies/" + stored.name)
    payload = old.store.read(ObjectKind.MANIFEST, manifest)
    whole = {name: storage.objects[name] for name in names}
    rotate(keychain(storage), [PASSWORD])
    for victims in (names[:1], names[1:], names):
        for name in names:
            storage.objects.pop(name, None)
        old.store.put(ObjectKind.MANIFEST, payload, manifest)
        forged = {name: storage.objects[name] for name in names}
        storage.objects.update(whole | {name: forged[name] for name in victims})
        problems = {problem.object: problem.message for problem in run(storage).problems}
        assert problems.keys() == set(victims)
        assert all("it was replaced" in message for message in problems.values())


def test_a_pack_that_vanishes_after_it_was_read_is_told(storage: Watched) -> None:
    name = max((name for name in storage.objects if name.startswith("packs/")), key=lambda each: storage.size(each))

    class Losing(MemoryStorage):
        def get(self, name: str, offset: int = 0, length: int | None = None) -> bytes:
            data = super().get(name, offset, length)
            if name == lost:
                del self.objects[name]
            return data

    lost, losing = name, Losing()
    losing.objects.update(storage.objects)
    report = run(losing, read_data=True)
    assert report.proof.read_packs == report.packs
    assert [problem.object for problem in report.problems] == [name]
    assert run(losing).hurt

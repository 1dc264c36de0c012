"""Packs that vanish from the medium: every later backup stores their content again, with a check before or without.

Nothing that is not in the repository may be claimed to be backed up (promise 1).
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from repositories.engine.backup import Hooks
from repositories.engine.check import CheckRequest, check
from repositories.engine.errors import IntegrityError, SourceEmptyError
from repositories.engine.ids import ChunkKind
from repositories.engine.repository import Repository, open_repository
from repositories.engine.storage.memory import MemoryStorage
from tests.engine.contents import SMALL_PACKS, nothing
from tests.engine.repositories import PASSWORD, back_up_tree, make_repository, restore_latest
from tests.engine.trees import pattern

Harm = Callable[[MemoryStorage, str], None]


def remove(storage: MemoryStorage, name: str) -> None:
    del storage.objects[name]


def cut(storage: MemoryStorage, name: str) -> None:
    storage.objects[name] = storage.objects[name][:-1]


def empty(storage: MemoryStorage, name: str) -> None:
    storage.objects[name] = b""


def lengthen(storage: MemoryStorage, name: str) -> None:
    storage.objects[name] += b"\0"


@pytest.fixture
def storage() -> MemoryStorage:
    return MemoryStorage()


@pytest.fixture
def repository(storage: MemoryStorage, tmp_path: Path) -> Repository:
    repository = make_repository(storage)
    tree = tmp_path / "tree"
    (tree / "sub").mkdir(parents=True)
    (tree / "a").write_bytes(b"alpha")
    (tree / "sub" / "b").write_bytes(pattern(700_000, 3))
    back_up_tree(repository, tree)
    return repository


def harm_packs(storage: MemoryStorage, harm: Harm) -> None:
    for name in [each for each in storage.objects if each.startswith("packs/")]:
        harm(storage, name)


def require_restorable(repository: Repository, tmp_path: Path) -> None:
    result = restore_latest(repository, tmp_path / "out")
    assert (result.exit_code, result.files) == (0, 2)
    assert (tmp_path / "out" / "a").read_bytes() == b"alpha"
    assert (tmp_path / "out" / "sub" / "b").read_bytes() == pattern(700_000, 3)


@pytest.mark.parametrize("harm", [remove, cut, empty, lengthen], ids=lambda harm: str(harm.__name__))
@pytest.mark.parametrize("source", ["tree", "brandnew"])
def test_a_backup_stores_again_what_lay_in_absent_packs(
    storage: MemoryStorage, repository: Repository, tmp_path: Path, harm: Harm, source: str
) -> None:
    harm_packs(storage, harm)
    again = open_repository(storage, PASSWORD)
    result = back_up_tree(again, tmp_path / "tree", name=source)
    assert result.new_chunks >= 3
    require_restorable(open_repository(storage, PASSWORD), tmp_path)


def test_a_check_of_structure_remembers_absent_packs(
    storage: MemoryStorage, repository: Repository, tmp_path: Path
) -> None:
    del repository
    harm_packs(storage, remove)
    for _ in range(2):
        report = check(open_repository(storage, PASSWORD), CheckRequest(), Hooks())
        assert report.exit_code == 13
        assert report.remembered
        assert len([each for each in storage.objects if each.startswith("damage/")]) == report.packs == 2
    back_up_tree(open_repository(storage, PASSWORD), tmp_path / "tree")
    require_restorable(open_repository(storage, PASSWORD), tmp_path)


def test_an_emptied_source_is_refused_though_its_backup_cannot_be_read(
    storage: MemoryStorage, repository: Repository, tmp_path: Path
) -> None:
    del repository
    harm_packs(storage, remove)
    (tmp_path / "empty").mkdir()
    with pytest.raises(SourceEmptyError):
        back_up_tree(open_repository(storage, PASSWORD), tmp_path / "empty")


def test_packs_of_a_writer_that_commits_while_a_session_begins_are_not_lost(
    storage: MemoryStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The packs are listed after the index, so that no pack which a listed segment names can be missing by chance."""
    repository = make_repository(storage)
    other = open_repository(storage, PASSWORD)
    order: list[str] = []
    listing = MemoryStorage.list

    def watched(self: MemoryStorage, prefix: str) -> object:
        order.append(prefix)
        if prefix == "packs/" and order.count("packs/") == 1:
            with other.begin_write(SMALL_PACKS) as beside:
                beside.put(ChunkKind.DATA, b"beside")
                beside.commit(b"root", nothing)
        return listing(self, prefix)

    monkeypatch.setattr(MemoryStorage, "list", watched)
    with repository.begin_write(SMALL_PACKS) as session:
        assert order.index("index/") < order.index("packs/")
        assert session.absent_packs == frozenset()


def test_the_start_of_a_session_lists_the_packs_once_and_reads_none(
    storage: MemoryStorage, repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    for method in ("list", "get", "size"):
        original = getattr(MemoryStorage, method)

        def watched(self: MemoryStorage, name: str, *rest: int, original: Callable[..., object] = original) -> object:
            asked.append(name)
            return original(self, name, *rest)

        monkeypatch.setattr(MemoryStorage, method, watched)
    with repository.begin_write(SMALL_PACKS):
        assert [name for name in asked if name.startswith("packs/")] == ["packs/"]


def test_what_a_session_could_not_read_it_stores_again(storage: MemoryStorage) -> None:
    """Damage that no size tells, met in what describes a parent: nothing new may refer to it."""
    repository = make_repository(storage)
    stored: dict[ChunkKind, bytes] = {}
    for kind in (ChunkKind.PAGE, ChunkKind.STREAM):
        with repository.begin_write(SMALL_PACKS) as session:
            stored[kind] = session.put(kind, b"content")[0]
            session.commit(b"root", nothing)
    for pack in repository.reader().index.packs().values():
        if b"\3" in pack.blocks[0].table[4:5]:
            name = f"packs/{pack.pack_id.hex()[:2]}/{pack.pack_id.hex()}"
            storage.objects[name] = bytes(len(storage.objects[name]))
    with open_repository(storage, PASSWORD).begin_write(SMALL_PACKS) as session:
        assert session.has(ChunkKind.STREAM, stored[ChunkKind.STREAM])
        with pytest.raises(IntegrityError):
            session.reader().read(ChunkKind.STREAM, stored[ChunkKind.STREAM])
        assert not session.has(ChunkKind.STREAM, stored[ChunkKind.STREAM])
        assert session.has(ChunkKind.PAGE, stored[ChunkKind.PAGE]), "it lies in another pack"
        assert session.put(ChunkKind.STREAM, b"content")[1]
        session.flush()
        session.distrust_metadata()
        assert not session.has(ChunkKind.PAGE, stored[ChunkKind.PAGE])
        assert session.has(ChunkKind.STREAM, stored[ChunkKind.STREAM]), "its own packs are to be trusted"
    reader = open_repository(storage, PASSWORD).reader()
    assert reader.read(ChunkKind.STREAM, stored[ChunkKind.STREAM]) == b"content"

"""Which packs are not there as they were put: one listing, compared by id and length (4.3, guarantee 3)."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repositories.engine.format.kinds import ObjectKind, object_id_of, object_name, sizes_by_id
from repositories.engine.ids import ChunkKind
from repositories.engine.repository import Repository, open_repository
from repositories.engine.sessions import presence
from repositories.engine.sessions.presence import absent_packs, pack_sizes
from repositories.engine.storage.local import LocalStorage
from repositories.engine.storage.memory import MemoryStorage
from tests.engine.contents import SMALL_PACKS, nothing
from tests.engine.repositories import PASSWORD, local_repository

ID = "0123456789abcdef" * 2
IDS = st.binary(min_size=16, max_size=16).map(bytes.hex)
STRAYS = ["", "x", ID[:-1], ID + "0", ID.upper(), f"{ID[:-1]} ", f"{ID}\n{ID}", f"{ID[:30]}\n0", f" {ID}", "²" * 32]


def pack_id(number: int) -> bytes:
    return bytes([number]) * 16


@pytest.mark.parametrize("stray", STRAYS)
@pytest.mark.parametrize("beside", [0, 1, 3])
def test_names_that_are_not_ours_are_left_out(stray: str, beside: int) -> None:
    """However they look to a parser of hexadecimal digits, which takes capitals and white space."""
    ours = {pack_id(number).hex(): number for number in range(beside)}
    expected = {pack_id(number): number for number in range(beside)}
    assert sizes_by_id({**ours, stray: 9}) == sizes_by_id({stray: 9, **ours}) == expected
    assert object_id_of(stray) is None


@given(
    st.dictionaries(st.one_of(st.binary(min_size=16, max_size=16).map(bytes.hex), st.text(max_size=40)), st.integers())
)
def test_portions_give_what_each_name_gives_alone(sizes: dict[str, int]) -> None:
    sizes = {name.replace("/", ""): size for name, size in sizes.items()}
    alone = {object_id_of(name): size for name, size in sizes.items()}
    alone.pop(None, None)
    assert sizes_by_id(sizes) == alone


@pytest.mark.parametrize("kind", ["memory", "local"])
def test_missing_and_cut_packs_are_named(kind: str, tmp_path: object) -> None:
    storage = MemoryStorage() if kind == "memory" else LocalStorage(str(tmp_path))
    for number in range(4):
        storage.put(object_name(ObjectKind.PACK, pack_id(number)), bytes(100 + number))
    storage.put("packs/00/notes.txt", b"a stray")
    assert pack_sizes(storage) == {pack_id(number): 100 + number for number in range(4)}
    named = [(pack_id(0), 100), (pack_id(1), 101), (pack_id(2), 999), (pack_id(9), 109)]
    assert absent_packs(storage, named) == {pack_id(2), pack_id(9)}
    assert absent_packs(storage, iter(named[:2]), iter([(pack_id(3), 0)])) == {pack_id(3)}


def stored(repository: Repository, data: bytes) -> tuple[bytes, Path]:
    """Store one chunk in a pack of its own; return its id, and where the pack lies."""
    assert isinstance(repository.storage, LocalStorage)
    packs = Path(repository.storage.path, "packs")
    before = set(packs.rglob("*"))
    with repository.begin_write(SMALL_PACKS) as session:
        chunk_id = session.put(ChunkKind.DATA, data)[0]
        session.commit(b"root", nothing)
    return chunk_id, next(each for each in packs.rglob("*") if each not in before and each.is_file())


def cut(pack: Path) -> None:
    pack.chmod(0o600)
    pack.write_bytes(pack.read_bytes()[:-1])


def test_what_lies_in_a_cut_pack_is_stored_again_however_late_that_is_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Promise 1: a chunk counts as stored only if its pack is there as it was put, also among very many packs.

    A session on a million packs begins without a look at each of them (engine.md, 8, scale).
    """
    monkeypatch.setattr(presence, "MANY", 0)
    repository = local_repository(tmp_path / "repository")
    whole, _ = stored(repository, b"whole")
    damaged, pack = stored(repository, b"damaged")
    gone, missing = stored(repository, b"gone")
    again = open_repository(repository.storage, PASSWORD)
    cut(pack)
    missing.unlink()
    with again.begin_write(SMALL_PACKS) as session:
        assert session.absent_packs == frozenset(), "none was looked at yet"
        assert [session.has(ChunkKind.DATA, each) for each in (whole, damaged, gone)] == [True, False, False]
        assert [session.put(ChunkKind.DATA, each)[1] for each in (b"whole", b"damaged", b"gone")] == [False, True, True]
        session.commit(b"root", nothing)
        assert session.has(ChunkKind.DATA, damaged), "its own packs need no look"
        assert session.reader().index.found_absent == {bytes.fromhex(each.name) for each in (pack, missing)}
    reader = open_repository(repository.storage, PASSWORD).reader()
    assert [reader.read(ChunkKind.DATA, each) for each in (whole, damaged, gone)] == [b"whole", b"damaged", b"gone"]


def test_a_second_place_that_was_not_looked_at_yet_is_not_believed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(presence, "MANY", 0)
    repository = local_repository(tmp_path / "repository")
    chunk_id, first = stored(repository, b"content")
    cut(first)
    again = open_repository(repository.storage, PASSWORD)
    assert stored(again, b"content")[0] == chunk_id
    for pack in Path(tmp_path, "repository", "packs").rglob("*"):
        if pack.is_file() and pack != first:
            cut(pack)
    with open_repository(repository.storage, PASSWORD).begin_write(SMALL_PACKS) as session:
        assert not session.has(ChunkKind.DATA, chunk_id)


def test_far_away_very_many_packs_are_listed_all_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """There a look at one takes as long as a page of a listing."""
    monkeypatch.setattr(presence, "MANY", 0)
    monkeypatch.setattr(LocalStorage, "looks_are_cheap", False)
    repository = local_repository(tmp_path / "repository")
    _, pack = stored(repository, b"content")
    cut(pack)
    with open_repository(repository.storage, PASSWORD).begin_write(SMALL_PACKS) as session:
        assert session.absent_packs == {bytes.fromhex(pack.name)}

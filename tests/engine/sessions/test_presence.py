"""Which packs are not there as they were put: one listing, compared by id and length (4.3, guarantee 3)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repositories.engine.format.kinds import ObjectKind, object_id_of, object_name, sizes_by_id
from repositories.engine.sessions.presence import absent_packs, pack_sizes
from repositories.engine.storage.local import LocalStorage
from repositories.engine.storage.memory import MemoryStorage

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

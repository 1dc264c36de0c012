"""The plan: which packs go, which are packed anew, which are left alone."""

import pytest

from repositories.engine.packs.directory import PackClass
from repositories.engine.prune import PackUse, PrunePlan
from repositories.engine.prune.planning import make_plan

TARGET = 1000


def pack(number: int, length: int, used: int, **changes: object) -> PackUse:
    fields: dict[str, object] = {"pack_class": PackClass.DATA} | changes
    return PackUse(bytes([number]) * 16, length=length, used=used, **fields)  # type: ignore[arg-type]


def plan(*packs: PackUse, max_unused: float = 0.1) -> PrunePlan:
    return make_plan(packs, max_unused, TARGET)


def numbers(packs: tuple[PackUse, ...]) -> list[int]:
    return [each.pack_id[0] for each in packs]


def test_what_nothing_uses_goes() -> None:
    made = plan(pack(1, 1000, 0), pack(2, 1000, 1000), pack(3, 50, 0, listed=False))
    assert (numbers(made.delete), made.repack) == ([1, 3], ())
    assert (made.packs, made.bytes, made.unused_before, made.unused_after) == (3, 2050, 1050, 0)
    assert made.bytes_to_free == 1050


def test_the_worst_are_repacked_until_little_enough_is_unused() -> None:
    packs = [pack(1, 1000, 900), pack(2, 1000, 100), pack(3, 1000, 500), pack(4, 1000, 1000)]
    assert numbers(plan(*packs, max_unused=0.5).repack) == []
    assert numbers(plan(*packs, max_unused=0.2).repack) == [2]
    assert numbers(plan(*packs, max_unused=0.05).repack) == [2, 3]
    everything = plan(*packs, max_unused=0.0)
    assert numbers(everything.repack) == [2, 3, 1]
    assert everything.unused_after == 0
    assert (everything.bytes_to_read, everything.bytes_to_free) == (1500, 1500)


@pytest.mark.parametrize("changes", [{"spared": True}, {"whole": False}])
def test_what_must_be_left_alone_is_not_repacked(changes: dict[str, object]) -> None:
    assert plan(pack(1, 1000, 10, **changes), max_unused=0.0).repack == ()


def test_nobody_takes_what_a_running_backup_may_need() -> None:
    made = plan(pack(1, 1000, 0, spared=True), pack(2, 10, 0, listed=False, spared=True), pack(3, 1000, 1000))
    assert (made.delete, made.spared) == ((), 2)


def test_small_packs_of_one_class_are_merged_when_they_fill_half_of_one() -> None:
    small = [pack(number, 200, 200) for number in range(1, 4)]
    assert numbers(plan(*small).repack) == [1, 2, 3]
    assert plan(*small[:2]).repack == ()
    pages = pack(4, 200, 200, pack_class=PackClass.METADATA)
    assert plan(*small[:2], pages).repack == ()
    assert plan(pack(1, 250, 250), pack(2, 250, 250), pack(3, 250, 250)).repack == (), "a quarter is left alone"


def test_old_keys_are_replaced_over_time() -> None:
    packs = [pack(number, 1000, 1000, retired=number < 8) for number in range(1, 21)]
    assert numbers(plan(*packs).repack) == [1, 2]
    assert plan(*packs[7:]).repack == ()

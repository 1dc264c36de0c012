"""Ids by number: the short way for who asks in order gives what the long way gives."""

import random

from repositories.engine.index.id_table import IdTable


def test_any_number_of_an_id_is_one_of_its_numbers_in_whatever_order_is_asked() -> None:
    """In the order of adding, backwards, at random, with ids that came several times and such that never came."""
    chance = random.Random(5)
    known = [chance.randbytes(8) for _ in range(300)]
    added = [*known, *chance.choices(known, k=60)]
    table = IdTable(8)
    table.extend(b"".join(added[:200]))
    table.extend(b"".join(added[200:]))
    for asked in (added, added[::-1], chance.sample(added, len(added)), [each for each in known for _ in range(2)]):
        for wanted in asked:
            number = table.find_any(wanted)
            assert number is not None
            assert number in list(table.numbers(wanted))
            assert table.at(number) == wanted
            assert table.find_any(chance.randbytes(8)) is None
    assert table.find_any(added[-1]) is not None

"""Ids by number: the short way for who asks in order gives what the long way gives."""

import random

from repositories.engine.index.id_table import IdTable


def test_the_short_way_finds_what_the_long_way_finds_in_whatever_order_is_asked() -> None:
    """In the order of adding, backwards, at random, with ids that came several times and such that never came."""
    chance = random.Random(5)
    known = [chance.randbytes(8) for _ in range(300)]
    for added in (known, [*known, *chance.choices(known, k=60)]):
        table = IdTable(8)
        table.extend(b"".join(added[:200]))
        table.extend(b"".join(added[200:]))
        for asked in (added, added[::-1], chance.sample(added, len(added)), [each for each in known for _ in range(2)]):
            for wanted in asked:
                number = table.find_near(wanted)
                assert number is not None
                assert number == table.find(wanted)
                assert table.find_near(chance.randbytes(8)) is None

"""What is kept of looks at a repository: bounded, never lower, and whole when several look at once (3.14)."""

import msgspec

from repositories.engine.high_water import (
    BACKUPS_KEPT,
    MANIFESTS_KEPT,
    SLOTS_KEPT,
    HighWater,
    SeenBackup,
    confirmed,
    merge,
)


def test_numbers_only_rise_within_a_generation() -> None:
    kept = HighWater(2, 7, ("a",), 8)
    assert merge(kept, HighWater(2, 5, ("a", "b"), 9)) == HighWater(2, 7, ("a", "b"), 9)
    assert merge(kept, HighWater(3, 6, ("a",), 6)) == HighWater(3, 6, ("a",), 6)


def test_the_memory_is_bounded() -> None:
    manifests = tuple(f"{number:032x}" for number in range(MANIFESTS_KEPT + 5))
    slots = tuple(f"{number:032x}" for number in range(SLOTS_KEPT + 5))
    state = merge(HighWater(1, 0, slots=slots), HighWater(1, 0, manifests))
    assert state.manifests == manifests[-MANIFESTS_KEPT:]
    assert state.ended_slots == slots[-SLOTS_KEPT:]


def test_slots_that_are_gone_have_ended_and_a_rotation_begins_anew() -> None:
    first = HighWater(1, slots=("a", "b"))
    second = merge(first, HighWater(1, slots=("b", "c")))
    assert (second.slots, second.ended_slots) == (("b", "c"), ("a",))
    assert merge(second, HighWater(1, slots=("b",))).ended_slots == ("a", "c")
    assert merge(second, HighWater(2, slots=("d",))) == HighWater(2, slots=("d",))


def test_what_another_process_saw_meanwhile_stays() -> None:
    """A long backup looks at its end; what others have kept since it began is newer than its own beginning."""
    before = HighWater(1, 3, ("a",), 3, ("s",))
    kept = HighWater(1, 4, ("a", "b"), 5, ("s", "t"), ("r",))
    assert merge(before, HighWater(1, 3, ("a", "c"), 3, ("s",)), kept) == HighWater(
        1, 4, ("a", "c", "b"), 5, ("s", "t"), ("r",)
    )


def test_what_was_seen_under_older_keys_adds_no_number_to_newer_ones() -> None:
    before, kept = HighWater(1, 9, ("a",), 9, ("s",)), HighWater(2, 1, ("a", "b"), 1, ("t",))
    assert merge(before, HighWater(1, 9, ("a", "c"), 9), kept) == HighWater(2, 1, ("a", "c", "b"), 1, ("t",))


def test_a_memory_that_was_confirmed_meanwhile_begins_anew() -> None:
    before, now = HighWater(2, 9, ("a", "b"), 9, ("s",)), HighWater(1, 1, ("a",), 1, ("r",))
    assert merge(before, now, HighWater()) == now


def test_a_number_that_was_given_up_stays_known() -> None:
    kept = confirmed(HighWater(1, 3, fence=5), HighWater(1, 3, fence=3))
    assert (kept, kept.highest_number) == (HighWater(1, 3, fence=3, given_up=5), 5)
    assert merge(kept, HighWater(1, 4, fence=4)) == HighWater(1, 4, fence=4, given_up=5)
    assert merge(kept, HighWater(2, 4, fence=4)) == HighWater(2, 4, fence=4, given_up=5)
    assert confirmed(HighWater(1, 3, fence=3), HighWater(1, 3, fence=4)).given_up == 0


def seen(number: int, source: str = "home") -> SeenBackup:
    return SeenBackup(f"{number:032x}", f"{number:08x}", source, number)


def looked(*backups: SeenBackup) -> HighWater:
    return HighWater(1, manifests=tuple(each.manifest_id for each in backups), backups=backups)


def test_of_each_source_the_newest_backups_are_known() -> None:
    """A source that is backed up every minute does not push out one that is backed up every month."""
    monthly = seen(1, "archive")
    minutes = [seen(10 + number) for number in range(BACKUPS_KEPT + 3)]
    state = merge(HighWater(), looked(monthly, *minutes))
    assert state.backups == (monthly, *minutes[3:])
    assert len(state.manifests) == BACKUPS_KEPT + 4


def test_what_is_known_of_backups_goes_with_their_manifests() -> None:
    """Those that others have seen meanwhile stay; what is deleted and gone is forgotten."""
    before, kept = looked(seen(1), seen(2)), looked(seen(1), seen(2), seen(4))
    assert merge(before, looked(seen(2), seen(3)), kept).backups == (seen(2), seen(3), seen(4))
    assert merge(before, HighWater(2, manifests=(seen(2).manifest_id,))).backups == (seen(2),)
    assert confirmed(kept, looked(seen(1))).backups == (seen(1),)


def test_it_goes_through_json_and_older_memories_are_read() -> None:
    state = looked(seen(1), seen(2, "archive"))
    assert msgspec.json.decode(msgspec.json.encode(state), type=HighWater) == state
    assert msgspec.convert(msgspec.to_builtins(state), HighWater) == state
    older = b'{"generation":1,"sweep":0,"manifests":["a"],"fence":2,"slots":[],"ended_slots":[],"given_up":0}'
    assert msgspec.json.decode(older, type=HighWater) == HighWater(1, 0, ("a",), 2)

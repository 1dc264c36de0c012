"""Tombstones of what is gone are merged, and nothing is deleted, undeleted or lost by that (3.3)."""

import random
from dataclasses import dataclass, field

import pytest

from repositories.engine.format.notes import TombstoneRecord
from repositories.engine.retention import merging
from repositories.engine.retention.merging import SEVERAL, idle, mergeable
from repositories.engine.retention.standing import deletions

Tombstones = dict[bytes, TombstoneRecord]


def name(number: int) -> bytes:
    return number.to_bytes(16, "big")


def tombstones(*deleted: tuple[int, ...], first: int = 1000) -> Tombstones:
    """Return one tombstone for each of these groups of manifests."""
    return {
        name(first + number): TombstoneRecord(tuple(map(name, each)), number, "") for number, each in enumerate(deleted)
    }


def singles(count: int) -> Tombstones:
    return tombstones(*((number,) for number in range(count)))


def test_one_stands_for_all_whose_manifests_are_gone() -> None:
    merger = mergeable(singles(SEVERAL), [])
    assert merger is not None
    assert merger.manifests == tuple(map(name, range(SEVERAL)))
    assert merger.replaced == singles(SEVERAL).keys()


def test_a_few_are_left_alone() -> None:
    assert mergeable(singles(SEVERAL - 1), []) is None


def test_what_names_a_manifest_that_is_there_stays() -> None:
    merger = mergeable(singles(SEVERAL + 1), [name(3)])
    assert merger is not None
    assert name(1003) not in merger.replaced
    assert name(3) not in merger.manifests


def test_a_manifest_that_was_taken_back_and_is_gone_stays_a_loss() -> None:
    undone = {name(5000): TombstoneRecord((name(3),), 0, "", undoes=name(1003))}
    merger = mergeable(singles(SEVERAL + 1) | undone, [])
    assert merger is not None
    assert name(3) not in merger.manifests
    assert merger.replaced.isdisjoint({name(1003), name(5000)})


def test_a_second_deletion_settles_what_was_taken_back_once() -> None:
    undone = {name(5000): TombstoneRecord((name(3),), 0, "", undoes=name(1003))}
    again = tombstones((3,), first=6000)
    merger = mergeable(singles(SEVERAL) | undone | again, [])
    assert merger is not None
    assert {name(1003), name(6000)} <= merger.replaced
    assert name(5000) not in merger.replaced, "it goes once what it undoes has gone"


def test_what_undoes_goes_only_when_the_undone_is_gone_from_the_medium() -> None:
    held = tombstones((3,)) | {name(5000): TombstoneRecord((name(3),), 0, "", undoes=name(1000))}
    assert idle(held, [name(1000), name(5000)]) == frozenset()
    assert idle({name(5000): held[name(5000)]}, [name(1000), name(5000)]) == frozenset(), "it cannot be read, but is"
    assert idle({name(5000): held[name(5000)]}, [name(5000)]) == {name(5000)}


def test_full_ones_are_merged_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(merging, "FULL", 40)
    held = tombstones(tuple(range(100, 120)), *((number,) for number in range(60)))
    merger = mergeable(held, [])
    assert merger is not None
    assert len(merger.manifests) == 40
    assert name(1000) not in merger.replaced


@dataclass
class Life:
    """A medium that is forgotten, undeleted, swept and merged on at random."""

    chance: random.Random
    there: set[bytes] = field(default_factory=lambda: set(map(name, range(60))))
    held: Tombstones = field(default_factory=dict)
    lost: set[bytes] = field(default_factory=set)
    swept: set[bytes] = field(default_factory=set)
    number: int = 1000
    merged: int = 0

    def put(self, record: TombstoneRecord) -> None:
        self.number += 1
        self.held[name(self.number)] = record

    def step(self) -> None:
        match self.chance.randrange(9):
            case 0 | 1 | 2 | 3 if self.there:
                some = self.chance.sample(sorted(self.there), min(len(self.there), self.chance.randrange(1, 4)))
                self.put(TombstoneRecord(tuple(some), self.number, ""))
            case 4 if in_force := deletions(self.held):
                manifest = self.chance.choice(sorted(in_force))
                for each in in_force[manifest]:
                    self.put(TombstoneRecord((manifest,), self.number, "", undoes=each.tombstone_id))
                # Undone after the sweep: the prune says once more that it is gone on purpose.
                if manifest in self.swept:
                    self.put(TombstoneRecord((manifest,), self.number, "affirmed"))
            case 5 if self.there:
                gone = {self.chance.choice(sorted(self.there))} - deletions(self.held).keys()
                self.lost |= gone
                self.there -= gone
            case 6 | 7:
                deleted = deletions(self.held).keys() & self.there
                self.swept |= deleted
                self.there -= deleted
            case _:
                self.prune()

    def prune(self) -> None:
        """Remove as a prune does; it dies at a random removal, and another one goes on later."""
        self.remove(idle(self.held, self.held))
        merger = mergeable(self.held, self.there)
        if merger is not None:
            self.merged += 1
            self.put(TombstoneRecord(merger.manifests, 0, "merged"))
            self.remove(merger.replaced)

    def remove(self, ids: frozenset[bytes]) -> None:
        for each in self.chance.sample(sorted(ids), self.chance.randrange(len(ids) + 1)):
            before = set(deletions(self.held))
            del self.held[each]
            assert set(deletions(self.held)) == before, "what is deleted never changes"

    def require_true(self) -> None:
        in_force = deletions(self.held).keys()
        assert self.swept <= in_force
        assert self.lost.isdisjoint(in_force)


def test_no_removal_ever_changes_what_is_deleted() -> None:
    merged = 0
    for seed in range(20):
        life = Life(random.Random(seed))
        for _ in range(120):
            life.step()
            life.require_true()
        merged += life.merged
    assert merged > 20

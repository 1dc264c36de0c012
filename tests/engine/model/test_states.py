"""Every interleaving of writers, prunes, a rotation and whoever deletes or holds backups: small configurations (3.8).

What must hold in every state: a manifest that counts has all its chunks, in packs that are there and that a live index
segment lists; what was told as committed counts; what was told as refused is not there; what was told to be back or
held is not taken. The larger configurations take minutes: tests/long/rotation_model.py.
"""

from typing import Any

import pytest

from tests.engine.model.exploring import explore
from tests.engine.model.medium import Objects
from tests.engine.model.noting import Noter
from tests.engine.model.pruning import Prune
from tests.engine.model.rotating import Remover, Rotation
from tests.engine.model.start import FIRST
from tests.engine.model.writer import Writer

QUICK = ("quick",)
SMALL: dict[str, tuple[Objects, tuple[Any, ...]]] = {
    "a writer and a prune": (FIRST, (Writer("w", ("split",)), Prune("p"))),
    "a writer that merges segments": (FIRST, (Writer("w", ("merges",)), Prune("p"))),
    "a writer that adopts packs": (FIRST, (Writer("w", ("adopts",)), Prune("p"))),
    "a checkpoint": (FIRST, (Writer("w", ("checkpoint",)), Prune("p"))),
    "a checkpoint in haste": (FIRST, (Writer("w", ("in haste",)), Prune("p"))),
    "a full medium": (FIRST, (Writer("w"), Prune("p", ("full", "old")))),
    "a prune that repacks": (FIRST, (Writer("w"), Prune("p", ("repacks",)))),
    "a prune that sleeps beside another": (FIRST, (Prune("p", ("repacks",)), Prune("q"))),
    "two prunes on a full medium": (FIRST, (Prune("p", ("repacks", "full")), Prune("q", ("full", "old")))),
    "a writer and a rotation that is taken for dead": (FIRST, (Writer("w"), Rotation(), Remover())),
    "a prune and a rotation": (FIRST, (Prune("p"), Rotation(), Remover())),
    "a deletion and an undelete": (FIRST, (Prune("p"), Noter("f", "forget", ("kept",)), Noter("u", "undelete"))),
    "a deletion and a hold": (FIRST, (Prune("p"), Noter("f", "forget"), Noter("h", "hold"))),
}


@pytest.mark.parametrize("name", SMALL)
def test_every_interleaving(name: str) -> None:
    medium, processes = SMALL[name]
    states, outcomes = explore(medium, *processes)
    assert states > 100
    for at in range(len(processes)):
        assert len({each[at] for each in outcomes}) > 1, "nobody stands still all the time"


def test_two_writers_and_a_prune() -> None:
    states, outcomes = explore(FIRST, Writer("v", QUICK), Writer("w", QUICK), Prune("p"), twins=True)
    assert states > 10_000
    assert {("committed", "refused"), ("committed", "committed")} <= {tuple(sorted(each[:2])) for each in outcomes}


def test_a_writer_a_prune_and_a_rotation() -> None:
    states, outcomes = explore(FIRST, Writer("w", QUICK), Prune("p"), Rotation())
    assert states > 10_000
    assert {("committed", "done", "done"), ("refused", "overtaken", "done")} <= outcomes


def test_what_is_put_after_the_mark_and_deleted() -> None:
    deleting = (Noter("f", "forget", ("w",)), Noter("u", "undelete", ("w",)))
    states, outcomes = explore(FIRST, Writer("w", QUICK), Prune("p", ("old",)), *deleting)
    assert states > 10_000
    assert {each[3] for each in outcomes} >= {"safe", "uncertain", "gone"}

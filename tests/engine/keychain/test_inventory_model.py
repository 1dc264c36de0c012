"""A prune that removes old inventories beside rotations that sleep, every interleaving (3.4, 3.8).

The rotations are those of test_rotation_model.py; here each puts an inventory together with its slots, and takes it
away when it withdraws. The prune's steps are those of prune/remains.py: list the inventories, then look at the keys,
and remove only after a quiet look. Without the inventory of the keyring in force nothing older would count any more.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import pytest

from tests.engine.keychain import test_rotation_model as rotations
from tests.engine.keychain.exploring import Exploration, Rules
from tests.engine.keychain.test_rotation_model import Finisher, Keyring, Remover, Rotation


@dataclass(frozen=True)
class Medium(rotations.Medium):
    """With the inventories of rotations, by the ids of these."""

    inventories: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Prune:
    """`order` are its steps after the opening; an unready one removes whatever it sees."""

    order: tuple[str, ...] = ("list", "announcements", "intents", "keyrings", "remove")
    step: int = 0
    keyring: Keyring = field(default_factory=lambda: Keyring(0, ""))
    listed: frozenset[str] = frozenset()
    outcome: str = ""


Process: TypeAlias = Rotation | Finisher | Remover | Prune


def sweep_out(medium: Medium, prune: Prune) -> tuple[Medium, Prune]:
    generation = prune.keyring.generation
    match "open" if not prune.step else prune.order[prune.step - 1]:
        case "open":
            prune = replace(prune, keyring=medium.newest())
        case "list":
            prune = replace(prune, listed=medium.inventories - {prune.keyring.id})
        case "announcements" if medium.announced:
            return medium, replace(prune, outcome="waits")
        case "intents" if any(each.generation > generation for each in medium.intents):
            return medium, replace(prune, outcome="waits")
        case "keyrings" if medium.newest().generation > generation:
            return medium, replace(prune, outcome="overtaken")
        case "remove":
            medium = replace(medium, inventories=medium.inventories - prune.listed)
    done = prune.step == len(prune.order)
    return medium, replace(prune, step=prune.step + 1, outcome="done" if done else "")


def moves(medium: Medium, process: Process) -> Iterator[tuple[Medium, Process]]:
    if isinstance(process, Prune):
        yield sweep_out(medium, process)
        return
    for changed, moved in rotations.moves(medium, process):
        assert isinstance(changed, Medium)
        assert not isinstance(moved, rotations.Writer)
        if isinstance(moved, Rotation) and process.step == 6:
            changed = replace(changed, inventories=changed.inventories | {moved.name})
        if isinstance(moved, Rotation) and moved.outcome == "withdrawn":
            changed = replace(changed, inventories=changed.inventories - {moved.name})
        yield changed, moved


def require_inventory(medium: Medium) -> None:
    newest = medium.newest().id
    assert newest in medium.inventories | {"first"}, f"the inventory in force is gone: {medium}"


def explore(*processes: Process) -> tuple[int, set[tuple[str, ...]]]:
    return Exploration(Rules(moves, require_inventory, lambda *_: None), Medium(), processes).run()


def test_the_inventory_in_force_is_never_removed() -> None:
    states, outcomes = explore(Rotation("q"), Rotation("r"), Remover(), Finisher(), Prune())
    assert states > 20_000
    assert {each[4] for each in outcomes} == {"", "waits", "overtaken", "done"}
    assert any(each[0] == "undecided" and each[1] == "done" and each[4] == "done" for each in outcomes)


def test_two_prunes_and_a_rotation_that_is_taken_for_dead() -> None:
    states, outcomes = explore(Rotation("r"), Remover(), Finisher(), Prune(), Prune())
    assert states > 10_000
    assert ("withdrawn", "removed", "", "done", "done") in outcomes


@pytest.mark.parametrize(
    "order",
    [
        ("announcements", "intents", "keyrings", "list", "remove"),
        ("list", "keyrings", "remove"),
        ("list", "announcements", "keyrings", "remove"),
        ("list", "intents", "announcements", "keyrings", "remove"),
    ],
    ids=["the list last", "keyrings alone", "no look at intents", "intents before announcements"],
)
def test_the_model_finds_what_is_left_out(order: tuple[str, ...]) -> None:
    with pytest.raises(AssertionError, match="the inventory in force is gone"):
        explore(Rotation("r"), Remover(), Finisher(), Prune(order))

"""A deletion, a hold, an undelete and a prune of one backup as a state model: every interleaving, each may stop.

What is claimed: a backup that was told to be held or back is never taken by the prune, whoever did what meanwhile; and
what was taken is known as deleted, unless the one who undid the deletion too late died before it could look.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any


@dataclass(frozen=True)
class World:
    """The objects on the medium that speak of one backup; `taken`: what the sweep says, None before it is put."""

    tombstones: frozenset[str] = frozenset()
    undone: frozenset[str] = frozenset()
    held: bool = False
    marked: bool = False
    taken: bool | None = None
    removed: bool = False

    @property
    def buried(self) -> bool:
        return bool(self.tombstones - self.undone)

    @property
    def deleted(self) -> bool:
        return self.buried and not self.held


@dataclass(frozen=True)
class Actor:
    """One process: the steps that are left, what it remembers, what it has told."""

    steps: tuple[str, ...]
    memory: Any = None
    told: str = ""


def stop(actor: Actor, told: str) -> Actor:
    return replace(actor, steps=(), told=told)


def plan(world: World, actor: Actor) -> tuple[World, Actor]:
    refused = world.held or world.buried or world.taken
    return world, stop(actor, "refused") if refused else actor


def put_tombstone(world: World, actor: Actor) -> tuple[World, Actor]:
    return replace(world, tombstones=world.tombstones | {"forget"}), actor


def look_for_holds(world: World, actor: Actor) -> tuple[World, Actor]:
    return world, actor if world.held else stop(actor, "deleted")


def find(world: World, actor: Actor) -> tuple[World, Actor]:
    return world, stop(actor, "refused") if world.deleted or world.taken else actor


def find_deleted(world: World, actor: Actor) -> tuple[World, Actor]:
    return world, actor if world.deleted and not world.taken else stop(actor, "refused")


def put_hold(world: World, actor: Actor) -> tuple[World, Actor]:
    return replace(world, held=True), actor


def read_tombstones(world: World, actor: Actor) -> tuple[World, Actor]:
    return world, replace(actor, memory=(world.tombstones - world.undone, bool(world.tombstones)))


def undo(world: World, actor: Actor) -> tuple[World, Actor]:
    in_force, _ = actor.memory
    return replace(world, undone=world.undone | in_force), actor


def look_for_marks(world: World, actor: Actor) -> tuple[World, Actor]:
    _, ever_deleted = actor.memory
    return world, replace(actor, memory=world.marked and world.taken is None and ever_deleted)


def look_for_sweep(world: World, actor: Actor) -> tuple[World, Actor]:
    if world.taken:
        return world, actor
    return world, stop(actor, "uncertain" if actor.memory else "safe")


def affirm(world: World, actor: Actor) -> tuple[World, Actor]:
    if world.tombstones and not world.buried:
        world = replace(world, tombstones=world.tombstones | {f"again {len(world.tombstones)}"})
    return world, replace(actor, told="gone")


def put_mark(world: World, actor: Actor) -> tuple[World, Actor]:
    return replace(world, marked=True), actor


def decide(world: World, actor: Actor) -> tuple[World, Actor]:
    return world, replace(actor, memory=world.deleted)


def put_sweep(world: World, actor: Actor) -> tuple[World, Actor]:
    return replace(world, taken=bool(actor.memory)), actor


def affirm_taken(world: World, actor: Actor) -> tuple[World, Actor]:
    return affirm(world, actor) if world.taken else (world, actor)


def remove(world: World, actor: Actor) -> tuple[World, Actor]:
    return replace(world, removed=bool(world.taken)), replace(actor, told="pruned")


Step = Callable[[World, Actor], tuple[World, Actor]]
DELETING: tuple[Step, ...] = (plan, put_tombstone, look_for_holds, find, find_deleted, put_hold, read_tombstones, undo)
LOOKING: tuple[Step, ...] = (look_for_marks, look_for_sweep, affirm, put_mark, decide, put_sweep, affirm_taken, remove)
STEPS = {each.__name__: each for each in (*DELETING, *LOOKING)}
TAKE_BACK = ("read_tombstones", "undo", "look_for_marks", "look_for_sweep", "affirm")
ACTORS = (
    Actor(("plan", "put_tombstone", "look_for_holds", *TAKE_BACK)),
    Actor(("find", "put_hold", *TAKE_BACK)),
    Actor(("find_deleted", *TAKE_BACK)),
    Actor(("put_mark", "decide", "put_sweep", "affirm_taken", "remove")),
)
State = tuple[World, tuple[Actor, ...]]


def after(state: State) -> Iterator[State]:
    """Yield what one step of any process leads to. One that has died is one that takes no step any more."""
    world, actors = state
    for number, actor in enumerate(actors):
        if actor.steps:
            changed, moved = STEPS[actor.steps[0]](world, replace(actor, steps=actor.steps[1:]))
            yield changed, (*actors[:number], moved, *actors[number + 1 :])


def explore() -> set[State]:
    start: State = (World(), ACTORS)
    seen, waiting = {start}, [start]
    while waiting:
        for state in after(waiting.pop()):
            if state not in seen:
                seen.add(state)
                waiting.append(state)
    return seen


def undoes_too_late(actor: Actor) -> bool:
    """Whether it has undone something, or is about to, and has not looked yet."""
    return bool(actor.steps) and actor.steps[-1] == "affirm" and len(actor.steps) < len(TAKE_BACK)


def test_every_interleaving() -> None:
    states = explore()
    told = set()
    for world, actors in states:
        told |= {(number, actor.told) for number, actor in enumerate(actors)}
        for actor in actors:
            assert not (actor.told == "safe" and world.taken), (world, actors)
        if world.removed and not any(map(undoes_too_late, actors)):
            assert world.buried, (world, actors)
    assert len(states) > 1000
    for number in (0, 1, 2):
        assert {(number, "safe"), (number, "uncertain"), (number, "gone")} <= told
    assert {(0, "deleted"), (0, "refused"), (1, "refused"), (3, "pruned")} <= told

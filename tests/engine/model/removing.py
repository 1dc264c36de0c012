"""A prune of the state model from its sweep on: repositories/engine/prune/removal.py, step by step."""

from collections.abc import Callable, Iterator

from tests.engine.model.deciding import Prune
from tests.engine.model.medium import (
    INDEX,
    MARK,
    NO_SWEEP,
    NOTE,
    NOTHING,
    SWEEP,
    Objects,
    Segment,
    Sweep,
    Tombstone,
    counted,
    deletions,
    guarded,
    known,
    live,
    of_kind,
    packs_of,
)
from tests.engine.model.program import Move


def put_sweep(medium: Objects, prune: Prune) -> Iterator[Move]:
    segments = counted(prune.segments, prune.sweep)
    sweep = Sweep(SWEEP, prune.name, prune.epoch, prune.number, prune.kept, segments, prune.going | prune.doomed)
    rewritten = _to_rewrite(live(segments), prune.going)
    old = rewritten | (prune.segments - live(segments))
    # `kept` is what the new segment lists from here on, `segments` what it stands for.
    following = prune._replace(sweep=NO_SWEEP, doomed=NOTHING, kept=rewritten, segments=old, at="alone to affirm")
    yield medium | {sweep}, following


def _to_rewrite(segments: Objects, going: Objects) -> Objects:
    return segments if len(segments) > 1 else frozenset(each for each in segments if each.packs & going)


def affirm(medium: Objects, prune: Prune) -> Iterator[Move]:
    """Delete again what goes and was brought back too late."""
    named = {each.manifest for each in known(medium, prune.epoch, NOTE) if isinstance(each, Tombstone)}
    lapsed = (prune.gone & named) - deletions(medium, prune.epoch).keys()
    stones = {Tombstone(NOTE, prune.name, prune.epoch, each) for each in lapsed}
    following = prune._replace(at="packs" if "full" in prune.options else "index")
    yield medium | stones, following


def put_index(medium: Objects, prune: Prune) -> Iterator[Move]:
    """Put a segment with what is left of those that go. One of them that vanished ends the prune."""
    in_order = guarded("the new index is put before the old one goes")
    if not in_order and prune.segments:
        yield medium - prune.segments, prune._replace(segments=NOTHING)
        return
    if in_order and not prune.kept <= medium:
        yield medium, prune.ended("failed")
        return
    left = packs_of(prune.kept) - prune.going
    changed = medium | {Segment(INDEX, prune.name, 1, prune.epoch, prune.number, left)} if left else medium
    at = "alone to old index" if prune.segments else "packs"
    yield changed, prune._replace(at=at, kept=NOTHING, todo=prune.segments, segments=NOTHING)


def one_by_one(at: str, following: str) -> Callable[[Objects, Prune], Iterator[Move]]:
    """Return a step that deletes one of `todo`, in any order, and goes on when all are gone."""

    def take(medium: Objects, prune: Prune) -> Iterator[Move]:
        for each in sorted(prune.todo, key=str):
            left = prune.todo - {each}
            yield medium - {each}, prune._replace(at=at, todo=left) if left else _then(prune, following)

    return take


def _then(prune: Prune, following: str) -> Prune:
    if following == "end":
        return prune.ended("done")
    if following == "manifests" and (prune.kept or prune.segments):
        # The packs went first, to make room for the index.
        following = "index"
    return prune._replace(at=following, todo=NOTHING)


def list_going(medium: Objects, prune: Prune) -> Iterator[Move]:
    going = prune.going & medium
    yield medium, prune._replace(at="alone to packs away", todo=going) if going else _then(prune, "manifests")


def take_manifests(medium: Objects, prune: Prune) -> Iterator[Move]:
    left = Prune(prune.name, prune.options, "sweeps", prune.epoch, prune.number, todo=prune.gone)
    yield medium, left._replace(at="alone to manifests away") if prune.gone else left


def take_sweeps(medium: Objects, prune: Prune) -> Iterator[Move]:
    others = frozenset(each for each in of_kind(medium, SWEEP) if each.number != prune.number)
    yield medium, prune._replace(at="alone to sweeps away" if others else "marks", todo=others)


def take_marks(medium: Objects, prune: Prune) -> Iterator[Move]:
    marks = frozenset(of_kind(medium, MARK))
    yield medium, prune._replace(at="alone to marks away", todo=marks) if marks else prune.ended("done")

"""A prune of the state model up to its sweep: repositories/engine/prune/, step by step.

It never waits for a session: each may be taken for dead at any moment, and wake up later. So may the prune itself: two
of them may work at once here, each as if the other were gone.
"""

from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

from tests.engine.model.medium import (
    INDEX,
    MANIFEST,
    MARK,
    NO_SWEEP,
    NOTHING,
    PACK,
    SWEEP,
    Chunks,
    Mark,
    Objects,
    Pack,
    Segment,
    Sweep,
    chunks_of,
    counted,
    deleted,
    epoch_of,
    guarded,
    known,
    live,
    look_at_keys,
    newest_sweep,
    of_kind,
    packs_of,
    view,
)
from tests.engine.model.program import Move


class Prune(NamedTuple):
    """One prune. Options: `spares` the packs of writers; `repacks` pack A; `full`: the packs go before the index.

    `half` lists manifests in two halves; to an `old` one each void manifest is two weeks old. `doomed` and `marked` are
    packs; `segments`, `there`, `names` are of the last look; `used` and `walked` are what any look has found; `kept`
    and `gone` manifests; `going` packs; `todo` is what the step that goes on deletes.
    """

    name: str
    options: tuple[str, ...] = ()
    at: str = "open"
    epoch: int = 1
    number: int = 0
    doomed: Objects = NOTHING
    early: Objects = NOTHING
    names: Objects = NOTHING
    sweep: Sweep = NO_SWEEP
    segments: Objects = NOTHING
    there: Objects = NOTHING
    packs: Objects = NOTHING
    used: Chunks = frozenset()
    walked: Objects = NOTHING
    marked: Objects = NOTHING
    kept: Objects = NOTHING
    gone: Objects = NOTHING
    going: Objects = NOTHING
    todo: Objects = NOTHING
    outcome: str = ""

    def require_kept(self, medium: Objects) -> None:
        """Nobody is promised anything by a prune."""

    def ended(self, outcome: str) -> "Prune":
        return Prune(self.name, at="", outcome=outcome)


def begin(medium: Objects, prune: Prune) -> Iterator[Move]:
    yield medium, prune._replace(at="doomed", epoch=epoch_of(medium))


def _marks(medium: Objects, prune: Prune) -> tuple[int, Objects]:
    fence, packs, _ = view(known(medium, prune.epoch, MARK), newest_sweep(medium, prune.epoch))
    return fence, packs


def read_doomed(medium: Objects, prune: Prune) -> Iterator[Move]:
    doomed = _marks(medium, prune)[1] if guarded("packs of earlier marks are chosen last") else NOTHING
    yield medium, prune._replace(at="early", doomed=doomed)


def list_early(medium: Objects, prune: Prune) -> Iterator[Move]:
    yield medium, prune._replace(at="names to plan", early=frozenset(of_kind(medium, PACK)))


def _phase(prune: Prune, step: str) -> str:
    """Return the same phase's step of another name."""
    return f"{step} to {prune.at.split(' to ')[1]}"


def list_manifests(medium: Objects, prune: Prune) -> Iterator[Move]:
    listed = known(medium, prune.epoch, MANIFEST)
    if prune.at == "names to decide" and not guarded("manifests are listed again after the mark"):
        listed = prune.names
    if "half" in prune.options and prune.at == "names to decide":
        yield medium, prune._replace(at="rest to decide", names=frozenset(each for each in listed if each.owner != "w"))
        return
    if guarded("manifests are listed before segments"):
        yield medium, prune._replace(at=_phase(prune, "accept"), names=listed)
    elif prune.segments:
        yield medium, prune._replace(at=_phase(prune, "there"), names=listed)
    else:
        yield medium, prune._replace(at=_phase(prune, "accept"))


def list_the_rest(medium: Objects, prune: Prune) -> Iterator[Move]:
    listed = frozenset(each for each in known(medium, prune.epoch, MANIFEST) if each.owner == "w")
    yield medium, prune._replace(at="accept to decide", names=prune.names | listed)


def read_sweep(medium: Objects, prune: Prune) -> Iterator[Move]:
    yield medium, prune._replace(at=_phase(prune, "index"), sweep=newest_sweep(medium, prune.epoch))


def list_index(medium: Objects, prune: Prune) -> Iterator[Move]:
    segments = known(medium, prune.epoch, INDEX)
    packs = prune.packs | packs_of(counted(segments, prune.sweep))
    following = "there" if guarded("manifests are listed before segments") else "names"
    yield medium, prune._replace(at=_phase(prune, following), segments=segments, packs=packs)


def list_packs(medium: Objects, prune: Prune) -> Iterator[Move]:
    there = frozenset(of_kind(medium, PACK))
    yield medium, prune._replace(at=_phase(prune, "notes"), there=there)


def read_notes(medium: Objects, prune: Prune) -> Iterator[Move]:
    """Read notes and manifests; then what is kept, and what follows from that in this phase."""
    again = guarded("holds and tombstones are read again after the mark") or prune.at != "notes to decide"
    gone = deleted(medium, prune.epoch) if again else prune.gone
    listed = frozenset(each for each in prune.names if each in medium or each in prune.walked)
    counting = counted(listed, prune.sweep)
    kept = frozenset(each for each in counting if each not in gone or each in prune.walked)
    gone = frozenset(each for each in listed - prune.walked if each in gone)
    if "old" in prune.options:
        gone |= listed - counting
    seen = prune._replace(
        kept=kept,
        gone=gone,
        walked=prune.walked | kept,
        used=prune.used | chunks_of(kept),
    )
    yield from _AFTER_LOOK[prune.at.split(" to ")[1]](medium, seen)


def _chosen(prune: Prune, doomed: Objects) -> Iterator[Objects]:
    """Yield the packs that a choice of places needs: there and listed before doomed before missing; all equal ones."""
    safe = (_listed(prune) & prune.there) - _swept(prune)
    places = []
    for chunk in sorted(prune.used):
        ranks = {each: 3 if each not in safe else int(each in doomed) for each in prune.packs if chunk in each.chunks}
        places.append([each for each in sorted(ranks) if ranks[each] == min(ranks.values())] or [None])
    for chosen in {frozenset(each) for each in product(*places)}:
        yield chosen - {None}


def _swept(prune: Prune) -> Objects:
    """Return what the newest sweep takes: another prune that sleeps may delete it at any moment."""
    return prune.sweep.packs if guarded("no place is chosen in a pack that is swept") else NOTHING


def _listed(prune: Prune) -> Objects:
    return packs_of(live(counted(prune.segments, prune.sweep)))


def _unindexed(prune: Prune) -> bool:
    return not prune.used <= chunks_of(prune.packs)


def _dead(prune: Prune, chosen: Objects, doomed: Objects) -> Objects:
    """Return what no place was chosen in, but for what is spared; `doomed` is not spared."""
    own = frozenset(each for each in prune.packs | prune.early if "spares" in prune.options and each.owner in "vw")
    listed = _listed(prune)
    unlisted = prune.early - listed
    if "spares" in prune.options or _unindexed(prune):
        unlisted &= doomed
    return (listed - chosen - (own - doomed)) | unlisted


def plan(medium: Objects, prune: Prune) -> Iterator[Move]:
    for chosen in _chosen(prune, prune.doomed):
        planned = prune._replace(marked=_dead(prune, chosen, prune.doomed))
        repacked = frozenset(each for each in chosen & prune.there if "repacks" in prune.options and each.owner == "A")
        if repacked:
            yield medium, planned._replace(at="fence", todo=repacked)
        else:
            yield medium, _forgetting(planned)._replace(at="number")


def _forgetting(prune: Prune) -> Prune:
    """Leave out what is not asked for any more."""
    names = NOTHING if guarded("manifests are listed again after the mark") else prune.names
    gone = prune.gone if not guarded("holds and tombstones are read again after the mark") else NOTHING
    left = prune._replace(segments=NOTHING, there=NOTHING, early=NOTHING, sweep=NO_SWEEP, kept=NOTHING)
    return left._replace(names=names, gone=gone, todo=NOTHING)


def read_fence(medium: Objects, prune: Prune) -> Iterator[Move]:
    yield medium, prune._replace(at="put repacked", number=_marks(medium, prune)[0])


def _repacked(prune: Prune) -> Pack:
    return Pack(PACK, prune.name, chunks_of(prune.todo) & prune.used)


def put_repacked(medium: Objects, prune: Prune) -> Iterator[Move]:
    yield medium | {_repacked(prune)}, prune._replace(at="list repacked")


def list_repacked(medium: Objects, prune: Prune) -> Iterator[Move]:
    segment = Segment(INDEX, prune.name, 0, prune.epoch, prune.number, frozenset({_repacked(prune)}))
    # What was known at the plan is what may be marked; `going` remembers it.
    going = prune.packs | prune.early
    yield medium | {segment}, prune._replace(at="names to replan", number=0, going=going)


def replan(medium: Objects, prune: Prune) -> Iterator[Move]:
    for chosen in _chosen(prune, prune.doomed | prune.todo | prune.marked):
        dead = _dead(prune, chosen, prune.doomed) & prune.going
        yield medium, _forgetting(prune._replace(marked=dead, going=NOTHING))._replace(at="number")


def read_number(medium: Objects, prune: Prune) -> Iterator[Move]:
    yield medium, prune._replace(at="mark", number=_marks(medium, prune)[0] + 1)


def put_mark(medium: Objects, prune: Prune) -> Iterator[Move]:
    mark = Mark(MARK, prune.name, prune.epoch, prune.number, prune.marked)
    yield medium | {mark}, prune._replace(at="alone to names to decide")


def look_for_others(medium: Objects, prune: Prune) -> Iterator[Move]:
    """Look whether another prune has come as far; marks and sweeps at once, since its sweep outlives its mark."""
    seen = [*known(medium, prune.epoch, MARK), *known(medium, prune.epoch, SWEEP)]
    overtaken = any(each.number >= prune.number and each.owner != prune.name for each in seen)
    if overtaken and guarded("a prune looks for others before it deletes"):
        yield medium, prune.ended("overtaken")
    else:
        yield medium, prune._replace(at=prune.at.replace("alone to ", "keys to "))


def look_at_the_keys(medium: Objects, prune: Prune) -> Iterator[Move]:
    seen = look_at_keys(medium, prune.epoch)
    if seen == "rotated" and guarded("a prune looks at the keys before it deletes"):
        yield medium, prune.ended("overtaken")
    elif seen == "quiet" or not guarded("a prune looks at the keys before it deletes"):
        yield medium, prune._replace(at=prune.at.removeprefix("keys to "))


def decide(medium: Objects, prune: Prune) -> Iterator[Move]:
    """Leave out of what is marked what is used after all."""
    listed = _listed(prune)
    for chosen in _chosen(prune, prune.doomed | prune.marked):
        unlisted = prune.marked - listed if not _unindexed(prune) else (prune.marked - listed) & prune.doomed
        going = (prune.marked & listed - chosen) | unlisted
        # `doomed` is what the sweep names besides: what an earlier one has named, and is there still.
        carried = prune.sweep.packs & prune.there if guarded("a sweep names what the earlier one took") else NOTHING
        left = prune._replace(names=NOTHING, there=NOTHING, packs=NOTHING, walked=NOTHING, marked=NOTHING)
        decided = left._replace(at="alone to sweep", going=going, gone=_to_remove(prune), doomed=carried)
        yield medium, decided._replace(used=frozenset())


def _to_remove(prune: Prune) -> Objects:
    """Return the manifests that this prune takes: what was put after its mark counts, and waits for the next one."""
    if not guarded("what was put after the mark is left to the next prune"):
        return prune.gone
    return frozenset(each for each in prune.gone if each.fence < prune.number)


_AFTER_LOOK = {"plan": plan, "replan": replan, "decide": decide}

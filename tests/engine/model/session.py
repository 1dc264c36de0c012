"""A write session of the state model until its commit: repositories/engine/sessions/write.py, step by step.

It wants the contents a and d, which are there, and has content of its own. Leases are no step: whoever looks at one may
take its holder for alive or dead, as it likes.
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
    Manifest,
    Objects,
    Pack,
    Segment,
    Sweep,
    chunks_of,
    counted,
    epoch_of,
    guarded,
    is_named,
    known,
    live,
    newest_sweep,
    of_kind,
    packs_of,
    require_listed,
    view,
)
from tests.engine.model.program import Move, program_of

WANTED = frozenset({"a", "d"})
TRIES = 3
_JUDGED = "segments are judged by a sweep that is read after them"


class Writer(NamedTuple):
    """One backup. Options: `split` looks at marks and sweeps in two steps; `merges` segments; `adopts` packs; a `quick`
    one stops in a few places only.

    `checkpoint` puts a checkpoint and ends; `in haste` does that with the fence it has.
    """

    name: str
    options: tuple[str, ...] = ()
    at: str = "open"
    epoch: int = 1
    fence: int = 0
    marks: Objects = NOTHING
    absent: Objects = NOTHING
    waits: bool = False
    sweep: Sweep = NO_SWEEP
    live: Objects = NOTHING
    own: Objects = NOTHING
    referred: Objects = NOTHING
    part: int = 0
    outcome: str = ""

    def require_kept(self, medium: Objects) -> None:
        """Require that a reported commit counts until somebody deletes it, and that a refused one is not there."""
        if self.outcome == "committed" and not is_named(medium, self.manifest):
            require_listed(medium, self.manifest, self.name)
        if self.outcome == "refused":
            own = [each for each in of_kind(medium, MANIFEST) if each.owner == self.name]
            assert not own, f"{self.name} was told that nothing was committed, and its manifest is there"

    @property
    def stops(self) -> bool:
        """Tell whether a quick one stops here."""
        return self.at in ("marks", "put segment", "manifest", "marks at last")

    @property
    def manifest(self) -> Manifest:
        return Manifest(MANIFEST, self.name, self.part, self.epoch, self.fence, chunks_of(self.own) | WANTED)

    def ended(self, outcome: str) -> "Writer":
        """Return what is left of a writer that has ended: what must be known to judge it."""
        if outcome == "committed":
            return Writer(
                self.name, epoch=self.epoch, fence=self.fence, own=self.own, part=self.part, outcome=outcome, at=""
            )
        return Writer(self.name, outcome=outcome, at="")


def begin(medium: Objects, writer: Writer) -> Iterator[Move]:
    yield medium, writer._replace(at="marks", epoch=epoch_of(medium))


def list_marks(medium: Objects, writer: Writer) -> Iterator[Move]:
    marks = known(medium, writer.epoch, MARK)
    if not guarded("marks are listed before sweeps"):
        # The other order: the sweep is remembered, and the marks are listed in the next step.
        listed = writer._replace(sweep=newest_sweep(medium, writer.epoch), at=writer.at.replace("marks", "sweeps"))
        yield medium, listed
        return
    seen = writer._replace(marks=marks, at=writer.at.replace("marks", "sweeps"))
    if "split" in writer.options:
        yield medium, seen
    else:
        yield from program_of(seen).steps[seen.at].take(medium, seen)


def view_of(medium: Objects, writer: Writer) -> tuple[int, Objects, bool]:
    if not guarded("marks are listed before sweeps"):
        return view(known(medium, writer.epoch, MARK), writer.sweep)
    return view(writer.marks, newest_sweep(medium, writer.epoch))


def take_fence(medium: Objects, writer: Writer) -> Iterator[Move]:
    fence, absent, waits = view_of(medium, writer)
    absent = absent if guarded("what is marked counts as absent") else NOTHING
    sweep = sweep_before(medium, writer)
    yield medium, writer._replace(at="index", fence=fence, absent=absent, waits=waits, marks=NOTHING, sweep=sweep)


def sweep_before(medium: Objects, writer: Writer) -> Sweep:
    """Return the sweep by which segments are judged where it is read, wrongly, before them."""
    return NO_SWEEP if guarded(_JUDGED) else newest_sweep(medium, writer.epoch)


def list_index(medium: Objects, writer: Writer) -> Iterator[Move]:
    listed = known(medium, writer.epoch, INDEX)
    if not guarded(_JUDGED):
        listed = counted(listed, writer.sweep)
    yield medium, writer._replace(at=writer.at.replace("index", "accept"), live=listed, sweep=NO_SWEEP)


def judge_index(medium: Objects, writer: Writer) -> Iterator[Move]:
    listed = writer.live
    if guarded(_JUDGED):
        listed = counted(listed, newest_sweep(medium, writer.epoch))
    yield medium, writer._replace(at=writer.at.replace("accept", "packs"), live=live(listed))


def list_packs(medium: Objects, writer: Writer) -> Iterator[Move]:
    """Choose a place for each wanted content that is there; what is not there is stored anew."""
    listed = packs_of(writer.live)
    usable = (listed & medium) - writer.absent
    adopted = NOTHING
    if "adopts" in writer.options:
        no_index = frozenset(of_kind(medium, PACK)) - listed
        adopted = no_index - (writer.absent if guarded("nothing marked is adopted") else NOTHING)
    found = sorted(chunks_of(usable | adopted) & WANTED)
    missing = (WANTED - frozenset(found)) | {f"x{writer.name}"}
    places = [sorted(each for each in usable | adopted if chunk in each.chunks) for chunk in found]
    for chosen in product(*places):
        own = {Pack(PACK, writer.name, missing), *(each for each in chosen if each not in listed)}
        yield (
            medium,
            writer._replace(
                at="put pack",
                own=frozenset(own),
                referred=frozenset(chosen) | own,
                absent=writer.absent if "merges" in writer.options else NOTHING,
                live=writer.live if "merges" in writer.options else NOTHING,
            ),
        )


def put_pack(medium: Objects, writer: Writer) -> Iterator[Move]:
    stored = frozenset(each for each in writer.own if each.owner == writer.name)
    yield medium | stored, writer._replace(at="put segment")


def segment_of(writer: Writer) -> Segment:
    return Segment(INDEX, writer.name, writer.fence, writer.epoch, writer.fence, writer.own)


def put_segment(medium: Objects, writer: Writer) -> Iterator[Move]:
    segment = segment_of(writer)
    kept = writer.live | {segment} if "merges" in writer.options else NOTHING
    following = "manifest" if "in haste" in writer.options else "marks again"
    yield medium | {segment}, writer._replace(at=following, live=kept)

"""The commit of the state model, and all steps of a writer in order: repositories/engine/sessions/write.py."""

from collections.abc import Iterator
from itertools import product

from tests.engine.model.medium import (
    INDEX,
    KEYS,
    MANIFEST,
    MARK,
    NO_SWEEP,
    NOTE,
    NOTHING,
    PACK,
    SWEEP,
    Objects,
    Segment,
    Tombstone,
    chunks_of,
    guarded,
    look_at_keys,
    packs_of,
)
from tests.engine.model.program import PROGRAMS, Move, Program
from tests.engine.model.session import (
    TRIES,
    WANTED,
    Writer,
    begin,
    judge_index,
    list_index,
    list_marks,
    list_packs,
    put_pack,
    put_segment,
    segment_of,
    sweep_before,
    take_fence,
    view_of,
)

__all__ = ["Writer"]


def _after_marks(writer: Writer) -> str:
    return "merge" if "merges" in writer.options else "manifest"


def _sweeps_again(medium: Objects, writer: Writer) -> Iterator[Move]:
    fence, absent, waits = view_of(medium, writer)
    if fence <= writer.fence:
        kept = (absent, waits) if "merges" in writer.options else (NOTHING, False)
        following = writer._replace(at=_after_marks(writer), marks=NOTHING, sweep=NO_SWEEP)
        yield medium, following._replace(absent=kept[0], waits=kept[1])
        return
    # Until it is known that nothing is lost the fence stays as it is; `marks` tells the one to take.
    yield (
        medium,
        writer._replace(
            at="index again", absent=absent, waits=waits, marks=frozenset({fence}), sweep=sweep_before(medium, writer)
        ),
    )


def _packs_again(medium: Objects, writer: Writer) -> Iterator[Move]:
    """Find in other packs what lies in packs that are marked or gone; a commit that cannot is refused."""
    (fence,) = writer.marks
    listed = packs_of(writer.live)
    taken = writer.absent | (listed | writer.referred) - medium
    taken = taken if guarded("a commit makes sure of its packs") else NOTHING
    left = listed - taken
    moved = sorted({chunk for each in writer.referred & taken for chunk in each.chunks & WANTED})
    if writer.own & taken or any(chunk not in chunks_of(left) for chunk in moved):
        yield medium, writer.ended("refused")
        return
    for chosen in product(*(sorted(each for each in left if chunk in each.chunks) for chunk in moved)):
        left_over = writer if "merges" in writer.options else writer._replace(live=NOTHING, absent=NOTHING)
        at = "segment again" if guarded("its segment gets the new fence") else _after_marks(writer)
        referred = (writer.referred - taken) | frozenset(chosen)
        yield medium, left_over._replace(at=at, fence=fence, marks=NOTHING, referred=referred)


def _segment_again(medium: Objects, writer: Writer) -> Iterator[Move]:
    segment = segment_of(writer)
    kept = writer.live | {segment} if "merges" in writer.options else NOTHING
    yield medium | {segment}, writer._replace(at=_after_marks(writer), live=kept)


def _merge(medium: Objects, writer: Writer) -> Iterator[Move]:
    following = writer._replace(at="manifest", absent=NOTHING, waits=False)
    if len(writer.live) < 2 or (writer.waits and guarded("no merge while a mark waits")):
        yield medium, following
        return
    packs = packs_of(writer.live) - (writer.absent if guarded("a merge leaves out what is swept") else NOTHING)
    part = 100 + writer.fence + 10 * writer.part
    merged = Segment(INDEX, writer.name, part, writer.epoch, writer.fence, packs, writer.live)
    yield medium | {merged}, following._replace(live=frozenset({merged}))


def _put_manifest(medium: Objects, writer: Writer) -> Iterator[Move]:
    changed = medium | {writer.manifest}
    if "checkpoint" in writer.options or "in haste" in writer.options:
        yield changed, writer.ended("put")
        return
    looks = guarded("a look at the marks after the manifest")
    yield changed, writer._replace(at="marks at last" if looks else "keys")


def _sweeps_at_last(medium: Objects, writer: Writer) -> Iterator[Move]:
    settled = view_of(medium, writer)[0] <= writer.fence
    yield medium, writer._replace(at="keys" if settled else "tombstone", marks=NOTHING, sweep=NO_SWEEP)


def _keys(medium: Objects, writer: Writer) -> Iterator[Move]:
    seen = look_at_keys(medium, writer.epoch)
    if not guarded("a commit looks for announcements"):
        seen = "rotated" if seen == "rotated" else "quiet"
    yield medium, writer.ended("committed") if seen == "quiet" else writer._replace(at="tombstone")


def _tombstone(medium: Objects, writer: Writer) -> Iterator[Move]:
    stone = Tombstone(NOTE, writer.name, writer.epoch, writer.manifest)
    yield medium | {stone}, writer._replace(at="take back")


def _take_back(medium: Objects, writer: Writer) -> Iterator[Move]:
    yield medium - {writer.manifest}, writer._replace(at="keys again")


def _keys_again(medium: Objects, writer: Writer) -> Iterator[Move]:
    seen = look_at_keys(medium, writer.epoch)
    if seen == "rotated" or writer.part + 1 == TRIES:
        yield medium, writer.ended("refused")
    elif seen == "quiet":
        yield medium, writer._replace(at="marks again", part=writer.part + 1)


_LOOK = "list keychanges, list intents, list keyrings"


def _program() -> Program:
    program = Program(back="keys again", to="marks again")
    add = program.add
    add("open", begin, reads=KEYS, operations="put sessions")
    add("marks", list_marks, reads=MARK | SWEEP, operations="list marks")
    add("sweeps", take_fence, reads=MARK | SWEEP, operations="list sweeps")
    add("index", list_index, reads=INDEX, operations="list index")
    add("accept", judge_index, reads=SWEEP, operations="list sweeps")
    add("packs", list_packs, reads=PACK, operations="list packs, list damage")
    add("put pack", put_pack, writes=PACK, operations="put packs")
    add("put segment", put_segment, writes=INDEX, operations="put index")
    add("marks again", list_marks, reads=MARK | SWEEP, operations="list marks")
    add("sweeps again", _sweeps_again, reads=MARK | SWEEP, operations="list sweeps")
    add("index again", list_index, reads=INDEX, operations="list index")
    add("accept again", judge_index, reads=SWEEP, operations="list sweeps")
    add("packs again", _packs_again, reads=PACK, operations="list packs")
    add("segment again", _segment_again, writes=INDEX, operations="put index")
    add("merge", _merge, writes=INDEX)
    add("manifest", _put_manifest, writes=MANIFEST, operations="put manifests")
    add("marks at last", list_marks, reads=MARK | SWEEP, operations="list marks")
    add("sweeps at last", _sweeps_at_last, reads=MARK | SWEEP, operations="list sweeps")
    add("keys", _keys, reads=KEYS, operations=_LOOK)
    add("tombstone", _tombstone, writes=NOTE, operations="put tombstones")
    add("take back", _take_back, writes=MANIFEST, operations="delete manifests")
    add("keys again", _keys_again, reads=KEYS, operations=_LOOK)
    return program


PROGRAMS[Writer] = _program()

"""Whoever deletes, holds or brings back a backup, in the state model: repositories/engine/forgetting/, step by step."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from tests.engine.model.medium import (
    KEYS,
    MANIFEST,
    MARK,
    NO_SWEEP,
    NOTE,
    NOTHING,
    SWEEP,
    Hold,
    Objects,
    Sweep,
    Tombstone,
    counted,
    deleted,
    deletions,
    epoch_of,
    guarded,
    known,
    look_at_keys,
    newest_sweep,
    of_kind,
    require_listed,
    view,
)
from tests.engine.model.program import PROGRAMS, Move, Program


class Noter(NamedTuple):
    """One who does `what`: forget, hold or undelete, to any one backup of those in `owners`."""

    name: str
    what: str
    owners: tuple[str, ...] = ("kept", "v", "w")
    at: str = "find"
    epoch: int = 1
    target: Any = None
    stones: Objects = NOTHING
    ever: bool = False
    fence: int = 0
    pending: bool = False
    listed: Objects = NOTHING
    sweep: Sweep = NO_SWEEP
    back: bool = False
    outcome: str = ""

    def require_kept(self, medium: Objects) -> None:
        """Require that a backup of which this one was told that it is safe is not taken.

        It may have been one that its writer took back: that was put and not yet committed when it was found.
        """
        stones = [each for each in of_kind(medium, NOTE) if isinstance(each, Tombstone)]
        taken_back = any(
            (each.manifest, each.owner) == (self.target, self.target.owner) for each in stones if self.target
        )
        if self.outcome == "safe" and not taken_back:
            require_listed(medium, self.target, self.name)

    def ended(self, outcome: str) -> "Noter":
        target = self.target if outcome == "safe" else None
        return Noter(self.name, self.what, at="", target=target, outcome=outcome)


def _find(medium: Objects, noter: Noter) -> Iterator[Move]:
    """Find a backup to do it to. What is found is only a beginning: all is looked at again after the put."""
    epoch = epoch_of(medium)
    gone = deleted(medium, epoch)
    for each in counted(known(medium, epoch, MANIFEST), newest_sweep(medium, epoch)):
        held = any(isinstance(note, Hold) and note.manifest == each for note in known(medium, epoch, NOTE))
        fits = (each in gone) == (noter.what == "undelete") and not (noter.what == "forget" and held)
        if fits and each.owner in noter.owners:
            at = "read notes" if noter.what == "undelete" else "put"
            yield medium, noter._replace(at=at, epoch=epoch, target=each)


def _put(medium: Objects, noter: Noter) -> Iterator[Move]:
    record = Hold if noter.what == "hold" else Tombstone
    following = "keys to look" if noter.what == "forget" else "keys to read notes"
    yield medium | {record(NOTE, noter.name, noter.epoch, noter.target)}, noter._replace(at=following)


def _keys(medium: Objects, noter: Noter) -> Iterator[Move]:
    seen = look_at_keys(medium, noter.epoch)
    if seen == "rotated":
        yield medium, noter.ended("refused")
    elif seen == "quiet":
        yield medium, noter._replace(at=noter.at.removeprefix("keys to "))


def _look(medium: Objects, noter: Noter) -> Iterator[Move]:
    """Look for holds after the tombstone."""
    notes = known(medium, noter.epoch, NOTE)
    held = any(isinstance(each, Hold) and each.manifest == noter.target for each in notes)
    spared = held and guarded("a deletion looks for holds after the put")
    yield medium, noter._replace(at="read notes") if spared else noter.ended("deleted")


def _read_notes(medium: Objects, noter: Noter) -> Iterator[Move]:
    stones = frozenset(deletions(medium, noter.epoch).get(noter.target, ()))
    if noter.what == "hold" and not guarded("a hold looks for deletions after the put"):
        stones = NOTHING
    named = any(
        isinstance(each, Tombstone) and each.manifest == noter.target for each in known(medium, noter.epoch, NOTE)
    )
    yield medium, noter._replace(at="undo" if stones else "pending marks", stones=stones, ever=named)


def _undo(medium: Objects, noter: Noter) -> Iterator[Move]:
    first = min(noter.stones, key=str)
    undone = Tombstone(NOTE, noter.name, noter.epoch, noter.target, first)
    yield medium | {undone}, noter._replace(at="keys to undone", stones=noter.stones - {first})


def _undone(medium: Objects, noter: Noter) -> Iterator[Move]:
    yield medium, noter._replace(at="undo" if noter.stones else "pending marks")


def _pending_marks(medium: Objects, noter: Noter) -> Iterator[Move]:
    yield medium, noter._replace(at="pending view", listed=known(medium, noter.epoch, MARK))


def _pending_view(medium: Objects, noter: Noter) -> Iterator[Move]:
    fence, _, _ = view(noter.listed, newest_sweep(medium, noter.epoch))
    yield medium, noter._replace(at="pending sweeps", fence=fence, listed=NOTHING)


def _pending_sweeps(medium: Objects, noter: Noter) -> Iterator[Move]:
    pending = noter.fence > newest_sweep(medium, noter.epoch).number and noter.ever
    pending = pending and guarded("nobody is told that a backup is safe while a prune decides")
    yield medium, noter._replace(at="back: manifests", fence=0, pending=pending, ever=False)


def _manifests(medium: Objects, noter: Noter) -> Iterator[Move]:
    listed = known(medium, noter.epoch, MANIFEST) & {noter.target}
    yield medium, noter._replace(at=noter.at.replace("manifests", "sweeps"), listed=listed)


def _sweeps(medium: Objects, noter: Noter) -> Iterator[Move]:
    listed = counted(noter.listed, newest_sweep(medium, noter.epoch))
    if noter.at == "back: sweeps":
        yield medium, noter._replace(at="back: notes", listed=listed)
    elif not listed:
        yield medium, noter._replace(at="affirm")
    else:
        told = "uncertain" if noter.pending else "safe"
        yield medium, noter.ended(told if noter.back else "deleted still")


def _notes(medium: Objects, noter: Noter) -> Iterator[Move]:
    back = bool(noter.listed) and noter.target not in deleted(medium, noter.epoch)
    yield medium, noter._replace(at="gone: manifests", listed=NOTHING, back=back)


def _affirm(medium: Objects, noter: Noter) -> Iterator[Move]:
    """Delete again what is gone, so that nobody takes it for lost."""
    buried = noter.target in deletions(medium, noter.epoch)
    stones = set() if buried else {Tombstone(NOTE, f"{noter.name} again", noter.epoch, noter.target)}
    yield medium | stones, noter.ended("gone")


def _program() -> Program:
    program = Program(back="undone", to="undo")
    add = program.add
    every = MANIFEST | SWEEP | NOTE | KEYS
    look = "list keychanges, list intents, list keyrings"
    add("find", _find, reads=every)
    add("put", _put, writes=NOTE, operations="put note")
    add("keys to look", _keys, reads=KEYS, operations=look)
    add("look", _look, reads=NOTE, operations="list manifests, list sweeps, list tombstones, list annotations")
    add("keys to read notes", _keys, reads=KEYS, operations=look)
    add("read notes", _read_notes, reads=NOTE, operations="list tombstones, list annotations")
    add("undo", _undo, writes=NOTE, operations="put tombstones")
    add("keys to undone", _keys, reads=KEYS, operations=look)
    add("undone", _undone)
    add("pending marks", _pending_marks, reads=MARK, operations="list marks")
    add("pending view", _pending_view, reads=SWEEP, operations="list sweeps")
    add("pending sweeps", _pending_sweeps, reads=SWEEP, operations="list sweeps")
    add("back: manifests", _manifests, reads=MANIFEST, operations="list manifests")
    add("back: sweeps", _sweeps, reads=SWEEP, operations="list sweeps")
    add("back: notes", _notes, reads=NOTE, operations="list tombstones, list annotations")
    add("gone: manifests", _manifests, reads=MANIFEST, operations="list manifests")
    add("gone: sweeps", _sweeps, reads=SWEEP, operations="list sweeps, list tombstones")
    add("affirm", _affirm, writes=NOTE, operations="list tombstones")
    return program


PROGRAMS[Noter] = _program()

"""The objects of the state model, and what they say together: the rules of docs/repository-format.md in small.

Owns names instead of bytes, and the list of guards: each of the protocol's precautions has a name here, so that a test
can leave one out and see what is lost.
"""

import contextlib
from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple, TypeAlias

PACK: Final = 1
INDEX: Final = 2
MANIFEST: Final = 4
MARK: Final = 8
SWEEP: Final = 16
NOTE: Final = 32
KEYS: Final = 64

Object: TypeAlias = Any
"""A tuple whose first field is its kind, so that objects of two kinds are never equal."""
Objects: TypeAlias = frozenset[Object]
Chunks: TypeAlias = frozenset[str]
NOTHING: Final[Objects] = frozenset()


class Pack(NamedTuple):
    """A pack; it needs no key of an epoch, since a segment vouches for it."""

    kind: int
    owner: str
    chunks: Chunks


class Segment(NamedTuple):
    """An index segment; `part` tells apart what one process puts."""

    kind: int
    owner: str
    part: int
    epoch: int
    fence: int
    packs: Objects
    replaces: Objects = NOTHING


class Manifest(NamedTuple):
    """A manifest, or a checkpoint where the process says so: one rule is for both."""

    kind: int
    owner: str
    part: int
    epoch: int
    fence: int
    chunks: Chunks


class Mark(NamedTuple):
    """A mark."""

    kind: int
    owner: str
    epoch: int
    number: int
    packs: Objects


class Sweep(NamedTuple):
    """A sweep."""

    kind: int
    owner: str
    epoch: int
    number: int
    manifests: Objects
    segments: Objects
    packs: Objects


class Tombstone(NamedTuple):
    """A tombstone of one manifest; `undoes` is the tombstone that it takes back, or None."""

    kind: int
    owner: str
    epoch: int
    manifest: Manifest
    undoes: Any = None


class Hold(NamedTuple):
    """A hold upon one manifest."""

    kind: int
    owner: str
    epoch: int
    manifest: Manifest


class KeyObject(NamedTuple):
    """An announcement, an intent or a keyring of the second epoch; the latter two carry the inventory."""

    kind: int
    what: str
    inventory: Objects = NOTHING


ANNOUNCEMENT: Final = KeyObject(KEYS, "announcement")
NO_SWEEP: Final = Sweep(SWEEP, "", 1, 0, NOTHING, NOTHING, NOTHING)
_removed: set[str] = set()


def guarded(name: str) -> bool:
    """Tell whether a guard of the protocol is in force."""
    return name not in _removed


@contextlib.contextmanager
def without(*names: str) -> Iterator[None]:
    """Leave guards out."""
    _removed.update(names)
    try:
        yield
    finally:
        _removed.difference_update(names)


def of_kind(medium: Objects, kind: int) -> list[Object]:
    return [each for each in medium if each[0] == kind]


def keyring(medium: Objects) -> KeyObject | None:
    """Return the second keyring, if it is there."""
    return next((each for each in of_kind(medium, KEYS) if each.what == "keyring"), None)


def epoch_of(medium: Objects) -> int:
    return 1 if keyring(medium) is None else 2


def known(medium: Objects, epoch: int, kind: int) -> Objects:
    """Return the objects of a kind that count, as far as keys go, for whoever opened in this epoch."""
    newest = keyring(medium)
    if epoch == 1 or newest is None:
        return frozenset(each for each in of_kind(medium, kind) if each.epoch == 1)
    return frozenset(each for each in of_kind(medium, kind) if each.epoch == 2 or each in newest.inventory)


def look_at_keys(medium: Objects, epoch: int) -> str:
    """Look at announcements, intents and keyrings. It is one step: see docs/repository-format.md, section 10."""
    keys = of_kind(medium, KEYS)
    if epoch == 1 and any(each.what == "keyring" for each in keys):
        return "rotated"
    waits = any(each.what == "announcement" or (each.what == "intent" and epoch == 1) for each in keys)
    return "under way" if waits else "quiet"


def newest_sweep(medium: Objects, epoch: int) -> Sweep:
    return max(known(medium, epoch, SWEEP), key=lambda each: each.number, default=NO_SWEEP)


def view(marks: Iterable[Mark], sweep: Sweep) -> tuple[int, Objects, bool]:
    """Return the fence to take, the packs that do not count as there, and whether a mark waits for its sweep."""
    waiting = [each for each in marks if each.number > sweep.number]
    fence = max([sweep.number, *(each.number for each in waiting)])
    return fence, sweep.packs.union(*(each.packs for each in waiting)), bool(waiting)


def counted(things: Iterable[Object], sweep: Sweep) -> Objects:
    """Return the manifests or segments that count by the fence rule."""
    named = sweep.manifests | sweep.segments
    if not guarded("what has an older fence is void"):
        return frozenset(things)
    return frozenset(each for each in things if each.fence >= sweep.number or each in named)


def live(segments: Objects) -> Objects:
    """Return the segments that none of these replaces."""
    replaced = NOTHING.union(*(each.replaces for each in segments))
    return segments - replaced


def packs_of(things: Iterable[Object]) -> Objects:
    return NOTHING.union(*(each.packs for each in things))


def chunks_of(things: Iterable[Object]) -> Chunks:
    empty: Chunks = frozenset()
    return empty.union(*(each.chunks for each in things))


def deletions(medium: Objects, epoch: int) -> dict[Manifest, set[Tombstone]]:
    """Return the tombstones in force, by what they name."""
    stones = [each for each in known(medium, epoch, NOTE) if isinstance(each, Tombstone)]
    undone = {each.undoes for each in stones}
    found: dict[Manifest, set[Tombstone]] = {}
    for each in stones:
        if each.undoes is None and each not in undone:
            found.setdefault(each.manifest, set()).add(each)
    return found


def deleted(medium: Objects, epoch: int) -> Objects:
    """Return the manifests that are deleted: a hold wins over a tombstone."""
    held = {each.manifest for each in known(medium, epoch, NOTE) if isinstance(each, Hold)}
    return frozenset(deletions(medium, epoch).keys() - held)


def is_named(medium: Objects, manifest: Manifest) -> bool:
    """Tell whether anybody has ever deleted a backup."""
    return any(isinstance(each, Tombstone) and each.manifest == manifest for each in of_kind(medium, NOTE))


def require_whole(medium: Objects) -> None:
    """Require that every manifest which counts has all its chunks, in packs that a live segment lists."""
    epoch = epoch_of(medium)
    sweep = newest_sweep(medium, epoch)
    listed = packs_of(live(counted(known(medium, epoch, INDEX), sweep)))
    there = chunks_of(listed & medium)
    on_medium = chunks_of(of_kind(medium, PACK))
    for each in counted(known(medium, epoch, MANIFEST), sweep):
        lost = each.chunks - there
        assert not lost, f"{each.owner} {'cannot find' if lost <= on_medium else 'lost'} {sorted(lost)}"


def require_listed(medium: Objects, manifest: Manifest, whose: str) -> None:
    """Require that a manifest of which somebody was told that it is there counts."""
    epoch = epoch_of(medium)
    listed = counted(known(medium, epoch, MANIFEST), newest_sweep(medium, epoch))
    assert manifest in listed, f"{whose} was told that {manifest.owner}'s backup is there, and it counts no longer"

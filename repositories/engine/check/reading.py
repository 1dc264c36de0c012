"""What a check learns of packs: those that are missing or cut, those that it reads, and those known as damaged.

Owns which packs are read, until when, and which chunks are lost for what was found. Of packs that are good nothing is
kept but their ids.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from repositories.engine.check.ledger import Ledger, reading_order, standing_damage
from repositories.engine.check.packs import MISSING, read_packs, why_missing
from repositories.engine.check.places import Places, Unlisted
from repositories.engine.check.pulse import Pulse
from repositories.engine.check.remembering import Memory
from repositories.engine.check.report import Beat, CheckRequest, Findings, PackResult
from repositories.engine.display import show_count
from repositories.engine.format.kinds import DIRECTORIES, ObjectKind, object_name
from repositories.engine.packs.directory import PackRecord
from repositories.engine.prune.compact import IndexedPack
from repositories.engine.repository import Repository
from repositories.engine.sessions.presence import pack_sizes
from repositories.engine.sessions.views import read_swept_packs


@dataclass(slots=True)
class PackLook:
    """What was learned. `bad` holds what something is wrong with, by pack; `chunks` were read and good."""

    read: set[bytes] = field(default_factory=set)
    bad: dict[bytes, PackResult] = field(default_factory=dict)
    chunks: int = 0
    bytes_read: int = 0
    twice: int = 0

    def take(self, result: PackResult) -> None:
        """Take the result of a pack that was to be read."""
        if not result.barred and (result.failure is None or not result.failure.startswith(MISSING)):
            self.read.add(result.pack.pack_id)
            self.bytes_read += result.pack.length
        self.chunks += result.chunks
        self.twice += result.twice
        if result.failure is not None:
            self.bad[result.pack.pack_id] = result

    @property
    def judged(self) -> set[bytes]:
        """The packs of which something was learned: not those that may not be read here."""
        return self.read | {pack_id for pack_id, result in self.bad.items() if not result.barred}


@dataclass(frozen=True, slots=True)
class PackCheck:
    """Looks at the packs of one check. `ledger` and `memory`: what earlier ones have found, and what this one finds.

    Those before number `first` are passed over: they were looked at before.
    """

    repository: Repository
    places: Places
    request: CheckRequest
    ledger: Ledger
    memory: Memory
    first: int = 0

    def look(self, pulse: Pulse, found: PackLook | None = None) -> PackLook:
        """Compare sizes, read what is to be read, add what is known. What was read is recorded when this returns.

        What is learned is added to `found`. Raises what reading raises, with all results so far recorded.
        """
        found = PackLook() if found is None else found
        odd = check_sizes(self.repository, self.places, self.first)
        try:
            for result in read_packs(self.repository, self._chosen(odd, pulse), pulse):
                found.take(result)
                self._remember(result)
                pulse.packs, pulse.bytes_read = len(found.read), found.bytes_read
            judged = found.judged
            for pack_id, result in odd.items():
                if pack_id not in judged:
                    found.bad[pack_id] = result
                    self._remember(result)
            self.memory.record()
        except BaseException:
            self.memory.save()
            raise
        for result in standing_damage(self.places, self.ledger, found.judged):
            found.bad[result.pack.pack_id] = result
        return found

    def _chosen(self, odd: Iterable[bytes], pulse: Pulse) -> Iterator[PackRecord]:
        doubtful = {record.pack_id for record in self.ledger.damage.values()}
        doubtful = doubtful | set(odd) if self.request.read_data else doubtful - set(odd)
        chosen = reading_order(self.places.packs[self.first :], self.ledger, doubtful, self.request)
        pulse.phase = "reading packs" if chosen else pulse.phase
        # The records are made one by one: all of them would take more memory than the index.
        return (self.places.record_of(pack.pack_id) for pack in pulse.in_time(chosen))

    def _remember(self, result: PackResult) -> None:
        if without_swept(self.repository, (result,)):
            self.memory.take(result)


def check_sizes(repository: Repository, places: Places, first: int = 0) -> dict[bytes, PackResult]:
    """Compare the medium's packs with the index; return those that are missing or cut, with all their chunks as bad.

    Packs before number `first` are passed over.
    """
    sizes = pack_sizes(repository.storage)
    wrong: dict[bytes, PackResult] = {}
    for pack in places.packs[first:]:
        size = sizes.get(pack.pack_id)
        if size != pack.length:
            missing = None if size is not None else why_missing(repository, pack.pack_id)
            failure = missing or f"it has {size} bytes; the index says {pack.length}"
            chunks = tuple(places.chunks_of(pack.pack_id))
            wrong[pack.pack_id] = PackResult(places.record_of(pack.pack_id), 0, chunks, failure, read=False)
    return wrong


def without_swept(repository: Repository, results: Iterable[PackResult]) -> list[PackResult]:
    """Return results without packs that are missing because a prune took them away since the index was read.

    Nothing needs those: a prune that began after this session waits for its end (engine.md, section 5).
    """
    kept = list(results)
    if all(result.failure != MISSING for result in kept):
        return kept
    swept = read_swept_packs(repository.store)
    return [result for result in kept if result.failure != MISSING or result.pack.pack_id not in swept]


def lost_chunks(places: Places, bad: Iterable[PackResult]) -> frozenset[bytes]:
    """Return the chunks that no pack gives back: bad in one, and in no other that is good."""
    bad_in = {result.pack.pack_id: frozenset(result.bad) for result in bad if result.bad}
    lost: set[bytes] = set()
    for chunks in bad_in.values():
        for chunk in chunks:
            if all(chunk in bad_in.get(pack_id, ()) for pack_id in places.packs_with(chunk)):
                lost.add(chunk)
    return frozenset(lost)


def report_packs(repository: Repository, bad: Iterable[PackResult], lost: frozenset[bytes], findings: Findings) -> int:
    """Report the packs that something is wrong with; return how many hold nothing that is lost for it.

    Those were stored again by a later backup: nothing needs them, and only a prune can take them out of the index.
    """
    replaced = 0
    for result in without_swept(repository, bad):
        if result.bad and lost.isdisjoint(result.bad):
            replaced += 1
        else:
            failure = result.failure or "it is damaged"
            findings.add("pack", object_name(ObjectKind.PACK, result.pack.pack_id), failure)
    return replaced


def gone_packs(bad: Iterable[PackResult], lost: frozenset[bytes]) -> frozenset[bytes]:
    """Return the packs that are not there any more and whose content lies whole in others: nothing of them is to prove.

    One in whose place something else lies is none of them: it may be put back.
    """
    gone = (each for each in bad if each.failure == MISSING and each.bad)
    return frozenset(each.pack.pack_id for each in gone if lost.isdisjoint(each.bad))


def report_unlisted(unlisted: Unlisted, findings: Findings, *, read: bool) -> None:
    """Report an index that lacks packs which backups need; `read`: this check reads those like all others."""
    if unlisted.needed:
        held = f"{show_count(unlisted.found, 'pack')} that no readable index segment names"
        rest = "what of it is whole can be restored, more slowly" if read else "it can be restored, if it is whole"
        findings.add("index", DIRECTORIES[ObjectKind.INDEX], f"backups need what lies in {held}; {rest}")


def unused(
    places: Places, packs: Iterable[IndexedPack], is_used: Callable[[bytes], bool], beat: Beat
) -> tuple[int, int]:
    """Return how many of these packs hold no chunk that is used, and their bytes."""
    count = total = 0
    for pack in packs:
        beat()
        if not any(map(is_used, places.chunks_of(pack.pack_id))):
            count, total = count + 1, total + pack.length
    return count, total

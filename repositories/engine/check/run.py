"""Runs a check of a repository.

Owns the order: small objects, packs, content if asked for, then what all that means for the backups.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from repositories.engine.backup.options import Hooks
from repositories.engine.check.copies import Suspects, check_copies, confirm_suspects
from repositories.engine.check.ledger import Ledger, prove, read_ledger, reading_order, standing_damage
from repositories.engine.check.links import check_links
from repositories.engine.check.packs import (
    check_sizes,
    ids_of,
    read_packs,
    report_packs,
    report_recovery,
    unreferenced,
    unused,
    without_swept,
)
from repositories.engine.check.references import ReferenceCheck
from repositories.engine.check.remembering import Memory
from repositories.engine.check.report import CheckReport, CheckRequest, Findings, HurtBackup, PackResult
from repositories.engine.check.reserve import state_of_reserve
from repositories.engine.check.void import void_manifests
from repositories.engine.display import show_text
from repositories.engine.errors import IntegrityError, OperationCancelledError
from repositories.engine.format.kinds import ObjectKind, object_name
from repositories.engine.manifest.backups import Backup
from repositories.engine.manifest.root import decode_root
from repositories.engine.packs.directory import PackRecord
from repositories.engine.progress import Progress
from repositories.engine.repository import ChunkReader, Repository

_SECONDS_BETWEEN = 0.2

Packs = Mapping[bytes, PackRecord]


class _Pulse:
    """Cancel and progress, asked several times a second; and the time after which nothing more is read."""

    def __init__(self, hooks: Hooks, until: float | None) -> None:
        self._hooks = hooks
        self._until = until
        self.stopped = False
        self._next = 0.0
        self.phase = "checking"
        self.packs = 0
        self.bytes_read = 0

    def __call__(self) -> None:
        now = self._hooks.clock.monotonic()
        if now < self._next:
            return
        self._next = now + _SECONDS_BETWEEN
        if self._hooks.cancelled():
            raise OperationCancelledError("the check was cancelled", hint="run it again")
        self._hooks.report(Progress(self.phase, self.packs, self.bytes_read, 0, b""))

    def in_time(self, packs: Iterable[PackRecord]) -> Iterator[PackRecord]:
        """Yield packs until the time is over."""
        for pack in packs:
            if self._until is not None and self._hooks.clock.monotonic() >= self._until:
                self.stopped = True
                return
            yield pack


def check(repository: Repository, request: CheckRequest, hooks: Hooks) -> CheckReport:
    """Check a repository; return what is wrong with it. Whatever is damaged is reported, not raised.

    What was read is remembered also when the check ends early. Raises OperationCancelledError, the medium's errors.
    """
    with repository.begin_read():
        return _check(repository, request, hooks)


def _check(repository: Repository, request: CheckRequest, hooks: Hooks) -> CheckReport:
    began_ns = hooks.clock.now_ns()
    until = None if request.max_seconds is None else hooks.clock.monotonic() + request.max_seconds
    findings, pulse, suspects = Findings(), _Pulse(hooks, until), Suspects()
    if repository.refuse_writing is not None:
        findings.add("rollback", repository.id, repository.refuse_writing.message)
    objects = check_copies(repository, suspects, pulse)
    # Backups before the index: what is committed meanwhile refers to packs that an older index does not know.
    backups = _backups(repository, findings)
    reader = _reader(repository)
    packs = reader.index.packs()
    ledger = read_ledger(repository.store, began_ns)
    memory = Memory(repository.store, ledger, hooks.clock, request.record_seconds)
    memory.possible = request.remember
    results = _check_packs(repository, packs, (request, ledger, memory), pulse)
    lost = _lost_chunks(packs, results)
    replaced = report_packs(repository, results, lost, findings)
    references = ReferenceCheck(reader, lost, pulse)
    hurt = _check_backups(references, backups, findings, pulse)
    report_recovery(reader.recovery, findings)
    half_done = confirm_suspects(repository, suspects, findings)
    # What is hurt may name chunks that were not come to.
    useless = (0, 0) if findings.count else unused(packs.values(), references.names, pulse)
    found = _Found(objects, len(backups), packs, results, references, useless)
    return replace(
        _report(repository, found, pulse),
        problem_count=findings.count,
        problems=findings.problems,
        remembered=memory.finish(hurt),
        hurt=list(hurt.values()),
        half_done=half_done,
        replaced_packs=replaced,
        healed_packs=memory.healed,
        proof=prove(packs, ledger, results, began_ns),
    )


@dataclass(frozen=True, slots=True)
class _Found:
    """Parts of a report on their way into it."""

    objects: int
    backups: int
    packs: Packs
    results: Sequence[PackResult]
    references: ReferenceCheck
    unused: tuple[int, int]


def _report(repository: Repository, found: _Found, pulse: _Pulse) -> CheckReport:
    """Return what can be counted; problems and what is remembered are put in afterwards."""
    return CheckReport(
        backups=found.backups,
        packs=len(found.packs),
        objects=found.objects,
        chunks_referenced=found.references.chunks,
        chunks_read=sum(result.chunks for result in found.results),
        bytes_read=pulse.bytes_read,
        unreferenced_packs=unreferenced(repository, found.packs),
        replaced_packs=0,
        problem_count=0,
        remembered=False,
        unused_packs=found.unused[0],
        unused_bytes=found.unused[1],
        read_twice=sum(result.twice for result in found.results),
        reserve=state_of_reserve(repository.storage),
        stopped=pulse.stopped,
        void_manifests=len(void_manifests(repository)),
        suspect=tuple(result for result in found.results if result.failure is not None),
    )


def _backups(repository: Repository, findings: Findings) -> list[Backup]:
    present = _decodable(repository, findings)
    check_links(repository, present, findings)
    return [backup for backup in present if not backup.deleted]


def _reader(repository: Repository) -> ChunkReader:
    reader = repository.reader()
    if repository.catalogue.lost() and reader.recovery is not None and reader.recovery.run():
        reader.recovery.note_need()
    return reader


def _check_backups(
    references: ReferenceCheck, backups: Iterable[Backup], findings: Findings, pulse: _Pulse
) -> dict[str, HurtBackup]:
    pulse.phase = "checking backups"
    return {
        backup.manifest_id: each
        for backup in backups
        if (each := _check_backup(references, backup, findings)) is not None
    }


_Reading = tuple[CheckRequest, Ledger, Memory]


def _check_packs(repository: Repository, packs: Packs, reading: _Reading, pulse: _Pulse) -> list[PackResult]:
    """Return what is known of packs: of those that are read, that have a wrong size, and that are known as damaged."""
    request, ledger, memory = reading
    odd = {result.pack.pack_id: result for result in check_sizes(repository, packs.values())}
    doubtful = {record.pack_id for record in ledger.damage.values()} - odd.keys()
    if request.read_data:
        doubtful |= odd.keys()
    chosen = reading_order(packs.values(), ledger, doubtful, request)
    pulse.phase = "reading packs" if chosen else pulse.phase
    results: dict[bytes, PackResult] = {}
    try:
        for result in read_packs(repository, pulse.in_time(chosen), pulse):
            results[result.pack.pack_id] = result
            for known in without_swept(repository, (result,)):
                memory.take(known)
            pulse.packs += 1
            pulse.bytes_read += result.pack.length
    except BaseException:
        memory.save()
        raise
    unread = {pack_id: result for pack_id, result in odd.items() if pack_id not in results}
    results |= unread
    for result in without_swept(repository, unread.values()):
        memory.take(result)
    return [*results.values(), *standing_damage(packs, ledger, results)]


def _lost_chunks(packs: Packs, results: Sequence[PackResult]) -> frozenset[bytes]:
    """Return the chunks that no pack gives back: bad in one, and in no other that is good."""
    bad_in: dict[bytes, set[bytes]] = {result.pack.pack_id: set(result.bad) for result in results if result.bad}
    candidates = {chunk for chunks in bad_in.values() for chunk in chunks}
    if not candidates:
        return frozenset()
    saved = {
        chunk
        for pack in packs.values()
        for chunk in ids_of(pack)
        if chunk in candidates and chunk not in bad_in.get(pack.pack_id, ())
    }
    return frozenset(candidates - saved)


def _decodable(repository: Repository, findings: Findings) -> list[Backup]:
    """Return the backups, also the deleted ones: what those name must not be gone unseen either."""
    backups: list[Backup] = []
    for stored in repository.backups(deleted=True):
        try:
            root = decode_root(stored.root)
        except IntegrityError as error:
            if not stored.deleted:
                findings.add("manifest", stored.name, error.message)
            continue
        backups.append(Backup(stored.object_id, stored.received_ns, root, stored.deleted))
    for name in repository.damaged_manifests():
        findings.add("manifest", name, "no copy of it can be read: this backup is lost")
    return backups


def _check_backup(references: ReferenceCheck, backup: Backup, findings: Findings) -> HurtBackup | None:
    try:
        hurt = references.check(backup.root)
    except IntegrityError as error:
        findings.add("manifest", object_name(ObjectKind.MANIFEST, bytes.fromhex(backup.manifest_id)), error.message)
        return HurtBackup(backup.id, show_text(backup.source_name), backup.root.statistics.entries, ())
    if not hurt.count:
        return None
    first = f", the first is {hurt.paths[0]}" if hurt.paths else ""
    findings.add("chunk", backup.id, f"{hurt.count} objects of this backup cannot be restored{first}")
    return HurtBackup(backup.id, show_text(backup.source_name), hurt.count, tuple(hurt.paths))

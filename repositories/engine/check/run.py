"""Runs a check of a repository.

Owns the order: small objects, packs, content if asked for, what all that means for the backups, what else is there.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace

from repositories.engine.backup.options import Hooks
from repositories.engine.check.copies import LoneCopies, SmallObjects, check_copies, confirm_suspects
from repositories.engine.check.leavings import Leavings
from repositories.engine.check.ledger import Ledger, prove, read_ledger
from repositories.engine.check.links import check_links
from repositories.engine.check.places import Places, PlacesReader, Unlisted, read_places
from repositories.engine.check.pulse import Pulse
from repositories.engine.check.reading import (
    PackCheck,
    PackLook,
    gone_packs,
    lost_chunks,
    report_packs,
    report_unlisted,
    unused,
)
from repositories.engine.check.references import ReferenceCheck
from repositories.engine.check.remembering import Memory
from repositories.engine.check.report import CheckReport, CheckRequest, Findings, HurtBackup, Proof
from repositories.engine.check.reserve import state_of_reserve
from repositories.engine.check.surroundings import Surroundings, look_around
from repositories.engine.check.void import void_manifests
from repositories.engine.display import show_count, show_text
from repositories.engine.errors import EngineError, IntegrityError, InventoryLostError
from repositories.engine.format.kinds import ObjectKind, object_name
from repositories.engine.manifest.backups import Backup
from repositories.engine.manifest.root import decode_root
from repositories.engine.repository import Repository, StoredManifest
from repositories.engine.sessions.fences import FenceLostError
from repositories.engine.sessions.views import read_newest_sweep

_TRIES = 3


def check(repository: Repository, request: CheckRequest, hooks: Hooks) -> CheckReport:
    """Check a repository; return what is wrong with it. Whatever is damaged is reported, not raised.

    What was read is remembered also when the check ends early. Raises OperationCancelledError, the medium's errors.
    """
    until = None if request.max_seconds is None else hooks.clock.monotonic() + request.max_seconds
    for _ in range(_TRIES):
        before = _newest_number(repository)
        with repository.begin_read() as session:
            report = _check(repository, request, hooks, until)
            # A prune that began later waits for our lease, unless it took us for dead, since we slept, or saw none.
            overtaken = _newest_number(repository) > max(session.fence, before)
        if report.ok or not overtaken:
            break
    return report


@dataclass(frozen=True, slots=True)
class _Work:
    """What one check goes by, and where it puts what is wrong."""

    repository: Repository
    places: Places
    unlisted: Unlisted
    memory: Memory
    ledger: Ledger
    findings: Findings
    pulse: Pulse


@dataclass(frozen=True, slots=True)
class _Found:
    """Parts of a report on their way into it."""

    small: SmallObjects
    lone: LoneCopies
    look: PackLook
    backups: int
    references: ReferenceCheck
    around: Surroundings
    hurt: dict[str, HurtBackup]
    replaced: int
    gone: int
    unused: tuple[int, int]
    proof: Proof


def _check(repository: Repository, request: CheckRequest, hooks: Hooks, until: float | None) -> CheckReport:
    began_ns = hooks.clock.now_ns()
    findings, pulse = Findings(), Pulse(hooks, until)
    refused = repository.refuse_writing
    if refused is not None:
        findings.add(kind_of_refusal(refused), repository.id, refused.message)
    small = check_copies(repository, pulse)
    # Backups before the index: what is committed meanwhile refers to packs that an older index does not know.
    listed = repository.backups(deleted=True)
    present = _decodable(repository, listed, findings)
    check_links(repository, present, findings)
    places, unlisted = _places(repository, pulse)
    ledger = read_ledger(repository.store, began_ns)
    memory = Memory(repository.store, ledger, hooks.clock, request.record_seconds)
    # Nothing is written into an earlier state, which somebody may want to look at as it is.
    memory.possible = request.remember and repository.refuse_writing is None
    work = _Work(repository, places, unlisted, memory, ledger, findings, pulse)
    packs = PackCheck(repository, places, request, ledger, memory)
    known = frozenset(stored.object_id for stored in listed)
    return _report(work, _look_and_judge(work, packs, (small, present), began_ns), known)


def kind_of_refusal(refused: EngineError) -> str:
    """Return what is wrong where nothing may be written."""
    kinds: dict[type[EngineError], str] = {InventoryLostError: "inventory", FenceLostError: "sweep"}
    return kinds.get(type(refused), "rollback")


def _look_and_judge(work: _Work, packs: PackCheck, seen: tuple[SmallObjects, list[Backup]], began_ns: int) -> _Found:
    """Look at the packs, and tell what that means; again with those that no segment names, if backups need them."""
    small, present = seen
    before, listed = work.findings.count, len(work.places.packs)
    look = packs.look(work.pulse)
    found = _judge(work, packs.request, (small, look, present), began_ns)
    if not work.unlisted.needed or len(work.places.packs) == listed:
        return found
    # Which packs are needed is known only now; to read all that lie in no index would be to read after all writers.
    work.findings.back_to(before)
    look = replace(packs, first=listed).look(work.pulse, look)
    return _judge(work, packs.request, (small, look, present), began_ns)


def _places(repository: Repository, pulse: Pulse) -> tuple[Places, Unlisted]:
    places, lost = read_places(repository.store, pulse)
    unlisted = Unlisted(repository, places)
    if lost and unlisted.run():
        unlisted.needed = True
    return places, unlisted


def _judge(
    work: _Work, request: CheckRequest, seen: tuple[SmallObjects, PackLook, list[Backup]], began_ns: int
) -> _Found:
    """Find out what all that means for the backups; report it to the findings."""
    small, look, present = seen
    repository, places, findings = work.repository, work.places, work.findings
    lost = lost_chunks(places, look.bad.values())
    replaced = report_packs(repository, look.bad.values(), lost, findings)
    references = ReferenceCheck(PlacesReader(repository, places, work.unlisted), lost, work.pulse)
    backups = [backup for backup in present if not backup.deleted]
    hurt = _check_backups(references, backups, findings, work.pulse)
    report_unlisted(work.unlisted, findings, read=request.read_data)
    # What is hurt or lost may name chunks that were not come to.
    doubtful = findings.count > 0

    def is_needed(pack_id: bytes) -> bool:
        chunks = places.chunks_of(pack_id) if places.number_of(pack_id) is not None else ()
        return doubtful or any(map(references.names, chunks))

    lone = confirm_suspects(repository, small, Leavings(repository, is_needed), findings)
    around = look_around(repository, places.packs, look.bad.keys())
    for pack_id in around.vanished:
        findings.add("pack", object_name(ObjectKind.PACK, pack_id), "it vanished while the check went on: check again")
    gone = gone_packs(look.bad.values(), lost)
    there = [pack for pack in places.packs if pack.pack_id not in around.swept | gone]
    return _Found(
        small=small,
        lone=lone,
        look=look,
        backups=len(backups),
        references=references,
        around=around,
        hurt=hurt,
        replaced=replaced,
        gone=len(gone - around.swept),
        unused=(0, 0) if findings.count else unused(places, there, references.names, work.pulse),
        proof=prove(there, work.ledger, (look.read, look.bad.keys()), began_ns),
    )


def _report(work: _Work, found: _Found, known: Collection[str]) -> CheckReport:
    """Record what is left to be recorded, and return what was found. `known` manifests were listed at the beginning."""
    repository, findings, look = work.repository, work.findings, found.look
    late = [stored for stored in repository.backups() if stored.object_id not in known]
    return CheckReport(
        backups=found.backups,
        packs=found.proof.packs,
        objects=found.small.count,
        chunks_referenced=found.references.chunks,
        chunks_read=look.chunks,
        bytes_read=look.bytes_read,
        unreferenced_packs=found.around.unlisted.count,
        replaced_packs=found.replaced,
        gone_packs=found.gone,
        problem_count=findings.count,
        remembered=work.memory.finish(found.hurt),
        unused_packs=found.unused[0],
        unused_bytes=found.unused[1],
        proof=found.proof,
        healed_packs=work.memory.healed,
        read_twice=look.twice,
        reserve=state_of_reserve(repository.storage),
        stopped=work.pulse.stopped,
        void_manifests=len(void_manifests(repository)),
        half_done=found.lone.half_done,
        left_over=found.lone.left_over,
        late_backups=len(late),
        older_objects=found.small.older,
        disowned_objects=found.small.disowned,
        passed_by_objects=found.small.passed_by,
        around=found.around,
        suspect=tuple(look.bad.values()),
        problems=findings.problems,
        hurt=list(found.hurt.values()),
    )


def _newest_number(repository: Repository) -> int:
    """Return the number of the newest sweep; 0 where none can be told."""
    try:
        return read_newest_sweep(repository.store).number
    except IntegrityError:
        return 0


def _check_backups(
    references: ReferenceCheck, backups: Iterable[Backup], findings: Findings, pulse: Pulse
) -> dict[str, HurtBackup]:
    pulse.phase = "checking backups"
    return {
        backup.manifest_id: each
        for backup in backups
        if (each := _check_backup(references, backup, findings)) is not None
    }


def _decodable(repository: Repository, listed: Iterable[StoredManifest], findings: Findings) -> list[Backup]:
    """Return the backups, also the deleted ones: what those name must not be gone unseen either."""
    backups: list[Backup] = []
    for stored in listed:
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
    findings.add("chunk", backup.id, f"{show_count(hurt.count, 'object')} of this backup cannot be restored{first}")
    return HurtBackup(backup.id, show_text(backup.source_name), hurt.count, tuple(hurt.paths))

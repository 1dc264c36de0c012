"""Runs a copy: which backups, each of them carried over and committed, oldest first.

Owns the order, and what ends one backup or the whole copy: damage in the origin ends the backup that it hurts; all else
ends the copy, and what was committed stays.
"""

from collections.abc import Sequence

from repositories.engine.backup.options import Hooks
from repositories.engine.copying.carriers import Carrier, RelatedCarrier, UnrelatedCarrier, are_related, missing_of
from repositories.engine.copying.needs import Needs
from repositories.engine.copying.origin import Origin, Pulse
from repositories.engine.copying.request import CopiedBackup, CopyReport, CopyRequest, FailedCopy
from repositories.engine.copying.session import CopySession
from repositories.engine.copying.standing import TargetBackups, root_in_target
from repositories.engine.copying.structure import Structure
from repositories.engine.errors import ConfigurationError, EngineError, IntegrityError, ObjectMissingError
from repositories.engine.format.commits import CopiedFrom
from repositories.engine.manifest.backups import Backup, find_backup, list_backups
from repositories.engine.repository import Repository, WriteOptions

_DAMAGED = (IntegrityError, ObjectMissingError)


def copy_backups(origin: Repository, target: Repository, request: CopyRequest, hooks: Hooks) -> CopyReport:
    """Copy backups of `origin` that `target` does not have yet; return what was done, damage included.

    Every chunk that is read is authenticated and hashed again. A backup is visible in the target when all of it is
    durable there, never before. Raises OperationCancelledError, ConfigurationError, BackupNotFoundError, and the errors
    of both media; what was committed until then stays, and the next copy goes on from there.
    """
    if origin.id == target.id:
        raise ConfigurationError(
            f"both locations hold the repository {origin.id}", hint="name another repository to copy to"
        )
    if not request.dry_run:
        target.require_writable()
    with origin.begin_read():
        backups = _chosen(origin, request)
        return _Copy(origin, target, request, hooks).run(backups)


def _chosen(origin: Repository, request: CopyRequest) -> list[Backup]:
    """Return the backups to copy, oldest first, none twice."""
    wanted = {find_backup(origin, each, request.source).manifest_id for each in request.backups}
    return [
        backup
        for backup in list_backups(origin)
        if (backup.manifest_id in wanted if request.backups else request.source in (None, backup.source_name))
    ]


class _Copy:
    """One copy on its way."""

    def __init__(self, origin: Repository, target: Repository, request: CopyRequest, hooks: Hooks) -> None:
        self._repository = origin
        self._target = target
        self._request = request
        self._hooks = hooks
        self._pulse = Pulse(hooks)
        self._standing = TargetBackups(target, origin.config.repository_id)
        self._hurt = target.hurt_manifests()
        self._roots = {stored.object_id: stored.root for stored in origin.backups()}
        self._backups = list_backups(origin)
        self._learned: set[str] = set()
        self._report = CopyReport(related=are_related(origin, target))
        if not request.backups:
            self._report.damaged_manifests.extend(origin.damaged_manifests())

    def run(self, backups: Sequence[Backup]) -> CopyReport:
        """Copy those that the target lacks, and heal those that it has and cannot restore."""
        waiting = [each for each in backups if self._is_wanted(each)]
        if not waiting:
            return self._report
        origin = Origin(self._repository, self._pulse)
        structure = Structure(origin)
        if self._request.dry_run:
            self._rehearse(origin, waiting, structure)
            return self._report
        options = WriteOptions(compression=self._request.compression)
        with CopySession(self._target, options, self._request.flush_seconds) as session:
            self._pulse.stored = lambda: session.stored_bytes
            related = self._report.related
            carrier: Carrier = RelatedCarrier(origin, session) if related else UnrelatedCarrier(origin, session)
            try:
                for backup in waiting:
                    self._one(backup, (structure, carrier), session)
            except EngineError:
                # What is durable by now is found by the next copy; a session that failed says so again.
                session.flush()
                raise
            session.flush()
            self._tell_figures(session)
        return self._report

    def _is_wanted(self, backup: Backup) -> bool:
        known = self._standing.find(backup.id)
        if known is None:
            return True
        if known.deleted:
            self._report.deleted_there += 1
            return False
        if known.manifest_id in self._hurt:
            return True
        self._report.there += 1
        return False

    def _rehearse(self, origin: Origin, waiting: Sequence[Backup], structure: Structure) -> None:
        needs, index = Needs(origin), self._target.reader().index
        for backup in waiting:
            try:
                structure.require_whole(backup.root)
                needs.walk(backup.root)
            except _DAMAGED as error:
                needs.take_back()
                self._report.failed.append(FailedCopy(backup, error.message))
                continue
            there = index if self._report.related else None
            self._take_note(backup, "", missing_of(origin, needs, there))

    def _one(self, backup: Backup, way: tuple[Structure, Carrier], session: CopySession) -> None:
        structure, carrier = way
        before = carrier.missing_bytes
        self._learn(backup, carrier)
        try:
            structure.require_whole(backup.root)
            changes = carrier.carry(backup.root, self._roots[backup.manifest_id])
        except _DAMAGED as error:
            # If it was the target, its session is poisoned and says so here.
            session.flush()
            carrier.take_back()
            self._report.failed.append(FailedCopy(backup, error.message))
            return
        missing = carrier.missing_bytes - before
        self._standing.look()
        known = self._standing.find(backup.id)
        if known is not None:
            # Stored by another copy meanwhile, or there before, and hurt: what it lacked is stored again.
            session.flush()
            self._take_note(backup, known.manifest_id, missing)
            return
        root = root_in_target(
            self._roots[backup.manifest_id], changes, self._standing.lineage_for(backup.root, backup.received_ns)
        )
        origin_id, manifest_id = self._repository.config.repository_id, bytes.fromhex(backup.manifest_id)
        session.coming = CopiedFrom(origin_id, manifest_id, self._hooks.clock.now_ns()), backup.received_ns
        self._take_note(backup, session.commit(root, self._hooks.confirm), missing)
        self._standing.look()

    def _learn(self, backup: Backup, carrier: Carrier) -> None:
        """Let the newest backup of the source that was copied before say what is there; once for each source."""
        if backup.source_name in self._learned:
            return
        self._learned.add(backup.source_name)
        for original in reversed(self._backups):
            known = self._standing.find(original.id) if original.source_name == backup.source_name else None
            if known is not None and known.copied_from == bytes.fromhex(original.manifest_id):
                carrier.learn(original.root, known.root)
                return

    def _take_note(self, backup: Backup, manifest_id: str, missing: int) -> None:
        healed = self._standing.find(backup.id) is not None
        (self._report.healed if healed else self._report.copied).append(CopiedBackup(backup, manifest_id, missing))
        self._pulse.backups += 1

    def _tell_figures(self, session: CopySession) -> None:
        self._report.bytes_read = self._pulse.bytes_read
        self._report.bytes_stored = session.stored_bytes
        self._report.new_chunks = session.new_chunks
        self._report.resealed_blocks = session.resealed_blocks

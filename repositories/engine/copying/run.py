"""Runs a copy: which backups, each of them carried over and committed, oldest first.

Owns the order, and what ends one backup or the whole copy: damage in the origin ends the backup that it hurts; all else
ends the copy, and what was committed stays.
"""

import dataclasses
from collections.abc import Sequence

from msgspec import structs

from repositories.engine.backup.options import Hooks
from repositories.engine.copying.carriers import Carrier, RelatedCarrier, UnrelatedCarrier, are_related, missing_of
from repositories.engine.copying.labels import Labels, Pair
from repositories.engine.copying.needs import Needs
from repositories.engine.copying.origin import Origin, Pulse, require_medium
from repositories.engine.copying.request import CopiedBackup, CopyReport, CopyRequest, FailedCopy
from repositories.engine.copying.session import CopySession
from repositories.engine.copying.standing import Standing, TargetBackups, root_in_target
from repositories.engine.copying.structure import Structure
from repositories.engine.errors import (
    CommitRefusedError,
    ConfigurationError,
    EngineError,
    IntegrityError,
    ObjectMissingError,
)
from repositories.engine.format.commits import CopiedFrom
from repositories.engine.manifest.backups import Backup, find_backup, list_backups
from repositories.engine.repository import Repository, WriteOptions
from repositories.engine.sessions.taking_back import take_back

_DAMAGED = (IntegrityError, ObjectMissingError)
_COMMIT_TRIES = 5
_TWIN = "taken back by its writer: another copy brought the same backup at the same time"


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
        labels = Labels(origin, target, backups)
        # A medium that went away while it was listed shows nothing, which looks as if all were done.
        require_medium(origin)
        return _Copy(origin, target, request, hooks).run(backups, labels)


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
        self._roots = {stored.object_id: stored.root for stored in origin.backups(deleted=True)}
        self._backups = list_backups(origin)
        self._learned: set[str] = set()
        self._there: list[Pair] = []
        self._report = CopyReport(related=are_related(origin, target))
        if not request.backups:
            self._report.damaged_manifests.extend(origin.damaged_manifests())

    def run(self, backups: Sequence[Backup], labels: Labels) -> CopyReport:
        """Copy those that the target lacks, and heal those that it has and cannot restore."""
        waiting = [each for each in backups if self._is_wanted(each)]
        self._report.damaged_labels.extend(labels.damaged)
        labels.carry(self._there, self._report, dry_run=self._request.dry_run)
        if not waiting:
            return self._report
        origin = Origin(self._repository, self._pulse)
        structure = Structure(origin)
        if self._request.dry_run:
            self._rehearse(origin, waiting, structure)
            labels.carry([(each.backup, "") for each in self._report.copied], self._report, dry_run=True)
            return self._report
        options = WriteOptions(compression=self._request.compression, work="copy")
        with CopySession(self._target, options, self._request.flush_seconds) as session, self._request.guard(session):
            self._pulse.stored = lambda: session.stored_bytes
            related = self._report.related
            carrier: Carrier = RelatedCarrier(origin, session) if related else UnrelatedCarrier(origin, session)
            try:
                for backup in waiting:
                    copied = self._one(backup, (origin, structure, carrier), session)
                    labels.carry([(backup, copied)] if copied else [], self._report)
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
            if backup.manifest_id not in self._roots:
                self._report.gone.append(backup)
            return backup.manifest_id in self._roots
        if known.deleted:
            self._report.deleted_there += 1
            return False
        self._there.append((backup, known.manifest_id))
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
                missing = missing_of(origin, needs, index if self._report.related else None)
            except _DAMAGED as error:
                needs.take_back()
                self._tell_failed(backup, origin, error)
                continue
            there = self._standing.find(backup.id) is not None
            (self._report.healed if there else self._report.copied).append(CopiedBackup(backup, "", missing))
            self._pulse.backups += 1

    def _tell_failed(self, backup: Backup, origin: Origin, error: IntegrityError | ObjectMissingError) -> None:
        if origin.has_lost(backup):
            self._report.gone.append(backup)
        else:
            self._report.failed.append(FailedCopy(backup, error.message))

    def _one(self, backup: Backup, way: tuple[Origin, Structure, Carrier], session: CopySession) -> str:
        """Copy one backup; return the manifest (hex) that it has in the target now, empty if none that is listed."""
        origin, structure, carrier = way
        before = carrier.missing_bytes
        self._learn(backup, carrier)
        try:
            structure.require_whole(backup.root)
            changes = carrier.carry(backup.root, self._roots[backup.manifest_id])
            self._root_of(backup, changes)
        except _DAMAGED as error:
            # If it was the target, its session is poisoned and says so here.
            session.flush()
            carrier.take_back()
            self._tell_failed(backup, origin, error)
            return ""
        return self._settle(CopiedBackup(backup, "", carrier.missing_bytes - before), changes, session)

    def _settle(self, carried: CopiedBackup, changes: dict[int, object], session: CopySession) -> str:
        """Commit what was carried over, unless the target has it; return its manifest there as `_one` does."""
        backup = carried.backup
        for _ in range(_COMMIT_TRIES):
            self._standing.look()
            known = self._standing.find(backup.id)
            if known is not None:
                session.flush()
                self._tell_known(known, carried)
                return "" if known.deleted else known.manifest_id
            manifest_id = self._commit(backup, changes, session)
            if manifest_id is not None:
                self._report.copied.append(dataclasses.replace(carried, manifest_id=manifest_id))
                self._pulse.backups += 1
                return manifest_id
        raise CommitRefusedError(
            "other copies commit the same backups at the same time; those that were copied are whole",
            hint="run the copy again",
        )

    def _tell_known(self, known: Standing, carried: CopiedBackup) -> None:
        """Tell of a backup that was there before, and hurt, or that another copy has brought meanwhile."""
        if known.manifest_id in self._hurt:
            self._report.healed.append(dataclasses.replace(carried, manifest_id=known.manifest_id))
        elif known.deleted:
            self._report.deleted_there += 1
        else:
            self._report.there += 1
        self._pulse.backups += 1

    def _root_of(self, backup: Backup, changes: dict[int, object]) -> bytes:
        """Return the root of a copy that is committed now. Raises IntegrityError where no reader would take it."""
        lineage = self._standing.lineage_for(backup.root, backup.received_ns)
        return root_in_target(self._roots[backup.manifest_id], changes, lineage)

    def _commit(self, backup: Backup, changes: dict[int, object], session: CopySession) -> str | None:
        """Put the manifest of a copy and return its id, or None where another copy has put one at the same time.

        Each puts its own before it looks: of two at least one sees the other, and takes its own back.
        """
        session.coming = self._whence(backup), backup.received_ns
        manifest_id = session.commit(self._root_of(backup, changes), self._hooks.confirm)
        self._standing.look()
        if not self._standing.has_another(backup.id, manifest_id):
            return manifest_id
        take_back(self._target.store, bytes.fromhex(manifest_id), self._hooks.clock.now_ns(), _TWIN)
        return None

    def _whence(self, backup: Backup) -> CopiedFrom:
        """Return where this copy comes from, and, if that is a copy itself, where the first of them was made."""
        here = CopiedFrom(
            self._repository.config.repository_id, bytes.fromhex(backup.manifest_id), self._hooks.clock.now_ns()
        )
        earlier = backup.copied
        if earlier is None:
            return here
        first = (earlier.first_repository_id or earlier.repository_id, earlier.first_manifest_id or earlier.manifest_id)
        return structs.replace(here, first_repository_id=first[0], first_manifest_id=first[1])

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

    def _tell_figures(self, session: CopySession) -> None:
        self._report.bytes_read = self._pulse.bytes_read
        self._report.bytes_stored = session.stored_bytes
        self._report.new_chunks = session.new_chunks
        self._report.resealed_blocks = session.resealed_blocks

"""The end of every backup, whatever its source was: flush, root, confirmation, manifest, result.

Owns what a root says about source, run and lineage. Reads nothing of a source.
"""

from collections.abc import Callable

import msgspec

from repositories.engine.backup.describe import Figures
from repositories.engine.backup.options import BackupOptions, BackupResult, Hooks, SourceSpec
from repositories.engine.backup.parent import Lineage
from repositories.engine.backup.problem_log import ProblemLog
from repositories.engine.backup.pulse import Pulse
from repositories.engine.backup.session import BackupSession
from repositories.engine.ids import ChunkKind
from repositories.engine.manifest.backups import Backup
from repositories.engine.manifest.entries import Entry, StreamRef
from repositories.engine.manifest.problems import Severity
from repositories.engine.manifest.root import (
    MAX_OPTIONS,
    MODE_FULL,
    MODE_INCREMENTAL,
    BackupRoot,
    LineageRecord,
    OriginRecord,
    SourceRecord,
    Statistics,
    encode_root,
)
from repositories.engine.source.mounts import Mount

_PROGRAM = "syncova"


class BackupTask(msgspec.Struct, frozen=True):
    """One backup that has begun; what was stored before it belongs to others of the session.

    `mount` is the file system that the source's root lies on, if that is known.
    """

    session: BackupSession
    source: SourceSpec
    options: BackupOptions
    hooks: Hooks
    started_ns: int
    stored_before: int
    new_before: int
    mount: Mount | None = None


class Described(msgspec.Struct, frozen=True):
    """What was written of a source: the entry of its root directory, and the pages of all below."""

    top: Entry | None
    pages: StreamRef | None


def begin(session: BackupSession, source: SourceSpec, options: BackupOptions, hooks: Hooks) -> BackupTask:
    """Return the backup that begins now."""
    return BackupTask(session, source, options, hooks, hooks.clock.now_ns(), session.stored_bytes, session.new_chunks)


def usable_in(session: BackupSession) -> Callable[[Backup], bool]:
    """Return whether a backup can be a parent: one committed since the session began is not in its index."""

    def usable(backup: Backup) -> bool:
        pages = backup.root.pages
        return pages is None or session.has(ChunkKind.PAGE, pages.id)

    return usable


def commit(
    task: BackupTask, lineage: Lineage, made: tuple[Figures, Described], watch: tuple[ProblemLog, Pulse]
) -> BackupResult:
    """Make all durable, ask once more, and put the manifest; return what it says.

    `made` are the figures and the pages. Raises OperationCancelledError, ConfigurationError (names or tags too long),
    what the caller's confirmation raises, or a repository error.
    """
    problems, pulse = watch
    listed = problems.finish()
    task.session.flush()
    pulse.check_cancelled()
    root = root_of(task, lineage, made, watch, listed)
    manifest_id = task.session.commit(encode_root(root), task.hooks.confirm)
    pulse.bytes_stored = root.statistics.bytes_stored
    pulse.report("committed")
    return _result(root, manifest_id, problems)


def root_of(
    task: BackupTask,
    lineage: Lineage,
    made: tuple[Figures, Described],
    watch: tuple[ProblemLog, Pulse],
    listed: StreamRef | None = None,
) -> BackupRoot:
    """Return the root of what was made, as of now; that of a checkpoint lists no problems: the next try meets them."""
    problems, pulse = watch
    return BackupRoot(
        backup_id=task.options.backup_id,
        source=_source(task),
        origin=_origin(task),
        lineage=_lineage_record(task, lineage),
        started_ns=task.started_ns,
        finished_ns=task.hooks.clock.now_ns(),
        statistics=_statistics(task, made[0], problems, pulse),
        pages=made[1].pages,
        top_entry=made[1].top,
        problems=listed,
        problem_counts=problems.counts(),
    )


def _source(task: BackupTask) -> SourceRecord:
    source, mount = task.source, task.mount
    return SourceRecord(
        name=source.name,
        type=source.type,
        id=source.path,
        host=task.options.host,
        mount_point=None if mount is None else mount.point,
        file_system=None if mount is None else mount.type,
    )


def _origin(task: BackupTask) -> OriginRecord:
    options, source = task.options, task.source
    fits = sum(len(rule) for rule in source.excludes) <= MAX_OPTIONS
    return OriginRecord(
        run_id=options.run_id,
        trigger=options.trigger,
        scheduled_for_ns=options.scheduled_for_ns,
        run_fence=options.run_fence,
        tags=options.tags,
        excludes=source.excludes if fits else (),
        one_file_system=source.one_file_system,
        program=_PROGRAM,
        excludes_ignore_case=source.exclude_ignoring_case,
    )


def _lineage_record(task: BackupTask, lineage: Lineage) -> LineageRecord:
    parent = lineage.parent
    return LineageRecord(
        sequence=lineage.sequence,
        chain=parent.root.lineage.chain if parent is not None else task.options.backup_id,
        mode=MODE_INCREMENTAL if parent is not None else MODE_FULL,
        parent=parent.id if parent is not None else None,
        parent_manifest=bytes.fromhex(parent.manifest_id) if parent is not None else None,
        heads=lineage.heads,
        keyring_generation=task.session.repository.keyring.generation,
    )


def _statistics(task: BackupTask, figures: Figures, problems: ProblemLog, pulse: Pulse) -> Statistics:
    return Statistics(
        files=figures.files,
        directories=figures.directories,
        links=figures.links,
        others=figures.others,
        logical_bytes=figures.logical_bytes,
        bytes_read=pulse.bytes_read,
        bytes_stored=task.session.stored_bytes - task.stored_before,
        new_chunks=task.session.new_chunks - task.new_before,
        unchanged_files=figures.unchanged_files,
        skipped=problems.total(Severity.SKIPPED),
        warnings=problems.total(Severity.WARNING),
        notes=problems.total(Severity.NOTE),
    )


def _result(root: BackupRoot, manifest_id: str, problems: ProblemLog) -> BackupResult:
    statistics = root.statistics
    return BackupResult(
        backup_id=root.backup_id,
        manifest_id=manifest_id,
        parent_id=root.lineage.parent,
        chain=root.lineage.chain,
        mode=root.lineage.mode,
        files=statistics.files,
        directories=statistics.directories,
        links=statistics.links,
        others=statistics.others,
        logical_bytes=statistics.logical_bytes,
        bytes_read=statistics.bytes_read,
        bytes_stored=statistics.bytes_stored,
        new_chunks=statistics.new_chunks,
        skipped=statistics.skipped,
        warnings=statistics.warnings,
        notes=statistics.notes,
        started_ns=root.started_ns,
        finished_ns=root.finished_ns,
        sequence=root.lineage.sequence,
        problems=problems.first(),
        problem_counts=root.problem_counts,
    )

"""Runs one backup: walk, describe, write pages, commit.

Owns the order of steps and what ends a backup: a root that is missing, suddenly empty or no longer the same when all
has been read, cancel, any repository error.
Whatever happens before the commit leaves nothing visible.
"""

from collections.abc import Callable
from dataclasses import dataclass

from repositories.engine.backup.compare import Comparison
from repositories.engine.backup.content import FileReader
from repositories.engine.backup.describe import Describer, Workshop
from repositories.engine.backup.options import BackupOptions, BackupResult, Hooks, SourceSpec
from repositories.engine.backup.parent import Lineage, ParentCursor, choose_lineage
from repositories.engine.backup.problem_log import ProblemLog
from repositories.engine.backup.pulse import Pulse
from repositories.engine.backup.session import BackupSession
from repositories.engine.display import show_count, show_path
from repositories.engine.errors import SourceEmptyError, SourceError
from repositories.engine.ids import ChunkKind
from repositories.engine.manifest.backups import Backup
from repositories.engine.manifest.entries import Entry, StreamRef
from repositories.engine.manifest.entry_writer import EntryWriter
from repositories.engine.manifest.problems import ProblemKind, Severity
from repositories.engine.manifest.root import (
    MAX_HEADS,
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
from repositories.engine.source.excludes import ExcludeRules
from repositories.engine.source.filesystems import FileSystems
from repositories.engine.source.root import SourceRoot, identities, open_root
from repositories.engine.source.second_look import holds_something, require_standing
from repositories.engine.source.walker import Walker, WalkRules

_PROGRAM = "syncova"


@dataclass(frozen=True, slots=True)
class _Task:
    session: BackupSession
    source: SourceSpec
    options: BackupOptions
    hooks: Hooks
    started_ns: int
    stored_before: int
    new_before: int


@dataclass(frozen=True, slots=True)
class _Described:
    top: Entry | None
    pages: StreamRef | None


def back_up(session: BackupSession, source: SourceSpec, options: BackupOptions, hooks: Hooks) -> BackupResult:
    """Make one backup of `source` and commit it; return what it holds.

    Raises SourceError (the source as a whole cannot be backed up: go on with the next one), OperationCancelledError,
    ConfigurationError (bad rules), BackupExistsError, or a repository error, after which the session is of no more use.
    Single unreadable objects are problems of the result, not errors. The session may commit several backups, one after
    the other.
    """
    task = _Task(session, source, options, hooks, hooks.clock.now_ns(), session.stored_bytes, session.new_chunks)
    rules = WalkRules(
        ExcludeRules(source.excludes), source.one_file_system, identities(source.skip_paths), FileSystems()
    )
    names = (options.backup_id, source.name)
    lineage = choose_lineage(session.repository, names, options.parent, _usable_in(session), MAX_HEADS)
    problems = ProblemLog(session, strict=options.strict)
    pulse = Pulse(hooks)
    pulse.check_cancelled()
    root = open_root(source.path, rules.own)
    walker = Walker(root, rules, problems.report)
    try:
        describer, described = _describe_all(task, lineage, walker, (problems, pulse))
        _look_again(task, (root, rules), described, problems)
    finally:
        walker.close()
    _refuse_sudden_emptiness(task, lineage, described)
    pulse.report("storing")
    return _commit(task, lineage, (describer, described), (problems, pulse))


def _usable_in(session: BackupSession) -> Callable[[Backup], bool]:
    """Return whether a backup can be a parent: one committed since the session began is not in its index."""

    def usable(backup: Backup) -> bool:
        pages = backup.root.pages
        return pages is None or session.has(ChunkKind.PAGE, pages.id)

    return usable


def _unread_file(source: SourceSpec, problems: ProblemLog) -> str:
    reasons = [problem.detail for problem in problems.first()] or ["it vanished"]
    return f"source {show_path(source.path)}, a single file, could not be read: {reasons[0]}"


def _describe_all(
    task: _Task, lineage: Lineage, walker: Walker, watch: tuple[ProblemLog, Pulse]
) -> tuple[Describer, _Described]:
    problems, pulse = watch
    session, hooks = task.session, task.hooks
    chunks = session.reader()
    reader = FileReader(session, session.repository.chunker(), hooks.clock, pulse.taken)
    comparison = Comparison(session, chunks, task.source)
    describer = Describer(Workshop(session, reader, comparison, problems, pulse, hooks))

    def give_parent_up(reason: str) -> None:
        session.distrust_metadata()
        problems.report(ProblemKind.PARENT_UNREADABLE, b"", reason)

    cursor = ParentCursor(chunks, lineage.parent, give_parent_up)
    top = describer.top(walker.descriptor, walker.status) if walker.is_directory else None
    pages = _write_entries(walker, describer, cursor, (session, pulse))
    return describer, _Described(top, pages)


def _write_entries(
    walker: Walker, describer: Describer, cursor: ParentCursor, sinks: tuple[BackupSession, Pulse]
) -> StreamRef | None:
    session, pulse = sinks
    writer = EntryWriter(session)
    describe, find, add = describer.describe, cursor.find, writer.add
    for directory in walker.directories():
        pulse.current = directory.path
        writer.open_directory(directory.path)
        cursor.enter(directory.path)
        for name, status in directory.items():
            pulse.entry()
            raw = describe(directory, name, status, find(name))
            if raw is not None:
                add(name, raw)
        pulse.bytes_stored = session.stored_bytes
    return writer.finish()


def _look_again(task: _Task, walked: tuple[SourceRoot, WalkRules], described: _Described, problems: ProblemLog) -> None:
    """Things may vanish while a source is read, and are notes; the source may not (engine.md, section 3)."""
    root, rules = walked
    require_standing(root, ignore_inode=task.source.ignore_inode)
    if root.only is not None:
        if described.pages is None:
            raise SourceError(_unread_file(task.source, problems), hint="check that the file exists and may be read")
        return
    vanished = problems.any_of(ProblemKind.VANISHED)
    if described.pages is None and not vanished:
        # It was empty when it was listed: only the parent can tell whether that is right.
        return
    emptied = described.pages is None or not holds_something(root, rules)
    if emptied and not task.options.accept_new_root:
        raise SourceEmptyError(
            f"source {show_path(task.source.path)} was emptied while it was read: nothing of what it held is left",
            hint="is its file system mounted? if that is meant to happen, accept the new root; else run it again",
        )


def _refuse_sudden_emptiness(task: _Task, lineage: Lineage, described: _Described) -> None:
    """A file system that is not mounted looks like an empty directory: never a green backup of nothing."""
    parent = lineage.parent or lineage.previous
    if described.pages is not None or task.options.accept_new_root or parent is None:
        return
    if parent.root.statistics.entries > 0:
        raise SourceEmptyError(
            f"source {show_path(task.source.path)} is empty, but held "
            f"{show_count(parent.root.statistics.entries, 'entry')} in backup {parent.short_id}",
            hint="is its file system mounted? if it is meant to be empty, accept the new root",
        )


def _commit(
    task: _Task, lineage: Lineage, made: tuple[Describer, _Described], watch: tuple[ProblemLog, Pulse]
) -> BackupResult:
    problems, pulse = watch
    listed = problems.finish()
    task.session.flush()
    pulse.check_cancelled()
    finished_ns = task.hooks.clock.now_ns()
    root = BackupRoot(
        backup_id=task.options.backup_id,
        source=SourceRecord(task.source.name, task.source.type, task.source.path, task.options.host),
        origin=_origin(task),
        lineage=_lineage_record(task, lineage),
        started_ns=task.started_ns,
        finished_ns=finished_ns,
        statistics=_statistics(task, made[0], problems, pulse),
        pages=made[1].pages,
        top_entry=made[1].top,
        problems=listed,
        problem_counts=problems.counts(),
    )
    manifest_id = task.session.commit(encode_root(root), task.hooks.confirm)
    pulse.bytes_stored = root.statistics.bytes_stored
    pulse.report("committed")
    return _result(root, manifest_id, problems)


def _origin(task: _Task) -> OriginRecord:
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
    )


def _lineage_record(task: _Task, lineage: Lineage) -> LineageRecord:
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


def _statistics(task: _Task, describer: Describer, problems: ProblemLog, pulse: Pulse) -> Statistics:
    figures = describer.figures
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

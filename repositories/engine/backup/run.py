"""Runs one backup: walk, describe, write pages, commit.

Owns the order of steps and what ends a backup: a root that is missing, not mounted, suddenly empty or no longer the
same when all has been read, cancel, any repository error.
Whatever happens before the commit leaves nothing visible.
"""

import msgspec

from repositories.engine.backup.checkpoints import Checkpoints
from repositories.engine.backup.committing import BackupTask, Described, begin, commit, root_of, usable_in
from repositories.engine.backup.compare import Comparison
from repositories.engine.backup.content import FileReader
from repositories.engine.backup.describe import Describer, Workshop
from repositories.engine.backup.known import KnownEntries, places_to_look
from repositories.engine.backup.mount_watch import MountWatch
from repositories.engine.backup.options import BackupOptions, BackupResult, Hooks, SourceSpec
from repositories.engine.backup.parent import Lineage, choose_lineage
from repositories.engine.backup.problem_log import ProblemLog
from repositories.engine.backup.pulse import Pulse
from repositories.engine.backup.rereading import Rereading
from repositories.engine.backup.root_guard import RootGuard, open_guarded
from repositories.engine.backup.session import BackupSession
from repositories.engine.backup.standing import look_again
from repositories.engine.backup.walk_rules import walk_rules
from repositories.engine.backup.writing_entries import write_entries
from repositories.engine.manifest.entry_writer import EntryWriter
from repositories.engine.manifest.root import MAX_HEADS, encode_root
from repositories.engine.source.ahead import AheadWalk
from repositories.engine.source.walker import Walker


def back_up(session: BackupSession, source: SourceSpec, options: BackupOptions, hooks: Hooks) -> BackupResult:
    """Make one backup of `source` and commit it; return what it holds.

    Raises SourceError (the source as a whole cannot be backed up: go on with the next one), OperationCancelledError,
    ConfigurationError (bad rules), BackupExistsError, or a repository error, after which the session is of no more use.
    Single unreadable objects are problems of the result, not errors. The session may commit several backups, one after
    the other.
    """
    task = begin(session, source, options, hooks)
    rules = walk_rules(source)
    names = (options.backup_id, source.name)
    lineage = choose_lineage(session.repository, names, options.parent, usable_in(session), MAX_HEADS)
    problems = ProblemLog(session, strict=options.strict)
    pulse = Pulse(hooks)
    pulse.check_cancelled()
    root = open_guarded((source, options), lineage, rules.own)
    walker = Walker(root, rules, problems.report)
    walk = AheadWalk(walker, hooks.clock, pulse.beat, lambda line: hooks.log("warning", line))
    guard = RootGuard((source, options), lineage, root, hooks)
    task = msgspec.structs.replace(task, mount=guard.mount)
    checkpoints = Checkpoints(session, hooks.clock, pulse, options)
    with checkpoints.guarding():
        try:
            guard.look_before()
            describer, described = _describe_all(task, lineage, walk, (problems, pulse, checkpoints))
            held = describer.held()
            look_again((source, options), (root, rules), problems, held)
        finally:
            walk.close()
            walker.close()
        guard.look_after(held, problems)
        pulse.report("storing")
        return commit(task, lineage, (describer.figures, described), (problems, pulse))


def _describe_all(
    task: BackupTask, lineage: Lineage, walk: AheadWalk, watch: tuple[ProblemLog, Pulse, Checkpoints]
) -> tuple[Describer, Described]:
    problems, pulse, checkpoints = watch
    session, hooks = task.session, task.hooks
    chunks = session.reader()
    reader = FileReader(session, session.repository.chunker, hooks.clock, pulse.taken)
    comparison = Comparison(session, chunks, task.source)
    known = places_to_look(task, lineage, chunks, problems)
    if hooks.read_bucket is None and not known.knows_anything:
        walk.reads_up_to = reader.largest_small
    percent = task.source.reread_percent
    rereading = Rereading(task.options.run_id, percent, chunks) if percent else None
    mounts = _mount_watch(task, known, problems)
    workshop = Workshop(session, reader, comparison, problems, pulse, hooks, mounts, known.goes_on, rereading)
    describer = Describer(workshop)
    top = describer.top(walk.descriptor, walk.status) if walk.is_directory else None
    writer = EntryWriter(session, session.has)

    def root_so_far() -> bytes | None:
        pages = writer.snapshot(None if reader.in_hand is None else reader.in_hand.entry())
        made = describer.figures, Described(top, pages)
        return None if pages is None else encode_root(root_of(task, lineage, made, (problems, pulse)))

    checkpoints.hold(root_so_far)
    write_entries(walk, describer, known, (writer, pulse, session))
    return describer, Described(top, writer.finish())


def _mount_watch(task: BackupTask, known: KnownEntries, problems: ProblemLog) -> MountWatch:
    return MountWatch(
        known.in_parent if known.goes_on else None,
        problems,
        one_file_system=task.source.one_file_system,
        accepted=task.options.accept_new_root,
    )

"""Runs one dry run: walks a source, compares it with its parent, and counts what a backup would read and leave out.

Owns these counts. Reads no content, only lists, looks and opens; writes nothing to a repository, not even a lease.
"""

import os
import stat
from collections import Counter
from dataclasses import dataclass, field

from repositories.engine.backup.compare import Comparison
from repositories.engine.backup.hard_links import HardLinks
from repositories.engine.backup.mount_watch import MountWatch
from repositories.engine.backup.options import BackupOptions, Hooks, SourceSpec
from repositories.engine.backup.parent import EntryCursor, Lineage, choose_lineage
from repositories.engine.backup.problem_log import ProblemLog
from repositories.engine.backup.pulse import Pulse
from repositories.engine.backup.rereading import Rereading
from repositories.engine.backup.root_guard import RootGuard, open_guarded
from repositories.engine.backup.standing import Held, look_again
from repositories.engine.backup.walk_rules import walk_rules
from repositories.engine.ids import ChunkKind
from repositories.engine.manifest.backups import Backup
from repositories.engine.manifest.entries import EntryType, entry_type
from repositories.engine.manifest.known_pages import Found
from repositories.engine.manifest.problems import (
    REGULAR_FILE,
    Problem,
    ProblemCount,
    ProblemKind,
    Severity,
    classify,
    reason_of,
)
from repositories.engine.manifest.root import MAX_HEADS
from repositories.engine.repository import ChunkReader, Repository
from repositories.engine.source.directory import Directory
from repositories.engine.source.files import may_have_holes, open_regular, segments
from repositories.engine.source.walker import Walker, WalkRules


@dataclass(frozen=True, slots=True)
class RuleCount:
    """How many objects a rule leaves out; what lies below a directory that is left out is not looked at."""

    number: int
    text: str
    count: int


@dataclass(slots=True)
class Forecast:
    """What a backup would do. `gone` are the parent's entries that it would not have; None where that is unknown.

    `new_files` and `changed_files` would be read, and of the `unchanged_files` the `reread_files`: `bytes_to_read` in
    all. Other objects are only counted. `idle_rules` leave nothing out.
    """

    parent_id: str | None = None
    new_files: int = 0
    changed_files: int = 0
    unchanged_files: int = 0
    reread_files: int = 0
    directories: int = 0
    links: int = 0
    others: int = 0
    logical_bytes: int = 0
    bytes_to_read: int = 0
    gone: int | None = None
    skipped: int = 0
    warnings: int = 0
    notes: int = 0
    started_ns: int = 0
    finished_ns: int = 0
    rules: tuple[RuleCount, ...] = ()
    idle_rules: int = 0
    problems: list[Problem] = field(default_factory=list)
    problem_counts: tuple[ProblemCount, ...] = ()


def rehearse(repository: Repository, source: SourceSpec, options: BackupOptions, hooks: Hooks) -> Forecast:
    """Return what `back_up` would do with `source` now, without reading content and without any write.

    Raises what `back_up` would raise for the source as a whole. Files that cannot be opened are foreseen as problems;
    what fails only while it is read (I/O errors, attributes, changes) is not, and checkpoints of unfinished backups are
    not looked into.
    """
    rehearsal = _Rehearsal(repository, source, options, hooks)
    return rehearsal.run()


class _Nowhere:
    """Takes what a list of problems would store."""

    def chunk_id(self, kind: ChunkKind, data: bytes | memoryview) -> bytes:
        return bytes(32)

    def put(self, kind: ChunkKind, data: bytes | memoryview) -> tuple[bytes, bool]:
        return bytes(32), False


@dataclass(frozen=True, slots=True)
class _Stored:
    """What is there of chunks, as a comparison asks for it."""

    chunks: ChunkReader

    def has(self, kind: ChunkKind, chunk_id: bytes) -> bool:
        return self.chunks.locate(kind, chunk_id) is not None


class _Rehearsal:
    def __init__(self, repository: Repository, source: SourceSpec, options: BackupOptions, hooks: Hooks) -> None:
        self._repository = repository
        self._order = (source, options)
        self._hooks = hooks
        self._chunks = repository.reader()
        self._stored = _Stored(self._chunks)
        self._comparison = Comparison(self._stored, self._chunks, source)
        self._rereading = Rereading(options.run_id, source.reread_percent, self._chunks)
        self._problems = ProblemLog(_Nowhere(), strict=options.strict)
        self._pulse = Pulse(hooks)
        self._mounts = MountWatch(
            None, self._problems, one_file_system=source.one_file_system, accepted=options.accept_new_root
        )
        self._links = HardLinks()
        self._read_links: set[tuple[int, int]] = set()
        self._by_rule: Counter[int] = Counter()
        self._matched = 0
        self._parent_known = True
        self._forecast = Forecast(started_ns=hooks.clock.now_ns())

    def run(self) -> Forecast:
        source, options = self._order
        rules = walk_rules(source)
        names = (options.backup_id, source.name)
        lineage = choose_lineage(self._repository, names, options.parent, self._usable, MAX_HEADS)
        self._pulse.check_cancelled()
        root = open_guarded(self._order, lineage, rules.own)
        walker = Walker(root, rules, self._report)
        guard = RootGuard(self._order, lineage, root, self._hooks)
        try:
            guard.look_before()
            self._walk(walker, lineage)
            held = self._held()
            look_again(self._order, (root, rules), self._problems, held)
        finally:
            walker.close()
        guard.look_after(held, self._problems)
        return self._finished(lineage, rules)

    def _usable(self, backup: Backup) -> bool:
        pages = backup.root.pages
        return pages is None or self._stored.has(ChunkKind.PAGE, pages.id)

    def _report(self, kind: ProblemKind, path: bytes, detail: str) -> None:
        if kind is ProblemKind.EXCLUDED:
            self._by_rule[int(detail)] += 1
        self._problems.report(kind, path, detail)

    def _held(self) -> Held:
        forecast = self._forecast
        files = forecast.new_files + forecast.changed_files + forecast.unchanged_files
        others = forecast.links + forecast.others
        return Held(files, forecast.directories, others, forecast.logical_bytes)

    def _walk(self, walker: Walker, lineage: Lineage) -> None:
        pages = lineage.parent.root.pages if lineage.parent is not None else None
        cursor = EntryCursor(self._chunks, pages, self._give_parent_up)
        for directory in walker.directories():
            self._pulse.current = directory.path
            cursor.enter(directory.path)
            for name, status in directory.items():
                self._pulse.entry()
                found = cursor.find(name)
                is_in = self._look(directory, name, status, found)
                self._matched += is_in and found is not None

    def _give_parent_up(self, reason: str) -> None:
        self._parent_known = False
        text = f"the previous backup cannot be read, so that all files would be read again: {reason}"
        self._problems.report(ProblemKind.PARENT_UNREADABLE, b"", text)

    def _look(self, directory: Directory, name: bytes, status: os.stat_result, found: Found | None) -> bool:
        """Count one object; return whether it would be in the backup."""
        kind = entry_type(status.st_mode)
        if kind is None:
            known = ProblemKind.SOCKET if stat.S_ISSOCK(status.st_mode) else ProblemKind.UNKNOWN_TYPE
            self._problems.report(known, directory.join(name), "")
            return False
        forecast = self._forecast
        if kind is EntryType.FILE:
            return self._file(directory, name, status, found)
        if kind is EntryType.DIRECTORY:
            self._mounts.look(directory, name, status, found)
            forecast.directories += 1
        elif kind is EntryType.LINK:
            forecast.links += 1
        else:
            forecast.others += 1
        return True

    def _file(self, directory: Directory, name: bytes, status: os.stat_result, found: Found | None) -> bool:
        group = self._links.group(status)
        forecast = self._forecast
        same = found is not None and self._is_same(found, status, group)
        again = same and status.st_size > 0 and self._rereading.wants(directory.join(name), group)
        if not same or again:
            try:
                forecast.bytes_to_read += self._to_read(directory, name, status)
            except OSError as error:
                self._problems.report(classify(error), directory.join(name), reason_of(error, REGULAR_FILE))
                return False
        self._pulse.files += 1
        if group is None or self._links.meet(status):
            forecast.logical_bytes += status.st_size
        forecast.unchanged_files += same
        forecast.reread_files += again
        forecast.new_files += found is None
        forecast.changed_files += found is not None and not same
        return True

    def _is_same(self, found: Found, status: os.stat_result, group: tuple[int, int] | None) -> bool:
        exact = self._comparison.exact(found, EntryType.FILE, status, group)
        return exact is not None or self._comparison.same_content(found, status) is not None

    def _to_read(self, directory: Directory, name: bytes, status: os.stat_result) -> int:
        """Return how many bytes reading a file would take; raises OSError if it cannot be opened."""
        identity = status.st_dev, status.st_ino
        if identity in self._read_links:
            return 0
        try:
            descriptor, _ = open_regular(name, directory.descriptor)
        except PermissionError:
            if status.st_size or not directory.tells_sizes(status):
                raise
            # Nothing in it to be read: it is in, whole.
            return 0
        try:
            size = status.st_size
            if may_have_holes(status):
                size = sum(end - start for start, end, is_data in segments(descriptor, size) if is_data)
        finally:
            os.close(descriptor)
        if status.st_nlink > 1:
            self._read_links.add(identity)
        return size

    def _finished(self, lineage: Lineage, rules: WalkRules) -> Forecast:
        forecast, problems, parent = self._forecast, self._problems, lineage.parent
        if parent is not None:
            forecast.parent_id = parent.id
            forecast.gone = parent.root.statistics.entries - self._matched if self._parent_known else None
        forecast.rules = tuple(
            RuleCount(number, rules.excludes.text(number), count) for number, count in sorted(self._by_rule.items())
        )
        forecast.idle_rules = rules.excludes.excluding - len(forecast.rules)
        forecast.skipped = problems.total(Severity.SKIPPED)
        forecast.warnings = problems.total(Severity.WARNING)
        forecast.notes = problems.total(Severity.NOTE)
        forecast.problems = problems.first()
        forecast.problem_counts = problems.counts()
        forecast.finished_ns = self._hooks.clock.now_ns()
        return forecast

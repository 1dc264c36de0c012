"""Tells what a restore would do to the target, object by object, and changes nothing.

Owns the look at the target. Every decision is the restore's own: its policy, its room, its remover.
"""

import enum
import os
import stat
from collections import Counter
from collections.abc import Iterable

from repositories.engine.manifest.entries import Entry, EntryType
from repositories.engine.manifest.order import is_within, join, split
from repositories.engine.manifest.same_file import file_key
from repositories.engine.metadata.extended import object_in
from repositories.engine.restore.existing import Policy, Verdict
from repositories.engine.restore.pulse import RestorePulse
from repositories.engine.restore.request import RestorePlan
from repositories.engine.restore.room import Room
from repositories.engine.restore.selection import Selected
from repositories.engine.restore.target import TargetTree, is_as_new, is_half_written, is_unfinished

LISTED = 100


class Fate(enum.StrEnum):
    """What becomes of an object. Of directories only: ENTERED is kept, but what lies in it is looked at; LATE is kept
    unless something is made in it.
    """

    CREATED = "created"
    REPLACED = "replaced"
    EXISTING = "existing"
    KEPT = "kept"
    UNKNOWN = "unknown"
    DAMAGED = "damaged"
    ENTERED = "entered"
    LATE = "late"


_OF_DIRECTORIES = {Verdict.KEEP: Fate.ENTERED, Verdict.LATE: Fate.LATE}


class PlanLedger:
    """Counts fates; used by one thread."""

    def __init__(self) -> None:
        self.counts: Counter[Fate] = Counter()
        self._bytes: Counter[Fate] = Counter()
        self._paths: dict[Fate, list[bytes]] = {fate: [] for fate in Fate}

    def note(self, fate: Fate, path: bytes, size: int = 0, count: int = 1) -> None:
        """Count `count` objects, the first of them at `path`."""
        self.counts[fate] += count
        self._bytes[fate] += size
        if len(self._paths[fate]) < LISTED:
            self._paths[fate].append(path)

    def lost(self, first: bytes, count: int) -> None:
        """A page of the manifest cannot be read."""
        self.note(Fate.DAMAGED, first, count=count)

    def plan(self, planned_ns: int) -> RestorePlan:
        """Return the figures."""
        return RestorePlan(
            planned_ns,
            created=self.counts[Fate.CREATED],
            created_bytes=self._bytes[Fate.CREATED],
            replaced=self.counts[Fate.REPLACED],
            replaced_bytes=self._bytes[Fate.REPLACED],
            existing=self.counts[Fate.EXISTING],
            kept=self.counts[Fate.KEPT],
            unknown=self.counts[Fate.UNKNOWN],
            damaged=self.counts[Fate.DAMAGED],
            created_paths=self._paths[Fate.CREATED],
            replaced_paths=self._paths[Fate.REPLACED],
            kept_paths=self._paths[Fate.KEPT],
            unknown_paths=self._paths[Fate.UNKNOWN],
            damaged_paths=self._paths[Fate.DAMAGED],
        )


class Planner:
    """Runs once over the selection."""

    def __init__(self, policy: Policy, room: Room, ledger: PlanLedger, pulse: RestorePulse) -> None:
        self._policy = policy
        self._room = room
        self._ledger = ledger
        self._pulse = pulse
        self._closed: dict[bytes, Fate] = {}
        self._open = b""
        # Of files with several names, those whose first name will be right; where that is so already, the inode.
        self._first_names: dict[bytes, tuple[int, int] | None] = {}
        self._late: set[bytes] = set()

    def target(self, root: int, entry: Entry | None) -> None:
        """Look at the target itself, which gets the attributes of `entry` if it may. Raises OSError."""
        status = os.fstat(root)
        if entry is None or is_unfinished(status) or is_as_new(root):
            return
        if self._policy.judge_directory(root, entry, status) is Verdict.KEEP:
            self._ledger.note(Fate.KEPT, b"")

    def run(self, root: int | None, without: Fate, selection: Iterable[Selected]) -> None:
        """Look at everything below the open target; with none, `without` becomes of all. Raises
        OperationCancelledError.
        """
        tree = TargetTree(os.dup(root)) if root is not None else None
        if tree is None:
            self._closed[b""] = without
        try:
            for selected in selection:
                directory, fate = self._enter(tree, selected.directory)
                for entry, _ in selected.entries:
                    path = join(selected.directory, entry.name)
                    self._pulse.entry(path)
                    above = entry.name in selected.above
                    fate_of = fate if directory is None else self._look(directory, path, entry, above=above)
                    self._note(path, entry, fate_of)
            for path in sorted(self._late):
                self._ledger.note(Fate.KEPT, path)
        finally:
            if tree is not None:
                tree.close()

    def _enter(self, tree: TargetTree | None, path: bytes) -> tuple[int | None, Fate]:
        """Return the descriptor of a directory of the target, or what becomes of all that belongs into it."""
        fate = self._of_closed(path)
        if fate is not None or tree is None:
            return None, fate or Fate.CREATED
        try:
            tree.go(path)
        except PermissionError:
            return None, Fate.UNKNOWN
        except OSError:
            return None, Fate.CREATED
        return tree.descriptor, Fate.CREATED

    def _of_closed(self, path: bytes) -> Fate | None:
        above = path
        while above not in self._closed:
            # What lies above an open directory is open; so a deep tree is not walked up for each directory of it.
            if not above or is_within(self._open, above):
                self._open = path
                return None
            above = split(above)[0]
        return self._closed[above]

    def _look(self, directory: int, path: bytes, entry: Entry, *, above: bool) -> Fate:
        try:
            fate = self._judged(directory, path, entry, above=above)
        except OSError:
            fate = Fate.UNKNOWN
        if entry.type == EntryType.DIRECTORY and fate not in (Fate.EXISTING, Fate.ENTERED, Fate.LATE):
            # What is replaced by a directory, or not there, has nothing of ours in it.
            self._closed[path] = Fate.CREATED if fate is Fate.REPLACED else fate
        return fate

    def _judged(self, directory: int, path: bytes, entry: Entry, *, above: bool) -> Fate:
        try:
            status = os.stat(entry.name, dir_fd=directory, follow_symlinks=False)
        except FileNotFoundError:
            return Fate.CREATED
        if entry.type == EntryType.DIRECTORY and stat.S_ISDIR(status.st_mode):
            if above or is_unfinished(status):
                return Fate.EXISTING
            verdict = self._policy.judge_directory(object_in(directory, entry.name), entry, status)
            return _OF_DIRECTORIES.get(verdict, Fate.EXISTING)
        if entry.type == EntryType.FILE and is_half_written(status, os.fstat(directory)):
            return Fate.REPLACED
        verdict = self._verdict(directory, entry, status)
        if verdict is Verdict.IDENTICAL:
            return Fate.EXISTING
        if verdict is Verdict.KEEP or not self._room.foresee(directory, path, status):
            return Fate.KEPT
        return Fate.REPLACED

    def _verdict(self, directory: int, entry: Entry, status: os.stat_result) -> Verdict:
        """Return what to do about an object that is there; a further name of a file must be a link to the first."""
        key, inode = file_key(entry), (status.st_dev, status.st_ino)
        if key is None:
            return self._policy.judge(directory, entry, status)
        if self._first_names.get(key) == inode:
            return Verdict.IDENTICAL
        verdict = self._policy.judge(directory, entry, status)
        if verdict is Verdict.IDENTICAL and key in self._first_names:
            return self._policy.judge_different(entry, status)
        if verdict is Verdict.IDENTICAL:
            self._first_names[key] = inode
        return verdict

    def _note(self, path: bytes, entry: Entry, fate: Fate) -> None:
        if fate is Fate.LATE:
            self._late.add(path)
            return
        if fate in (Fate.CREATED, Fate.REPLACED) and split(path)[0] in self._late:
            self._late.discard(split(path)[0])
            self._ledger.note(Fate.EXISTING, split(path)[0])
        size = entry.size if entry.type == EntryType.FILE else 0
        key = file_key(entry) if fate in (Fate.CREATED, Fate.REPLACED) else None
        if key is not None:
            # Further names of one file are links: they are written once.
            size = 0 if key in self._first_names else size
            self._first_names.setdefault(key, None)
        self._ledger.note(Fate.KEPT if fate is Fate.ENTERED else fate, path, size)

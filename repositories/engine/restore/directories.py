"""Directories of the target that were there before: what they differ in, and what may be done to them.

Owns the decision, and the mark that such a directory gets before the first thing is made in it. It is made up of bits
that no directory of a user carries, set beside the mode, so that a restore which is killed then finds it again: adding
to a directory changes its time, and nothing else would tell that from a change of the user's. What differs from the
backup and is kept gets no mark.
"""

import os
import stat
import threading
from dataclasses import dataclass

from repositories.engine.manifest.entries import Entry
from repositories.engine.metadata.apply import AttributeClass, remove_inherited_acls
from repositories.engine.metadata.extended import object_in
from repositories.engine.restore.existing import Policy, Verdict
from repositories.engine.restore.lacking import report_lacking
from repositories.engine.restore.leavings import Leavings, claim
from repositories.engine.restore.tally import Tally
from repositories.engine.restore.target import (
    has_default_acl,
    is_empty,
    is_half_written,
    is_made,
    is_unfinished,
    marked_mode,
)
from repositories.engine.restore.widened import Widened


class BeforeWriting:
    """To be called before anything is made in one directory: marks it once. Safe in several threads."""

    def __init__(self, tally: Tally | None = None, path: bytes = b"") -> None:
        """`path` is the directory's. Without `tally` there is nothing to mark."""
        self._tally = tally
        self._path = path
        self._lock = threading.Lock()

    def __call__(self, directory: int) -> None:
        if self._tally is None:
            return
        with self._lock:
            if self._tally is None:
                return
            try:
                os.chmod(directory, marked_mode(stat.S_IMODE(os.fstat(directory).st_mode)))
            except OSError as error:
                # Somebody else's: what is made in it sets its time, and we cannot put that back.
                self._tally.warn(AttributeClass.TIMES, error, directory, self._path)
            self._tally = None


@dataclass(frozen=True, slots=True)
class Surroundings:
    """About a directory of the target. `before` is called before it is changed. `inherits`: it gives ACLs.

    `made`: a restore has made it, and what it lacks is not finished; `fresh`: so has this one, and nothing was in it.
    """

    before: BeforeWriting
    inherits: bool = False
    made: os.stat_result | None = None
    fresh: bool = False

    def is_half_written(self, status: os.stat_result) -> bool:
        """Return whether a file in it was being written when a restore was killed."""
        return self.made is not None and is_half_written(status, self.made)


class Directories:
    """Those of one restore. Used by one thread. Paths are relative to the target; "" is the target itself."""

    def __init__(self, policy: Policy, tally: Tally, widened: Widened, leavings: Leavings) -> None:
        self._policy = policy
        self._tally = tally
        self._widened = widened
        self.leavings = leavings
        self._alone: set[bytes] = set()
        self._late: set[bytes] = set()
        self._entered: tuple[bytes, bool] | None = None

    def meet(self, parent: int, path: bytes, entry: Entry, status: os.stat_result, *, above: bool) -> None:
        """Judge and count a directory that is there, let ourselves in and look for leavings. Raises OSError."""
        way = object_in(parent, entry.name)
        if above or is_unfinished(status):
            self._tally.existing()
            if not is_unfinished(status):
                self._alone.add(path)
        else:
            self._judge(way, path, entry, status)
        self._widened.open_up(parent, path, entry.name, status, mark=path not in self._alone)
        self.leavings.look(way, path)

    def meet_target(self, descriptor: int, entry: Entry | None, status: os.stat_result) -> None:
        """Judge the target itself, which existed; None = nothing of the backup says how it should be.

        Its time tells nothing: it is the user's, and whatever lies in it besides may have set it.
        """
        self.leavings.look(descriptor, b"")
        if is_unfinished(status):
            return
        if entry is None:
            self._alone.add(b"")
        elif self._policy.judge_directory(descriptor, entry, status) is Verdict.KEEP:
            self._keep(b"")

    def around(self, descriptor: int, path: bytes) -> Surroundings:
        """Take an open directory into use; return what matters to what is made in it. Raises OSError."""
        claim(descriptor)
        status = os.fstat(descriptor)
        ours, made = is_unfinished(status) or path in self._tally.unmarked, is_made(status)
        inherits = has_default_acl(descriptor)
        if ours and inherits:
            remove_inherited_acls(descriptor)
            inherits = False
        if self._entered is None or self._entered[0] != path:
            self._entered = (path, made and is_empty(descriptor))
        before = BeforeWriting(None if ours or path in self._alone else self._tally, path)
        return Surroundings(before, inherits, status if made else None, made and self._entered[1])

    def may_set(self, path: bytes, *, ours: bool) -> bool:
        """Return whether a directory may get the backup's attributes at the end, and count it, if that was open.

        `ours` = it carries the mark.
        """
        late = path in self._late
        self._late.discard(path)
        if late and ours:
            self._tally.existing()
        elif late:
            self._keep(path)
        return ours or path not in self._alone

    def _judge(self, way: bytes, path: bytes, entry: Entry, status: os.stat_result) -> None:
        verdict = self._policy.judge_directory(way, entry, status)
        if verdict is Verdict.KEEP:
            self._keep(path)
        elif verdict is Verdict.LATE:
            self._late.add(path)
        else:
            self._tally.existing()
        if verdict in (Verdict.IDENTICAL, Verdict.LATE):
            report_lacking(way, status, entry, self._tally.reporter(way, path))

    def _keep(self, path: bytes) -> None:
        self._alone.add(path)
        self._tally.kept(path)

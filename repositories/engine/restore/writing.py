"""Writes single files: under the name only when it may be there, and only what is whole.

Owns creation: exclusively, never through a link, under a temporary name; the file gets its own when it is complete
with all its attributes, so that what was there stays until then. In an empty directory that this restore has made, it
has its own name from the start, and a mark until it is complete: the renaming would be a seventh of the work of
restoring small files. Safe in several threads.
"""

import contextlib
import errno
import os
from collections.abc import Callable
from typing import Final

import msgspec

from repositories.engine.errors import IntegrityError, ObjectMissingError, OperationCancelledError, RestoreTargetError
from repositories.engine.metadata.extended import ACL_PREFIX, object_in
from repositories.engine.restore.chunks import AnyChunks, content_of
from repositories.engine.restore.existing import Policy, Verdict
from repositories.engine.restore.filling import FileTask, Filler, create
from repositories.engine.restore.lacking import report_lacking
from repositories.engine.restore.publishing import discard, new_token, publish, temporary_name
from repositories.engine.restore.reasons import explained
from repositories.engine.restore.room import Room
from repositories.engine.restore.tally import Tally
from repositories.engine.restore.target import UNFINISHED_FILE

_CLOSED: Final = 0o600
_FATAL: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO})


class _Opened(msgspec.Struct, frozen=True):
    """A file that is being made under a temporary name, or its own; `replaces` = something has that."""

    descriptor: int
    name: bytes
    replaces: bool = False


class FileWriter:
    """Writes files for one restore; `taken` is told of content before it is written (bandwidth, cancel)."""

    def __init__(
        self, source: AnyChunks, policy: Policy, tally: Tally, taken: Callable[[int], None], room: Room
    ) -> None:
        self._source = source
        self._filler = Filler(source, tally, self._take, self._go_on)
        self._taken = taken
        self._stopped = False
        self._policy = policy
        self._tally = tally
        self._room = room
        self._token = new_token()

    def write(self, task: FileTask) -> None:
        """Restore a file; what goes wrong with it alone is counted.

        Raises RestoreTargetError when the target as a whole takes no more, and errors of the repository's medium.
        """
        try:
            opened = self._open(task)
            if opened is not None:
                self._fill(task, opened)
        except (IntegrityError, ObjectMissingError):
            self._tally.damaged(task.path)
        except OSError as error:
            raise_if_fatal(error)
            error = explained(error, task.directory, task.entry.name)
            self._tally.refused(task.directory, task.path, task.entry, error)

    def stop(self) -> None:
        """Give up what is being written: the restore has failed, and a file may be large and far away."""
        self._stopped = True

    def may_leave(self, task: FileTask) -> bool:
        """Tell at a glance whether a file is there already that may stay, so that no content will be read for it."""
        if task.around.fresh:
            return False
        try:
            status = look(task.directory, task.entry.name)
        except OSError:
            return False
        if status is None or task.around.is_half_written(status):
            return False
        return self._policy.may_leave(task.entry, status)

    def _go_on(self) -> None:
        if self._stopped:
            raise OperationCancelledError("the restore has failed elsewhere", hint="see what it failed for")

    def _take(self, count: int) -> None:
        self._go_on()
        self._taken(count)

    def _open(self, task: FileTask) -> _Opened | None:
        """Return the new file, or None when what is there stays."""
        if is_plain(task):
            with contextlib.suppress(FileExistsError):
                return _Opened(create(task.directory, task.entry.name, UNFINISHED_FILE), task.entry.name)
        status = look(task.directory, task.entry.name)
        if status is not None and not self._must_replace(task, status):
            return None
        task.around.before(task.directory)
        temporary = temporary_name(task.entry.name, self._token)
        return _Opened(create(task.directory, temporary, _CLOSED), temporary, status is not None)

    def _must_replace(self, task: FileTask, status: os.stat_result) -> bool:
        if task.around.is_half_written(status):
            return True
        verdict = self._policy.judge(task.directory, task.entry, status)
        if verdict is Verdict.IDENTICAL:
            self._count_identical(task)
            reporter = self._tally.reporter(task.directory, task.path)
            report_lacking(object_in(task.directory, task.entry.name), status, task.entry, reporter)
            return False
        if verdict is Verdict.KEEP or not self._room.possible(task.directory, task.path, status):
            self._tally.kept(task.path)
            return False
        return True

    def _count_identical(self, task: FileTask) -> None:
        if task.untold and task.around.fresh:
            # Nobody else writes here: the process that died has made it, and taken off the mark, so that it is whole.
            self._tally.restored(task.entry)
            pieces = content_of(self._source, task.entry)
            self._tally.wrote(sum(piece.length for piece in pieces if piece.chunk is not None))
            return
        self._tally.existing()
        if not self._policy.compares and task.entry.size:
            self._tally.not_compared()

    def _fill(self, task: FileTask, opened: _Opened) -> None:
        try:
            try:
                self._filler.fill(opened.descriptor, task)
            finally:
                os.close(opened.descriptor)
            if opened.replaces:
                self._room.replace(task.directory, opened.name, task.path)
            elif opened.name != task.entry.name:
                publish(task.directory, opened.name, task.entry.name)
        except BaseException:
            # Half a file is worse than none: it would pass for the whole.
            discard(task.directory, opened.name)
            raise
        self._tally.restored(task.entry)


def is_plain(task: FileTask) -> bool:
    """Return whether a file is made under its own name, with the mark: where nothing was and nobody else makes any."""
    # An ACL changes the mode, which is the mark.
    return task.around.fresh and not any(each.name.startswith(ACL_PREFIX) for each in task.entry.xattrs or ())


def look(directory: int, name: bytes) -> os.stat_result | None:
    """Return what is there under a name, itself; None if nothing is. Raises OSError."""
    try:
        return os.stat(name, dir_fd=directory, follow_symlinks=False)
    except FileNotFoundError:
        return None


def raise_if_fatal(error: OSError) -> None:
    """Raise RestoreTargetError when going on with other files makes no sense; its message lacks the target's name."""
    if error.errno in _FATAL:
        raise RestoreTargetError(
            f"takes no more: {error.strerror}", hint="make room or repair it, then run the restore again"
        ) from error

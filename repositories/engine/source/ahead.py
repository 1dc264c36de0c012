"""A walk that another process does ahead of the backup, once the tree has shown to be a large one.

Owns forking that process and following it. One interpreter binds a backup of what has hardly changed, however many
processors there are: listing directories and looking at what is in them is a third of its work. What the other process
saw is what this one would have seen a moment sooner; each look comes with its time. Whatever has to be opened is
opened here, in a directory that is proven to be the one that was listed. When that process dies, the walk goes on here,
where it stood.
"""

import contextlib
import os
import socket
from collections.abc import Callable, Iterator
from mmap import mmap

from repositories.engine import forked
from repositories.engine.clock import SYSTEM_CLOCK, Clock
from repositories.engine.manifest.problems import ProblemKind
from repositories.engine.source.ahead_messages import (
    ENTERING,
    NO_SLOT,
    SLOT_BYTES,
    TAG_BYTES,
    ContentAhead,
    EndedError,
    Message,
    MessageReader,
    Part,
    new_slots,
)
from repositories.engine.source.ahead_process import live
from repositories.engine.source.directory import Directory, Listing
from repositories.engine.source.seen_directory import SeenDirectory, components
from repositories.engine.source.walker import Walker

OLDEST_SECONDS = 2.0
"""What was looked at longer ago is looked at again: nothing is backed up as it was long before its turn came."""
ENOUGH = 200
"""After so many names another process is worth its start; the later it begins, the more memory it holds of ours."""


class AheadWalk:
    """The directories of one walk, for one thread. `waiting` is called while the other process has nothing to tell.

    `tell` is told when that process died. Contents of up to `reads_up_to()` bytes are read ahead, too. `close` ends the
    process; the walker stays its owner's.
    """

    def __init__(self, walker: Walker, clock: Clock, waiting: Callable[[], None], tell: Callable[[str], None]) -> None:
        self._walker = walker
        self._clock = clock
        self._waiting = waiting
        self._tell = tell
        self._pid = 0
        self._processes = 0
        self._channel: socket.socket | None = None
        self._reader: MessageReader | None = None
        self._message = Message(NO_SLOT, [])
        self._slots: mmap | None = None
        self._is_through = False
        self._enough = ENOUGH
        self.reads_up_to: Callable[[], int] = _nothing

    @property
    def is_directory(self) -> bool:
        """See Walker."""
        return self._walker.is_directory

    @property
    def descriptor(self) -> int:
        """See Walker."""
        return self._walker.descriptor

    @property
    def status(self) -> os.stat_result:
        """See Walker."""
        return self._walker.status

    def directories(self) -> Iterator[Listing]:
        """Yield what `Walker.directories` would. Raises what that raises, and what `waiting` does."""
        walker = self._walker
        is_worth_it = walker.is_directory and forked.processors() > 1
        directories = walker.directories()
        while True:
            seen = 0
            for directory in directories:
                yield directory
                seen += directory.count
                if is_worth_it and seen >= self._enough and self._fork(directories):
                    walker.way.met(directory.below)
                    break
            else:
                return
            yield from self._follow()
            if self._is_through:
                return
            with contextlib.suppress(OSError):
                walker.descent.go_to(components(walker.way.path))
            directories = walker.onward()

    def next_part(self) -> Part:
        """Return the next part. Raises EndedError, and does so again."""
        while True:
            if self._reader is None:
                raise EndedError
            if self._message.parts:
                break
            self._reader.give_back(self._message)
            try:
                self._message = self._reader.read()
            except EndedError:
                self._died()
                raise
            self._message.parts.reverse()
        part = self._message.parts.pop()
        if not part.is_end and SYSTEM_CLOCK.monotonic() - part.looked_at > OLDEST_SECONDS:
            # Whoever lags behind so much, and will again, has less and less use of it.
            self._enough *= 4
            self.close()
            raise EndedError
        return part

    def content(self, ahead: ContentAhead) -> memoryview:
        """Return a content of the message at hand, behind its tag; valid until the next part is asked for."""
        place = self._message.slot * SLOT_BYTES
        return memoryview(self._slots or b"")[place + ahead.begin - TAG_BYTES : place + ahead.end]

    def close(self) -> None:
        """End the process, if there is one. One that is stuck in the kernel is left to end by itself."""
        self._end()

    def _end(self) -> int | None:
        channel, self._channel, self._reader = self._channel, None, None
        self._message = Message(NO_SLOT, [])
        return None if channel is None else forked.end(self._pid, channel)

    def _died(self) -> None:
        how = forked.ending(self._end())
        self._tell(f"process {self._pid}, which walked ahead of this backup, {how}: the walk goes on without it")

    def _follow(self) -> Iterator[Listing]:
        """Yield what the process tells, up to its end or ours; `_is_through` when that was all."""
        walker, self._is_through = self._walker, False
        with contextlib.suppress(EndedError):
            while not (part := self.next_part()).is_end:
                self._go_to(part.path)
                self.report(part, ENTERING)
                seen = SeenDirectory(self, walker, part)
                yield seen
                walker.way.met(seen.below)
            self.report(part, ENTERING)
            self.close()
            self._is_through = True

    def report(self, part: Part, before: int) -> None:
        """Report what a part says was left out before the look of this number, and not yet reported."""
        while part.reports and part.reports[0][0] <= before:
            _, kind, path, detail = part.reports.pop(0)
            self._walker.report(ProblemKind(kind), path, detail)

    def _go_to(self, path: bytes) -> None:
        way = self._walker.way
        while (coming := way.coming()) is not None:
            self._walker.was_entered(coming[0])
            if coming[0] == path:
                way.enter(path)
                return
        raise AssertionError("unreachable: the other process goes the same way")

    def _fork(self, directories: Iterator[Directory]) -> bool:
        """Begin the process; return whether there is one."""
        walker, limit = self._walker, self.reads_up_to()
        self._processes += 1
        ours, theirs = socket.socketpair()
        try:
            slots = new_slots()
            self._pid = forked.fork(
                lambda: live((walker, directories), (slots, limit, theirs, self._processes), self._clock),
                lambda: [theirs.fileno(), *walker.descent.open_ones()],
            )
        except OSError:
            ours.close()
            return False
        finally:
            theirs.close()
        self._channel, self._reader, self._slots = ours, MessageReader(ours, self._waiting), slots
        return True


def _nothing() -> int:
    return 0

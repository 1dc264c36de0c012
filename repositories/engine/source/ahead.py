"""A walk that another process does ahead of the backup, once the tree has shown to be a large one.

Owns forking that process and following it. One interpreter binds a backup of what has hardly changed, however many
processors there are: listing directories and looking at what is in them is a third of its work. What the other process
saw is what this one would have seen a moment sooner; each look comes with its time. Whatever has to be opened is
opened here, in a directory that is proven to be the one that was listed. When that process dies, the walk goes on here,
where it stood.
"""

import contextlib
import errno
import os
import socket
from collections.abc import Callable, Iterator
from mmap import mmap

from repositories.engine import forked
from repositories.engine.clock import Clock
from repositories.engine.manifest.problems import ProblemKind
from repositories.engine.source.ahead_messages import (
    ENTERING,
    NO_SLOT,
    SLOT_BYTES,
    ContentAhead,
    EndedError,
    Message,
    MessageReader,
    Part,
    new_slots,
)
from repositories.engine.source.ahead_process import live
from repositories.engine.source.directory import Directory, Listing, ReadAhead
from repositories.engine.source.status import Status
from repositories.engine.source.walker import Walker

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
        self._channel: socket.socket | None = None
        self._reader: MessageReader | None = None
        self._message = Message(NO_SLOT, [])
        self._slots: mmap | None = None
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
        seen = 0
        is_worth_it = self._walker.is_directory and forked.processors() > 1
        directories = self._walker.directories()
        for directory in directories:
            yield directory
            seen += directory.count
            if is_worth_it and seen >= ENOUGH and self._fork(directories):
                self._walker.way.met(directory.below)
                break
        else:
            return
        yield from self._follow()

    def next_part(self) -> Part:
        """Return the next part. Raises EndedError, and does so again."""
        while not self._message.parts:
            if self._reader is None:
                raise EndedError
            self._reader.give_back(self._message)
            try:
                self._message = self._reader.read()
            except EndedError:
                self._died()
                raise
            self._message.parts.reverse()
        return self._message.parts.pop()

    def content(self, ahead: ContentAhead) -> memoryview:
        """Return a content of the message at hand; valid until the next part is asked for."""
        place = self._message.slot * SLOT_BYTES
        return memoryview(self._slots or b"")[place + ahead.begin : place + ahead.end]

    def close(self) -> None:
        """End the process, if there is one. One that is stuck in the kernel is left to end by itself."""
        self._end()

    def _end(self) -> int | None:
        channel, self._channel, self._reader = self._channel, None, None
        return None if channel is None else forked.end(self._pid, channel)

    def _died(self) -> None:
        how = forked.ending(self._end())
        self._tell(f"process {self._pid}, which walked ahead of this backup, {how}: the walk goes on without it")

    def _follow(self) -> Iterator[Listing]:
        walker = self._walker
        try:
            while not (part := self.next_part()).is_end:
                self._go_to(part.path)
                self.report(part, ENTERING)
                seen = SeenDirectory(self, walker, part)
                yield seen
                walker.way.met(seen.below)
            self.report(part, ENTERING)
            self.close()
            return
        except EndedError:
            pass
        with contextlib.suppress(OSError):
            walker.descent.go_to(_components(walker.way.path))
        yield from walker.onward()

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
        ours, theirs = socket.socketpair()
        try:
            slots = new_slots()
            self._pid = forked.fork(
                lambda: live((walker, directories), (slots, limit, theirs), self._clock),
                lambda: [theirs.fileno(), *walker.descent.open_ones()],
            )
        except OSError:
            ours.close()
            return False
        finally:
            theirs.close()
        self._channel, self._reader, self._slots = ours, MessageReader(ours, self._waiting), slots
        return True


class SeenDirectory(Listing):
    """One that the other process has listed, and this one opens when something in it has to be opened."""

    def __init__(self, walk: AheadWalk, walker: Walker, part: Part) -> None:
        super().__init__(walker, part.path, part.identity[0])
        self._walk = walk
        self._walker = walker
        self._part = part
        self._is_left = False
        self._identity = part.identity
        self._is_open = False

    @property
    def descriptor(self) -> int:
        """The directory, opened now. Raises OSError, with ESTALE when it is not the one that was listed."""
        descent = self._walker.descent
        if not self._is_open:
            descent.go_to(_components(self.path))
            if descent.identity != self._identity:
                raise OSError(errno.ESTALE, "its directory was replaced by another one since it was listed")
            self._is_open = True
        return descent.descriptor

    def looked_ns(self, clock: Clock) -> int:
        """See Listing."""
        return clock.now_ns() if self._is_left else self._part.looked_ns

    def items(self) -> Iterator[tuple[bytes, Status]]:
        """See Listing."""
        last = b""
        try:
            while True:
                for name, look in self._items_of(self._part):
                    last = name
                    yield name, look
                if self._part.is_last:
                    return
                self._part = self._walk.next_part()
        except EndedError:
            self._is_left = True
        rest = self._walker.rest(last)
        if rest is not None:
            self._is_open = True
            for name, status in rest.items():
                if rest.is_to_be_entered(name):
                    self.below.append(name)
                yield name, status

    def _items_of(self, part: Part) -> Iterator[tuple[bytes, Status]]:
        below, device, mounts = self.below, self.device, self.mounts
        reports, contents = part.reports, part.contents[::-1]
        for number, look in enumerate(part.looks):
            if reports:
                self._walk.report(part, number)
            self.content = None
            if contents and contents[-1].number == number:
                ahead = contents.pop()
                self.content = ReadAhead(look, self._walk.content(ahead), ahead.xattrs, part.looked_ns)
            name = look.name
            if look.entered:
                if look.st_dev != device or name in mounts:
                    self._walker.expect(self, name, look)
                below.append(name)
            yield name, look
        if reports:
            self._walk.report(part, len(part.looks))
        self.content = None


def _components(path: bytes) -> list[bytes]:
    return path.split(b"/") if path else []


def _nothing() -> int:
    return 0

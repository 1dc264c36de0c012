"""A directory that another process has listed, and what this process does when something in it has to be opened.

Owns when what the other one told is good no more: then this one goes on by itself, from that object on. What it told
counts for objects that are taken as they are known, for contents that it read whole, and for which directories come.
"""

import errno
import os
import stat
from collections.abc import Iterator
from typing import Protocol

from repositories.engine.source.ahead_messages import ContentAhead, EndedError, Part
from repositories.engine.source.directory import Listing, ReadAhead
from repositories.engine.source.status import Status
from repositories.engine.source.walker import Walker


class Teller(Protocol):
    """What comes from the other process."""

    def next_part(self) -> Part:
        """Return the next part. Raises EndedError, and does so again."""

    def content(self, ahead: ContentAhead) -> memoryview:
        """Return a content of the message at hand, behind its tag; valid until the next part is asked for."""

    def report(self, part: Part, before: int) -> None:
        """Report what a part says was left out before the look of this number, and not yet reported."""

    def close(self) -> None:
        """End the process; nothing more comes from it."""


class SeenDirectory(Listing):
    """The directory of a part and of those parts that follow it."""

    def __init__(self, teller: Teller, walker: Walker, part: Part) -> None:
        super().__init__(walker, part.path, part.identity[0])
        self._teller = teller
        self._walker = walker
        self._part = part
        self._identity = part.identity
        self._is_open = False
        self._is_left = False

    @property
    def descriptor(self) -> int:
        """The directory, opened now. Raises OSError, with ESTALE when it is not the one that was listed."""
        descent = self._walker.descent
        if not self._is_open:
            descent.go_to(components(self.path))
            if descent.identity != self._identity:
                raise OSError(errno.ESTALE, os.strerror(errno.ESTALE))
            self._is_open = True
        return descent.descriptor

    def again(self, name: bytes, status: Status) -> Status | None:
        """See Listing. What is another object by now is met anew, and so is all that comes: the process is given up."""
        if self._is_left:
            return status
        is_to_be_entered = self.is_to_be_entered(name)
        try:
            now = os.stat(name, dir_fd=self.descriptor, follow_symlinks=False)
        except OSError as error:
            if self._is_open and not is_to_be_entered:
                self._walker.failed(error, self.join(name))
                return None
        else:
            if _type_of(now) == _type_of(status) and (
                not is_to_be_entered or _identity_of(now) == _identity_of(status)
            ):
                return now
        self._give_up()
        return None

    def leave_out(self, name: bytes) -> None:
        """See Listing."""
        if self.is_to_be_entered(name) and not self._is_left:
            # Its listing is on its way.
            self._give_up()
        super().leave_out(name)

    def items(self) -> Iterator[tuple[bytes, Status]]:
        """See Listing."""
        last = b""
        try:
            while True:
                for name, look in self._items_of(self._part):
                    last = name
                    yield name, look
                    if self._is_left:
                        self.content = None
                        yield from self._rest(name, is_met=False)
                        return
                if self._part.is_last:
                    return
                self._part = self._teller.next_part()
        except EndedError:
            self._is_left = True
        yield from self._rest(last, is_met=True)

    def _give_up(self) -> None:
        self._teller.close()
        self._is_left = True

    def _rest(self, name: bytes, *, is_met: bool) -> Iterator[tuple[bytes, Status]]:
        """Yield what this process finds behind a name, or from it on, in the directory that has this path now."""
        rest = self._walker.rest(name, is_met=is_met)
        if rest is not None:
            self._is_open = True
            for found, status in rest.items():
                if rest.is_to_be_entered(found):
                    self.below.append(found)
                yield found, status

    def _items_of(self, part: Part) -> Iterator[tuple[bytes, Status]]:
        below, device, mounts = self.below, self.device, self.mounts
        reports, contents = part.reports, part.contents[::-1]
        for number, look in enumerate(part.looks):
            if reports:
                self._teller.report(part, number)
            self.content = None
            if contents and contents[-1].number == number:
                ahead = contents.pop()
                self.content = ReadAhead(look, self._teller.content(ahead), ahead.tag, ahead.xattrs, part.looked_ns)
            name = look.name
            if look.entered:
                if look.st_dev != device or name in mounts:
                    self._walker.expect(self, name, look)
                below.append(name)
            yield name, look
        if reports:
            self._teller.report(part, len(part.looks))
        self.content = None


def components(path: bytes) -> list[bytes]:
    """Return the names on the way from the root to a directory."""
    return path.split(b"/") if path else []


def _type_of(status: Status) -> int:
    return stat.S_IFMT(status.st_mode)


def _identity_of(status: Status) -> tuple[int, int]:
    return status.st_dev, status.st_ino

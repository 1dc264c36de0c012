"""One directory while a walk stands in it: what belongs into the backup, in order, with what the kernel says of it.

Owns the short way of ordinary objects; what else is decided is the walker's.
"""

import os
import stat
from collections.abc import Callable, Iterator
from typing import Protocol

import msgspec

from repositories.engine.errors import IntegrityError
from repositories.engine.manifest.entries import NAME_LIMIT
from repositories.engine.manifest.order import join
from repositories.engine.manifest.problems import ProblemKind
from repositories.engine.source.status import Status

ReportProblem = Callable[[ProblemKind, bytes, str], None]
"""Told of everything that is left out or in doubt: kind, path relative to the source, detail.

Of what is left out by a rule, the detail is the rule's number.
"""

_NOTHING: frozenset[bytes] = frozenset()
_FORMAT = stat.S_IFMT(0o177777)
_DIRECTORY = stat.S_IFDIR


class Place(Protocol):
    """The walk that a directory belongs to."""

    @property
    def mounts(self) -> dict[bytes, frozenset[bytes]]:
        """The names on which something was mounted when the walk began, by the directory's path."""

    def admit(self, directory: "Directory", name: bytes, status: os.stat_result) -> bool:
        """Return whether an object belongs into the backup; remembers directories that are to be entered."""

    def failed(self, error: OSError, path: bytes) -> None:
        """Report a call that failed."""

    @property
    def report(self) -> ReportProblem:
        """Takes what is left out or in doubt."""

    def tells_sizes(self, device: int) -> bool:
        """See FileSystems.tells_sizes."""

    @property
    def is_plain(self) -> bool:
        """Whether no rule excludes anything."""


class ReadAhead(msgspec.Struct, frozen=True):
    """The whole content of a regular file, which was as `status` says before and after it was read.

    `tagged` is it behind its `tag`, valid until the next object comes; `looked_ns` is wall time before all of that.
    """

    status: Status
    tagged: memoryview
    tag: bytes
    xattrs: list[tuple[bytes, bytes]]
    looked_ns: int

    @property
    def data(self) -> memoryview:
        """The content."""
        return self.tagged[len(self.tag) :]

    def require_whole(self) -> None:
        """Raise IntegrityError if something else has been written where the content lies: it is shared memory."""
        if self.tagged[: len(self.tag)] != self.tag:
            raise IntegrityError(
                "a content that was read ahead was written over",
                hint="run it again, and report it: this must not happen",
            )


class Listing:
    """A directory of a source whose objects come by `items`, once. `descriptor` is valid until the walk goes on.

    `mounts` are the names on which something was mounted when the walk began; `below` what has been found to be
    entered; `content` what has been read already of the object that `items` gave last.
    """

    content: ReadAhead | None = None

    def __init__(self, place: Place, path: bytes, device: int) -> None:
        self._place = place
        self.path = path
        self.device = device
        self.mounts = place.mounts.get(path, _NOTHING)
        self.below: list[bytes] = []

    @property
    def descriptor(self) -> int:
        """The open directory. Raises OSError when there is none."""
        raise NotImplementedError

    def items(self) -> Iterator[tuple[bytes, Status]]:
        """Yield (name, lstat) of what belongs into the backup, sorted; must be run to its end before walking on."""
        raise NotImplementedError

    def again(self, name: bytes, status: Status) -> Status | None:
        """Return what `items` gave last as it is now, as far as it may have changed; None, reported, if it is gone.

        None as well for what `items` will give once more. To be asked before anything of an object is opened or read.
        """
        del name
        return status

    def leave_out(self, name: bytes) -> None:
        """Do not enter the object that `items` gave last: there is no entry of it."""
        if self.is_to_be_entered(name):
            self.below.pop()

    def is_to_be_entered(self, name: bytes) -> bool:
        """Return whether the walk will enter the directory that `items` gave last."""
        return bool(self.below) and self.below[-1] == name

    def tells_sizes(self, status: Status) -> bool:
        """See FileSystems.tells_sizes."""
        return self._place.tells_sizes(status.st_dev)

    def join(self, name: bytes) -> bytes:
        """Return the path of one of its entries, relative to the source."""
        return join(self.path, name)


class Directory(Listing):
    """One that this process has open and looks at."""

    def __init__(self, place: Place, path: bytes, descriptor: int, device: int, names: list[bytes]) -> None:
        super().__init__(place, path, device)
        self._descriptor = descriptor
        self._names = names

    @property
    def descriptor(self) -> int:
        """The open directory, which the walk owns."""
        return self._descriptor

    @property
    def count(self) -> int:
        """How many names it has."""
        return len(self._names)

    def items(self) -> Iterator[tuple[bytes, os.stat_result]]:
        """See Listing."""
        admit = self._place.admit
        descriptor, device = self._descriptor, self.device
        plain = self._place.is_plain
        previous = b""
        for name in self._names:
            if name == previous:
                self._place.report(ProblemKind.DUPLICATE_NAME, self.join(name), "listed twice by its file system")
                continue
            previous = name
            try:
                status = os.stat(name, dir_fd=descriptor, follow_symlinks=False)
            except OSError as error:
                self._place.failed(error, self.join(name))
                continue
            # Nothing decides about an ordinary object, then: it is asked for in a word, and has no directory's mode.
            is_ordinary = plain and status.st_mode & _FORMAT != _DIRECTORY and status.st_dev == device
            if (is_ordinary and len(name) <= NAME_LIMIT) or admit(self, name, status):
                yield name, status

"""Body of a process that walks ahead of a backup: lists directories, looks at what is in them, and tells.

Owns nothing that is decided: it goes on with the walk that it was forked with, by the same rules. It writes nothing but
into the memory that it shares, and ends with the process that forked it.
"""

import socket
from collections.abc import Iterator
from mmap import mmap
from typing import Final

from repositories.engine.clock import SYSTEM_CLOCK, Clock
from repositories.engine.manifest.problems import ProblemKind
from repositories.engine.source.ahead_messages import ENTERING, ContentAhead, Message, Part, Report, send
from repositories.engine.source.directory import Directory
from repositories.engine.source.reading_ahead import ReadingAhead
from repositories.engine.source.status import Look, look_at
from repositories.engine.source.walker import Walker

_LOOKS: Final = 512
"""At most so many in a part, and in the parts of a message a little more."""
_SECONDS: Final = 0.05
"""A slow file system's looks are told after this time, however few they are."""

Shared = tuple[mmap, int, socket.socket, int]
"""Memory for contents, up to which size those are read, the way to who forked the process, and its number there."""


class AheadProcess:
    """Tells one walk. `clock` gives wall time; `contents` reads what is worth it."""

    def __init__(self, walker: Walker, channel: socket.socket, contents: ReadingAhead, clock: Clock) -> None:
        self._walker = walker
        self._channel = channel
        self._contents = contents
        self._clock = clock
        self._held: list[ContentAhead] = []
        self._waiting: list[Part] = []
        self._count = 0
        self._reports: list[Report] = []
        self._looks: list[Look] = []
        self._due = 0.0
        self._is_within = False
        walker.report = self._report

    def tell(self, directories: Iterator[Directory]) -> None:
        """Tell of all these directories, then that it is through. Raises OSError when nobody listens."""
        for directory in directories:
            self._tell_directory(directory)
        self._waiting.append(Part(b"", (0, 0), 0, 0.0, [], self._taken_reports(), [], is_last=True, is_end=True))
        self._send()

    def _tell_directory(self, directory: Directory) -> None:
        self._is_within = True
        begun = self._begun()
        looks = self._looks = []
        contents, descriptor = self._contents, directory.descriptor
        for name, status in directory.items():
            if contents.wants(status):
                if not contents.fits(status):
                    self._finish_part(directory, begun, is_last=False)
                    self._send()
                    looks = self._looks = []
                    # The file was looked at before this part began.
                held = contents.read(descriptor, (len(looks), name, status))
                if held is not None:
                    self._held.append(held)
            looks.append(look_at(name, status, entered=directory.is_to_be_entered(name)))
            if len(looks) == _LOOKS or (len(looks) & 7 == 7 and SYSTEM_CLOCK.monotonic() > self._due):
                self._finish_part(directory, begun, is_last=False)
                begun = self._begun()
                looks = self._looks = []
        self._finish_part(directory, begun, is_last=True)
        self._is_within = False

    def _begun(self) -> tuple[int, float]:
        return self._clock.now_ns(), SYSTEM_CLOCK.monotonic()

    def _finish_part(self, directory: Directory, begun: tuple[int, float], *, is_last: bool) -> None:
        identity = self._walker.descent.identity
        reports = self._taken_reports()
        self._waiting.append(Part(directory.path, identity, *begun, self._looks, reports, self._held, is_last))
        self._count += 1 + len(self._looks)
        self._looks, self._held = [], []
        if self._count >= _LOOKS or SYSTEM_CLOCK.monotonic() > self._due:
            self._send()

    def _send(self) -> None:
        send(self._channel, Message(self._contents.hand_over(), self._waiting))
        self._waiting, self._count = [], 0
        self._due = SYSTEM_CLOCK.monotonic() + _SECONDS

    def _report(self, kind: ProblemKind, path: bytes, detail: str) -> None:
        number = len(self._looks) if self._is_within else ENTERING
        self._reports.append((number, str(kind), path, detail))

    def _taken_reports(self) -> list[Report]:
        reports, self._reports = self._reports, []
        return reports


def live(walk: tuple[Walker, Iterator[Directory]], shared: Shared, clock: Clock) -> None:
    """Go on with a walk and tell of it, to the end; what a forked process does. Raises OSError when nobody listens."""
    walker, directories = walk
    AheadProcess(walker, shared[2], ReadingAhead(*shared), clock).tell(directories)

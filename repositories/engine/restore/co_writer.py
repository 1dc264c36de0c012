"""Body of a process that writes files for a restore.

Owns the plain case alone: a new file, under its own name, in a directory that this restore has made and nobody else
makes anything in. Whatever does not go smoothly it undoes and hands back, and the restore does it itself and tells why.
So nothing is counted, judged, replaced or explained here. It reads the repository for itself, with the keys that it was
forked with; it ends with the process that forked it.
"""

import functools
import os
import select
import socket
from collections.abc import Callable, Sequence
from mmap import mmap
from typing import Final

from repositories.engine.errors import EngineError, IntegrityError, ObjectMissingError
from repositories.engine.metadata.apply import AttributeClass, ReportAttribute
from repositories.engine.restore.chunks import AnyChunks, first_place
from repositories.engine.restore.directories import BeforeWriting, Surroundings
from repositories.engine.restore.filling import FileTask, Filler, by_place, create
from repositories.engine.restore.parcels import Outcome, Parcel, Report, receive_parcel, send_outcome
from repositories.engine.restore.publishing import discard
from repositories.engine.restore.target import UNFINISHED_FILE

_PLAIN: Final = Surroundings(BeforeWriting(), fresh=True)


class _StoppedError(Exception):
    """The restore needs no more of this."""


class CoWriter:
    """Writes parcels of files. `stopped` is asked before each piece of content. Used by one thread."""

    def __init__(self, source: AnyChunks, stopped: Callable[[], bool]) -> None:
        self._source = source
        self._filler = Filler(source, self, self._taken, self._go_on)
        self._stopped = stopped
        self._written = 0
        self._reports: list[Report] = []
        self._broken = False

    def write(self, parcel: Parcel, directories: Sequence[int]) -> Outcome:
        """Write what goes smoothly; return what became of the parcel. Never raises for what is in it."""
        self._written, self._reports, self._broken = 0, [], False
        tasks = [
            FileTask(directories[directory], b"%d" % number, entry, _PLAIN, first_place(self._source, entry))
            for number, (directory, entry) in enumerate(parcel)
        ]
        tasks.sort(key=by_place)
        left = [int(task.path) for task in tasks if self._broken or not self._write(task)]
        return Outcome(self._written, left, self._reports)

    def wrote(self, count: int) -> None:
        """Count content. See FillingTally."""
        self._written += count

    def reporter(self, place: int, path: bytes) -> ReportAttribute:
        """Return what keeps reports; `path` is the number of the file, for nothing else of it is known here."""
        del place
        return functools.partial(self._report, int(path))

    def _report(self, number: int, kind: AttributeClass, error: OSError) -> None:
        self._reports.append(Report(number, str(kind), error.errno, error.strerror))

    def _taken(self, count: int) -> None:
        del count
        self._go_on()

    def _go_on(self) -> None:
        if self._stopped():
            raise _StoppedError

    def _write(self, task: FileTask) -> bool:
        """Write a file; return False, and leave nothing of it, if anything is not as it should be."""
        before = self._written, len(self._reports)
        try:
            descriptor = create(task.directory, task.entry.name, UNFINISHED_FILE)
        except OSError:
            return False
        try:
            try:
                self._filler.fill(descriptor, task)
            finally:
                os.close(descriptor)
        except (IntegrityError, ObjectMissingError, OSError):
            pass
        except (EngineError, _StoppedError):
            self._broken = True  # the rest will fare no better, and is the restore's to tell
        else:
            return True
        discard(task.directory, task.entry.name)
        self._written = before[0]
        del self._reports[before[1] :]
        return False


def live(channels: Sequence[socket.socket], source: AnyChunks, stop: mmap) -> None:
    """Write what comes through any of the channels, until one of them ends; what a forked process does."""
    writer = CoWriter(source, lambda: stop[0] != 0)
    poll = select.poll()
    for each in channels:
        poll.register(each, select.POLLIN)
    by_number = {each.fileno(): each for each in channels}
    while True:
        for told, _ in poll.poll():
            if not _serve(by_number[told], writer):
                return


def _serve(channel: socket.socket, writer: CoWriter) -> bool:
    received = receive_parcel(channel)
    if received is None:
        return False
    parcel, directories = received
    try:
        outcome = writer.write(parcel, directories)
    finally:
        # Before it is told: a directory that is open here counts as one that somebody is at work in.
        for each in directories:
            os.close(each)
    send_outcome(channel, outcome)
    return True

"""Processes that write files for a restore: begun when it has shown to be a large one, ended with it.

Owns forking them and handing files over. In one interpreter two writing threads hardly overlap; a process of its own
has an interpreter, too. Each thread that has a window to write hands it to one of them and waits; each process has two
channels, so that the next window is there when it is through with one. What a process did not do, or was doing when
it died, is the caller's, and a death is told: a file that is there and whole is found so and counts as restored, and
one that is not carries the mark.
"""

import contextlib
import os
import queue
import select
import signal
import socket
import threading
from mmap import mmap
from typing import Final

import msgspec

from repositories.engine import forked
from repositories.engine.metadata.apply import AttributeClass
from repositories.engine.restore.chunks import AnyChunks
from repositories.engine.restore.co_writer import live
from repositories.engine.restore.filling import FileTask
from repositories.engine.restore.parcels import MOST_DIRECTORIES, Outcome, Parcel, receive_outcome, send_parcel
from repositories.engine.restore.pulse import RestorePulse
from repositories.engine.restore.tally import Tally
from repositories.engine.restore.writing import is_plain

_MOST: Final = 4
_CHANNELS: Final = 2
_LOOK_MILLISECONDS: Final = 200
_GRACE_MILLISECONDS: Final = 2000


class CoWriters:
    """Those of one restore. `write` may be called from any thread, the rest by the one that began them."""

    def __init__(self, source: AnyChunks, count: int, tally: Tally, pulse: RestorePulse) -> None:
        """Fork `count` processes, fewer where the system gives no more. No other thread may be using `source`."""
        self._tally = tally
        self._pulse = pulse
        self._stop = mmap(-1, 1)
        self._processes: list[tuple[int, list[socket.socket]]] = []
        self._idle: queue.SimpleQueue[socket.socket] = queue.SimpleQueue()
        self._dead: set[int] = set()
        self._burying = threading.Lock()
        source.keep_little()
        with contextlib.suppress(OSError):
            for _ in range(count):
                self._processes.append(_fork(source, self._stop))
        for turn in range(_CHANNELS):
            for _, channels in self._processes:
                self._idle.put(channels[turn])

    @property
    def at_once(self) -> int:
        """How many calls of `write` keep all of them at work; 0 if there are none."""
        return _CHANNELS * len(self._processes)

    def write(self, tasks: list[FileTask]) -> list[FileTask]:
        """Have files written; return those that are left to do. Raises OperationCancelledError."""
        plain = [task for task in tasks if is_plain(task)]
        numbers: dict[int, int] = {}
        parcel = [(numbers.setdefault(task.directory, len(numbers)), task.entry) for task in plain]
        if not plain or len(numbers) > MOST_DIRECTORIES:
            return tasks
        try:
            channel = self._idle.get_nowait()
        except queue.Empty:
            return tasks
        try:
            outcome = self._have_written(channel, parcel, list(numbers))
        except OSError:
            # Its channels are given to nobody any more.
            self._tell_of_death(channel)
            return [msgspec.structs.replace(task, untold=True) for task in tasks]
        self._idle.put(channel)
        self._count(plain, outcome)
        if self._stop[0]:
            return []
        left = [plain[number] for number in outcome.left]
        return left if len(plain) == len(tasks) else [*left, *(task for task in tasks if not is_plain(task))]

    def stop(self) -> None:
        """Let them hand back what they have not begun; nothing more is written by anybody."""
        self._stop[0] = 1

    def end(self) -> None:
        """End the processes. One that is stuck is killed; what it was writing carries the mark."""
        self.stop()
        for _, channels in self._processes:
            for channel in channels:
                with contextlib.suppress(OSError):
                    channel.shutdown(socket.SHUT_WR)
        while self._processes:
            pid, channels = self._processes.pop()
            # Nothing is asked for but the end, which is always told.
            if pid not in self._dead:
                if not _told(channels[0], 0, _GRACE_MILLISECONDS):
                    os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
            for channel in channels:
                channel.close()

    def _have_written(self, channel: socket.socket, parcel: Parcel, directories: list[int]) -> Outcome:
        """Return what became of a parcel. Raises OSError if nobody can tell."""
        send_parcel(channel, parcel, directories)
        while not _told(channel, select.POLLIN, _LOOK_MILLISECONDS):
            self._pulse.beat()
        return receive_outcome(channel)

    def _tell_of_death(self, channel: socket.socket) -> None:
        """Say once which process is gone, and how it ended; one that is being ended is no news."""
        pid = next(pid for pid, channels in self._processes if channel in channels)
        with self._burying:
            if pid in self._dead or self._stop[0] or not _told(channel, 0, _GRACE_MILLISECONDS):
                return
            self._dead.add(pid)
            _, status = os.waitpid(pid, 0)
        how = forked.ending(os.waitstatus_to_exitcode(status))
        self._pulse.warn(
            f"process {pid}, which wrote files for this restore, {how}: the restore looks at each file that it had in "
            "hand, writes what is not whole, and goes on"
        )

    def _count(self, tasks: list[FileTask], outcome: Outcome) -> None:
        self._tally.restored_files(len(tasks) - len(outcome.left))
        self._tally.wrote(outcome.written)
        for each in outcome.reports:
            error = OSError(each.text) if each.errno is None else OSError(each.errno, each.text)
            task = tasks[each.number]
            self._tally.warn(AttributeClass(each.kind), error, task.directory, task.path)
        self._pulse.taken(outcome.written)


def most_at_once() -> int:
    """Return how many processes are worth having: one for each processor that this process may use, up to a few."""
    return min(forked.processors(), _MOST)


def _fork(source: AnyChunks, stop: mmap) -> tuple[int, list[socket.socket]]:
    """Return a new process and our ends of its channels. Raises OSError."""
    pairs = [socket.socketpair() for _ in range(_CHANNELS)]
    theirs = [each for _, each in pairs]
    try:
        pid = forked.fork(lambda: live(theirs, source.apart(), stop), lambda: [each.fileno() for each in theirs])
    except OSError:
        for ours, _ in pairs:
            ours.close()
        raise
    finally:
        for each in theirs:
            each.close()
    return pid, [ours for ours, _ in pairs]


def _told(channel: socket.socket, what: int, milliseconds: int) -> bool:
    """Wait until there is something to read, or the other end is closed; at most so long."""
    poll = select.poll()
    poll.register(channel, what)
    return bool(poll.poll(milliseconds))

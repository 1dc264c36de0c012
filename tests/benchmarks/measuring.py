"""Runs a command and tells what it took: wall time, processor time and memory, of it and of all its children.

Owns one process at a time. Must not know what is measured.
"""

import contextlib
import os
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

_LOOK_SECONDS = 0.02
_PIECE = 1 << 20


@dataclass(frozen=True, slots=True)
class Taken:
    """What one command took.

    `peak_bytes`: the most that its processes had together at one look, what several share counted once (PSS); at least
    the most that any one of them had until then. One that ends between two looks is missed, 0.02 s before its end.
    """

    wall_seconds: float
    cpu_seconds: float
    peak_bytes: int


class CommandFailedError(Exception):
    """A measured command did not succeed; its text is the exit code and the last line that the command said."""


def measure(command: Sequence[str], variables: Mapping[str, str], directory: Path) -> Taken:
    """Run a command in `directory` to its end. Raises CommandFailedError; ends it and its children when interrupted."""
    begun = time.monotonic()
    process = subprocess.Popen(
        command,
        env={**os.environ, **variables},
        cwd=directory,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    assert process.stdout is not None
    try:
        with process.stdout, _Peaks(process.pid) as peaks:
            said = process.stdout.read()
            # wait4 tells this child's usage alone, with what its own children used.
            _, status, usage = os.wait4(process.pid, 0)
    except BaseException:
        _end(process)
        raise
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        last = said.decode(errors="replace").strip().rpartition("\n")[2] or "it said nothing"
        raise CommandFailedError(f"exit {process.returncode}: {last}")
    # What wait4 tells begins with what this process had when it started the command: the kernel counts on over an exec.
    peak = peaks.bytes or usage.ru_maxrss * 1024
    return Taken(time.monotonic() - begun, usage.ru_utime + usage.ru_stime, peak)


def bytes_below(directory: Path) -> int:
    """Return the bytes of all files below a directory."""
    return files_below(directory)[1]


def files_below(directory: Path) -> tuple[int, int]:
    """Return the number of regular files below a directory, and their bytes."""
    files = size = 0
    for parent, _, names in os.walk(directory):
        for name in names:
            path = os.path.join(parent, name)
            if os.path.isfile(path) and not os.path.islink(path):
                files += 1
                size += os.lstat(path).st_size
    return files, size


def read_once(directory: Path) -> None:
    """Read a tree, so that every tool finds it in memory alike.

    In pieces: what this process holds at its peak would count as its children's, too.
    """
    for parent, _, names in os.walk(directory):
        for name in names:
            path = os.path.join(parent, name)
            if os.path.isfile(path) and not os.path.islink(path):
                with open(path, "rb", buffering=0) as file:
                    while file.read(_PIECE):
                        pass


def _end(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    with contextlib.suppress(ChildProcessError):
        process.wait()


class _Peaks:
    """Looks at a process and its descendants, while it is entered, for the most memory that they have at one time.

    `bytes` is that; 0 where there is no /proc.
    """

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self.bytes = 0

    def __enter__(self) -> "_Peaks":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._ended.wait(_LOOK_SECONDS):
            waiting = [self._pid]
            together = highest = 0
            while waiting:
                pid = waiting.pop()
                with contextlib.suppress(OSError):
                    together += _kibibytes(f"/proc/{pid}/smaps_rollup", "Pss:")
                    highest = max(highest, _kibibytes(f"/proc/{pid}/status", "VmHWM:"))
                    for task in os.listdir(f"/proc/{pid}/task"):
                        waiting += map(int, Path(f"/proc/{pid}/task/{task}/children").read_text().split())
            # The kernel keeps what one process had at most: that cannot be missed between two looks.
            self.bytes = max(self.bytes, together << 10, highest << 10)


def _kibibytes(path: str, name: str) -> int:
    for line in Path(path).read_text().splitlines():
        if line.startswith(name):
            return int(line.split()[1])
    return 0

"""Runs one hook: a program in a session of its own, its output line by line, ended at its limit or when asked.

Owns the process alone. What its exit code comes to is workers.hooks'.
"""

import contextlib
import os
import selectors
import signal
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import IO, Final, cast

from syncova_project import clock
from workers.hook_file import Hook

# So much of a hook's output is kept; a run's log has a bound that the rest of the run needs too.
MAX_LINES: Final = 500
MAX_LINE_BYTES: Final = 2000
GRACE_SECONDS: Final = 3.0
_LOOK_SECONDS: Final = 0.2
_READ: Final = 64 * 1024

Say = Callable[[str], None]
Stop = Callable[[], bool]


@dataclass(frozen=True, slots=True)
class HookEnd:
    """How a hook ended: its exit code (negative: the signal), or why it was ended before."""

    exit_code: int
    timed_out: bool = False
    stopped: bool = False
    lines_dropped: int = 0


def run_hook(hook: Hook, *, environment: Mapping[str, str], seconds: float, say: Say, stop: Stop) -> HookEnd:
    """Run the hook to its end and `say` each line of its output; raises OSError where it cannot be started.

    After `seconds`, or when `stop` says so, its whole session is asked to end and then killed.
    """
    process = subprocess.Popen(
        hook.argv,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=dict(environment),
        cwd="/",
        start_new_session=True,
    )
    output = _Output(cast("IO[bytes]", process.stdout), say)
    ends_at, timed_out, stopped = clock.monotonic() + seconds, False, False
    try:
        while process.poll() is None:
            output.read(_LOOK_SECONDS)
            timed_out, stopped = clock.monotonic() >= ends_at, stop()
            if timed_out or stopped:
                break
    finally:
        # Also what it left running in its session: a hook's end is the end of what it began.
        _end(process, output)
        output.close()
    return HookEnd(process.returncode, timed_out, stopped, output.dropped)


def _end(process: "subprocess.Popen[bytes]", output: "_Output") -> None:
    if process.poll() is None:
        _signal(process.pid, signal.SIGTERM)
        gone_by = clock.monotonic() + GRACE_SECONDS
        while process.poll() is None and clock.monotonic() < gone_by:
            output.read(_LOOK_SECONDS)
    _signal(process.pid, signal.SIGKILL)
    process.wait()


def _signal(session: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(session, number)


class _Output:
    """The lines of a pipe that may stay open or silent for ever."""

    def __init__(self, pipe: IO[bytes], say: Say) -> None:
        self._pipe, self._say = pipe, say
        self._rest, self._said, self.dropped = b"", 0, 0
        os.set_blocking(pipe.fileno(), False)
        self._selector = selectors.DefaultSelector()
        self._selector.register(pipe, selectors.EVENT_READ)
        self._open = True

    def read(self, seconds: float) -> None:
        """Take what is there, waiting for at most `seconds`."""
        if not self._open:
            clock.sleep(seconds)
        elif self._selector.select(seconds):
            self._take()

    def close(self) -> None:
        """Take what is left without waiting."""
        while self._open and self._selector.select(0):
            self._take()
        if self._rest:
            self._line(self._rest)
        self._selector.close()
        self._pipe.close()

    def _take(self) -> None:
        data = os.read(self._pipe.fileno(), _READ)
        if not data:
            self._open = False
            self._selector.unregister(self._pipe)
        *lines, self._rest = (self._rest + data).split(b"\n")
        if len(self._rest) > MAX_LINE_BYTES:
            lines, self._rest = [*lines, self._rest], b""
        for line in lines:
            self._line(line)

    def _line(self, line: bytes) -> None:
        if self._said >= MAX_LINES:
            self.dropped += 1
            return
        self._said += 1
        self._say(line[:MAX_LINE_BYTES].decode("utf-8", "backslashreplace").rstrip("\r"))

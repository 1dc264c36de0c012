"""Runs one hook: a program in a session of its own, its output line by line, ended at its limit or when asked.

Owns the process alone. Between it and us stands workers.hook_keeper, so that it ends with this process, however that
ends. What its exit code comes to is workers.hooks'.
"""

import contextlib
import os
import selectors
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import IO, Final, cast

from syncova_project import clock
from workers import hook_keeper
from workers.hook_file import Hook

# So much of a hook's output is kept; a run's log has a bound that the rest of the run needs too.
MAX_LINES: Final = 500
MAX_LINE_BYTES: Final = 2000
GRACE_SECONDS = hook_keeper.GRACE_SECONDS
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
    process, told = _start(hook, environment)
    output = _Output(cast("IO[bytes]", process.stdout), say)
    ends_at, timed_out, stopped = clock.monotonic() + seconds, False, False
    try:
        while process.poll() is None:
            output.read(_LOOK_SECONDS)
            timed_out, stopped = clock.monotonic() >= ends_at, stop()
            if timed_out or stopped:
                break
    finally:
        _end(process, output)
        output.close()
        with os.fdopen(told, "rb") as words:
            said = words.read().split()
    if said[:1] == [b"errno"]:
        raise OSError(int(said[1]), os.strerror(int(said[1])))
    # Without a word it was killed before it could say how the hook ended.
    code = int(said[1]) if said else process.returncode
    return HookEnd(code, timed_out, stopped, output.dropped)


def _start(hook: Hook, environment: Mapping[str, str]) -> tuple["subprocess.Popen[bytes]", int]:
    """Start the hook with its keeper; return that, and where it tells how the hook ended."""
    told, tells = os.pipe()
    try:
        process = subprocess.Popen(
            # Isolated and without site packages: it starts at once, and the environment is the hook's.
            [sys.executable, "-I", "-S", hook_keeper.__file__, str(tells), *hook.argv],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=dict(environment),
            cwd="/",
            start_new_session=True,
            pass_fds=(tells,),
        )
    except OSError:
        os.close(told)
        raise
    finally:
        os.close(tells)
    return process, told


def _end(process: "subprocess.Popen[bytes]", output: "_Output") -> None:
    if process.poll() is None:
        _signal(process.pid, signal.SIGTERM)
        gone_by = clock.monotonic() + GRACE_SECONDS
        while process.poll() is None and clock.monotonic() < gone_by:
            output.read(_LOOK_SECONDS)
        if process.poll() is None:
            _signal(process.pid, signal.SIGKILL)
    process.wait()
    cast("IO[bytes]", process.stdin).close()


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

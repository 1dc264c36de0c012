"""A command whose standard output is backed up: started without a shell, watched to its end, never left behind.

Owns its process (through the keeper) and both of its outputs. What it wrote counts only if it ended with 0.
Nothing of the engine reaches it: stdin is empty, all other descriptors are closed, the environment is the given one.
"""

import contextlib
import fcntl
import os
import select
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from types import TracebackType
from typing import IO, cast

from repositories.engine.display import show_path
from repositories.engine.errors import CommandFailedError
from repositories.engine.source import keeper
from repositories.engine.source.last_words import LastWords

_LOOK_SECONDS = 0.2
_QUIET_LOOKS = 25
"""For so many looks in a row (5 s) an output may stay open and silent after the command's end."""
_READ_SIZE = 1024 * 1024
_PIPE_SIZE = 1024 * 1024
_END_SECONDS = keeper.GRACE_SECONDS + 1.0
_FAILED_HINT = "what it wrote was not kept; run the command by hand to see what it says"


@dataclass(frozen=True, slots=True)
class Command:
    """What to run, with which variables, where. Shown is only the program's name: arguments may hold secrets."""

    words: tuple[bytes, ...]
    environment: tuple[tuple[bytes, bytes], ...] = field(default=(), repr=False)
    directory: bytes = b"/"

    @property
    def can_be_started(self) -> bool:
        """Whether there is a program, and nothing that no process could be given."""
        names = [name for name, _ in self.environment]
        texts = [*self.words, self.directory, *names, *(value for _, value in self.environment)]
        nameless = any(not name or b"=" in name for name in names)
        return bool(self.words and self.words[0]) and not nameless and not any(b"\0" in text for text in texts)

    @property
    def program(self) -> str:
        """The program's name for messages."""
        return show_path(os.path.basename(self.words[0]) or self.words[0])


class CommandOutput:
    """The output of one run of a command, as a stream. Use it with `with`: leaving it ends whatever still runs.

    `waiting` is called several times a second while there is nothing to read, `taken` after each read; both may raise.
    All methods belong to one thread, the one that made it.
    """

    def __init__(self, command: Command, waiting: Callable[[], None], taken: Callable[[int], None]) -> None:
        self._command = command
        self._waiting = waiting
        self._taken = taken
        self._ended = False
        self._quiet = 0
        self._owed = 0
        self._status, status = os.pipe()
        try:
            self._keeper = _start_keeper(command, status)
        except OSError as error:
            os.close(self._status)
            reason = f"{error.strerror or error} (in directory {show_path(command.directory)})"
            raise _not_started(command, reason) from error
        finally:
            os.close(status)
        self._output = cast(IO[bytes], self._keeper.stdout).fileno()
        self._room = _widen(self._output)
        self._words = LastWords(cast(IO[bytes], self._keeper.stderr).fileno())
        self._send_environment()

    @property
    def last_words(self) -> list[str]:
        """The last lines on its stderr, as shown text; whole once the command has ended."""
        return self._words.lines()

    def readinto(self, buffer: memoryview, /) -> int:
        """Fill part of `buffer`; 0 at the end of the output.

        Raises CommandFailedError when the command failed or its output does not end with it.
        """
        while not (count := self._try_read(buffer)):
            if count == 0:
                return 0
        self._taken(count)
        return count

    def finish(self) -> None:
        """Wait for the command's end, however long it takes; raises CommandFailedError unless it ended with 0."""
        while not self._ended:
            if self._readable(self._status):
                self._take_status()
            else:
                self._waiting()
        self._words.finish()
        with contextlib.suppress(BrokenPipeError):
            self._tell_keeper(keeper.ALL_IS_WELL)

    def close(self) -> None:
        """End what still runs of the command, and free everything. Takes seconds at most."""
        for stream in (self._keeper.stdout, self._keeper.stdin):
            if stream is not None:
                stream.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            # What even a kill does not end now (the kernel holds it) is the keeper's alone.
            self._keeper.wait(_END_SECONDS)
        self._words.finish()
        if self._keeper.stderr is not None:
            self._keeper.stderr.close()
        if self._status >= 0:
            os.close(self._status)
            self._status = -1

    def __enter__(self) -> "CommandOutput":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _try_read(self, buffer: memoryview) -> int | None:
        """Return how much was read, 0 at the end, None when there is nothing yet."""
        ready = self._readable(self._output, *(() if self._ended else (self._status,)))
        if self._status in ready:
            self._take_status()
        if self._output in ready:
            count = os.readv(self._output, [buffer[:_READ_SIZE]])
            self._quiet = 0
            self._require_own(count)
            return count
        if not ready:
            self._quiet += self._ended
            if self._quiet >= _QUIET_LOOKS:
                raise self._left_behind()
            self._waiting()
        return None

    def _require_own(self, count: int) -> None:
        """What the command itself has written fits the pipe when it has ended: more comes from somebody else."""
        if self._ended:
            self._owed -= count
            if self._owed < 0:
                raise self._left_behind()

    def _readable(self, *descriptors: int) -> list[int]:
        poll = select.poll()
        for descriptor in descriptors:
            poll.register(descriptor, select.POLLIN)
        return [descriptor for descriptor, _ in poll.poll(_LOOK_SECONDS * 1000)]

    def _take_status(self) -> None:
        """Read how the command ended; raises CommandFailedError unless it was well."""
        what, _, number = os.read(self._status, 64).strip().partition(b" ")
        self._ended = True
        self._owed = self._room
        if (what, number) == (keeper.EXITED, b"0"):
            return
        self._words.finish()
        if what == keeper.NOT_STARTED:
            raise _not_started(self._command, os.strerror(int(number)))
        if what == keeper.EXITED:
            raise self._failed(f"ended with exit code {int(number)}")
        if what == keeper.KILLED:
            raise self._failed(f"was ended by signal {int(number)}")
        raise self._failed("was lost: the process that watched it is gone")

    def _failed(self, how: str) -> CommandFailedError:
        said = " / ".join(self._words.lines()[-3:])
        return CommandFailedError(
            f"command {self._command.program} {how}" + (f": {said}" if said else ""), hint=_FAILED_HINT
        )

    def _left_behind(self) -> CommandFailedError:
        return CommandFailedError(
            f"command {self._command.program} has ended, but a process that it left behind keeps its output open",
            hint="let the command wait for all that it starts: nobody can tell whether its output is whole",
        )

    def _send_environment(self) -> None:
        pairs = b"\0".join(name + b"=" + value for name, value in self._command.environment)
        with contextlib.suppress(BrokenPipeError):
            # A keeper that is gone is told of by the end of its report.
            self._tell_keeper(pairs + keeper.ENVIRONMENT_END)

    def _tell_keeper(self, data: bytes) -> None:
        stdin = cast(IO[bytes], self._keeper.stdin)
        while data:
            data = data[stdin.write(data) or 0 :]


def _start_keeper(command: Command, status: int) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        [sys.executable, "-I", "-S", "-X", "utf8", keeper.__file__, str(status), *command.words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
        cwd=command.directory,
        env={},
        pass_fds=(status,),
        # A kill of the engine's whole group must not take the one away that ends the command then.
        start_new_session=True,
    )


def _widen(output: int) -> int:
    """Make the pipe larger where that is possible; return how much it holds."""
    if sys.platform != "linux":
        return _PIPE_SIZE
    with contextlib.suppress(OSError):
        fcntl.fcntl(output, fcntl.F_SETPIPE_SZ, _PIPE_SIZE)
    return fcntl.fcntl(output, fcntl.F_GETPIPE_SZ)


def _not_started(command: Command, reason: str) -> CommandFailedError:
    return CommandFailedError(
        f"command {command.program} cannot be started: {reason}",
        hint="check its name, PATH and permissions; no shell looks at it, so that | and > need sh -c '...'",
    )

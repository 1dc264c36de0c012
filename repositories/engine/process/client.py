"""The parent's side: start the engine as a child, hand it the request, read its events, end it for certain.

Owns the child's whole life. Must not know what an operation does.
"""

import contextlib
import os
import queue
import signal
import subprocess
import threading
from collections.abc import Iterator, Mapping
from types import TracebackType
from typing import IO, cast

import msgspec

from repositories.engine.process import protocol
from repositories.engine.process.protocol import ErrorInfo, Event, Failed
from repositories.engine.process.requests import Request
from repositories.engine.process.spawn import spawn

STDERR_KEPT = 16_384
GRACE_SECONDS = 5.0
_KILL_WAIT_SECONDS = 5.0


class EngineProcess:
    """One running engine child: a new one, or `child` that `spawn` has started before.

    Threads: events are read by one thread; `confirm`, `turn`, `cancel` and `terminate` may come from any.
    The thread that starts the child must outlive it: Linux kills the child with that thread.
    Every child's event stream ends with Finished or Failed, also when it crashed (code ENGINE_LOST).
    """

    def __init__(
        self,
        request: Request,
        *,
        environment: Mapping[str, str] | None = None,
        child: "subprocess.Popen[bytes] | None" = None,
    ) -> None:
        """Start the child. Raises ConfigurationError, with none started, for a request that cannot be sent."""
        line = protocol.encode_request(msgspec.structs.replace(request, parent_pid=os.getpid()))
        self._events: queue.SimpleQueue[Event | None] = queue.SimpleQueue()
        self._stderr = bytearray()
        self._stdin_lock = threading.Lock()
        self._ended = False
        self._popen = child or spawn(environment, request.operation)
        self._stdin = cast(IO[bytes], self._popen.stdin)
        self._threads = [
            threading.Thread(target=self._read_events, args=(self._popen.stdout,), daemon=True),
            threading.Thread(target=self._read_stderr, args=(self._popen.stderr,), daemon=True),
        ]
        for thread in self._threads:
            thread.start()
        self._write(line)

    @property
    def pid(self) -> int:
        """Process id of the child, which is its process group too."""
        return self._popen.pid

    @property
    def returncode(self) -> int | None:
        """Exit code once the child is gone (negative: killed by that signal), else None."""
        return self._popen.poll()

    @property
    def stderr_tail(self) -> str:
        """The end of what the child wrote to stderr; empty unless it crashed."""
        return bytes(self._stderr).decode("utf-8", "backslashreplace")

    def next_event(self, timeout: float) -> Event | None:
        """Return the next event, or None when none came within `timeout` seconds.

        After Finished or Failed there are no more: calling again returns None at once.
        """
        if self._ended:
            return None
        try:
            event = self._events.get(timeout=timeout)
        except queue.Empty:
            return None
        if event is None:
            event = self._lost()
        self._ended = isinstance(event, protocol.Finished | Failed)
        return event

    def events(self, timeout: float) -> Iterator[Event | None]:
        """Yield events until the last one; None each time `timeout` seconds passed without any."""
        while not self._ended:
            yield self.next_event(timeout)

    def confirm(self, confirm_id: int, *, ok: bool) -> None:
        """Answer a ConfirmWanted event."""
        self._send(protocol.ConfirmAnswer(id=confirm_id, ok=ok))

    def turn(self, turn_id: int, verdict: protocol.TurnVerdict, error: ErrorInfo | None = None) -> None:
        """Answer a TurnWanted event; `error` says why a source is left out."""
        self._send(protocol.TurnAnswer(id=turn_id, verdict=verdict, error=error))

    def cancel(self) -> None:
        """Ask the child to stop; it answers with Failed (CANCELLED) unless it was just done."""
        self._send(protocol.Cancel())

    def wait(self, timeout: float | None = None) -> int | None:
        """Wait for the child's end; None when it still runs after `timeout` seconds."""
        try:
            return self._popen.wait(timeout)
        except subprocess.TimeoutExpired:
            return None

    def terminate(self, grace_seconds: float = GRACE_SECONDS) -> bool:
        """Cancel, wait, then kill the whole process group. True when the child is gone.

        False only when the kernel itself can't end it (uninterruptible I/O).
        """
        if self._popen.poll() is None:
            self.cancel()
            self._signal(signal.SIGTERM, group=False)
            if self.wait(grace_seconds) is None:
                return self.kill()
        return True

    def kill(self) -> bool:
        """Kill the process group at once. True when the child is gone."""
        if self._popen.poll() is None:
            self._signal(signal.SIGKILL, group=True)
        return self.wait(_KILL_WAIT_SECONDS) is not None

    def close(self) -> None:
        """End the child if it still runs, and free the pipes."""
        gone = self.terminate()
        with self._stdin_lock, contextlib.suppress(BrokenPipeError):
            self._stdin.close()
        if gone:
            for thread in self._threads:
                thread.join(_KILL_WAIT_SECONDS)

    def __enter__(self) -> "EngineProcess":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _send(self, command: protocol.Command) -> None:
        self._write(protocol.encode_line(command))

    def _write(self, line: bytes) -> None:
        # A dead child is told by the event stream, not by whichever thread writes to it first; a closed pipe is a
        # ValueError.
        with self._stdin_lock, contextlib.suppress(BrokenPipeError, ValueError):
            self._stdin.write(line)
            self._stdin.flush()

    def _signal(self, number: signal.Signals, *, group: bool) -> None:
        # Only before the child is reaped: its number can't have been given to another process.
        with contextlib.suppress(ProcessLookupError):
            (os.killpg if group else os.kill)(self._popen.pid, number)

    def _read_events(self, stream: IO[bytes]) -> None:
        with stream:
            for line in stream:
                try:
                    self._events.put(protocol.decode_event(line))
                except protocol.MalformedLineError as error:
                    self._events.put(_failed("ENGINE_PROTOCOL", f"the engine sent a line that is no event: {error}"))
        self._events.put(None)

    def _read_stderr(self, stream: IO[bytes]) -> None:
        with stream:
            while block := stream.read1(4096):  # type: ignore[attr-defined]
                self._stderr += block
                del self._stderr[:-STDERR_KEPT]

    def _lost(self) -> Failed:
        code = self.wait(_KILL_WAIT_SECONDS)
        how = "is still there" if code is None else f"ended by signal {-code}" if code < 0 else f"ended with {code}"
        return _failed("ENGINE_LOST", f"the engine process {how} before it told its result")


def _failed(code: str, message: str) -> Failed:
    # The hint is the caller's: a command has no log, and a run is tried again by itself.
    return Failed(error=ErrorInfo(code=code, message=message, failure_class="transient"))

"""The child's end of the pipes: events out, commands in, and the question whether to stop.

Owns stdin and stdout from the first line on. Must not know what an operation does.
"""

import contextlib
import os
import queue
import threading
from collections.abc import Callable
from typing import BinaryIO

from repositories.engine.clock import SYSTEM_CLOCK
from repositories.engine.errors import EngineError, LeaseLostError, OperationCancelledError
from repositories.engine.process import protocol
from repositories.engine.process.protocol import ConfirmAnswer, Event, TurnAnswer
from repositories.engine.process.requests import Request

_LOOK_SECONDS = 0.2


class TurnUnansweredError(EngineError):
    """Whoever wanted to be asked before each source did not answer: what was not read is not backed up."""

    code = "TURN_UNANSWERED"
    failure_class = "transient"


class Channel:
    """Threads: `send` and `cancelled` may be called from any; `confirm` and `turn` by one at a time.

    Cancelled is for good: by a command, by a signal, by the end of stdin (the parent is gone).
    """

    def __init__(self, commands: BinaryIO, events: BinaryIO) -> None:
        self._commands = commands
        self._events = events
        self._send_lock = threading.Lock()
        self._answers: queue.SimpleQueue[ConfirmAnswer | TurnAnswer] = queue.SimpleQueue()
        self._questions = 0
        self._requests: queue.SimpleQueue[Request | protocol.MalformedLineError] = queue.SimpleQueue()
        self._reading = False
        # A plain flag and no Event: a signal handler may set it while this very thread holds an Event's lock.
        self._cancelled = False

    def start_reading(self, arrived: Callable[[Request], None] = lambda _: None) -> None:
        """Listen on a thread of its own; `arrived` is called there with the request as soon as it is there."""
        self._reading = True
        threading.Thread(target=self._listen, args=(arrived,), daemon=True).start()

    def read_request(self) -> Request:
        """Wait for the first line. Raises MalformedLineError."""
        if not self._reading:
            self.start_reading()
        request = self._requests.get()
        if isinstance(request, Exception):
            raise request
        return request

    def send(self, event: Event) -> None:
        """Write one event; with no one left to read it, stop."""
        line = protocol.encode_line(event)
        with self._send_lock:
            try:
                self._events.write(line)
                self._events.flush()
            except BrokenPipeError:
                self._cancelled = True

    def cancel(self) -> None:
        """Ask the operation to stop; safe in a signal handler."""
        self._cancelled = True

    def cancelled(self) -> bool:
        """Return whether to stop."""
        return self._cancelled

    def confirm(self, source: str) -> None:
        """Ask whether the lease still holds, and wait for the answer as long as it takes.

        Raises LeaseLostError when it does not, OperationCancelledError when the wait was cancelled.
        """
        self._questions += 1
        self.send(protocol.ConfirmWanted(id=self._questions, source=source))
        while True:
            answer = self._next_answer("the confirmation")
            if isinstance(answer, ConfirmAnswer) and answer.id == self._questions:
                break
        if not answer.ok:
            raise LeaseLostError(
                "the run no longer holds its lease, so nothing was committed",
                hint="another process has taken over or closed this run",
            )

    def turn(self, source: str, seconds: float) -> TurnAnswer:
        """Ask whether and when to read a source, and return the answer.

        Raises OperationCancelledError when the wait was cancelled, also by the parent's end, and TurnUnansweredError
        when no answer came within `seconds`.
        """
        self._questions += 1
        self.send(protocol.TurnWanted(id=self._questions, source=source))
        ends_at = SYSTEM_CLOCK.monotonic() + seconds
        while True:
            answer = self._next_answer("a source's turn")
            if isinstance(answer, TurnAnswer) and answer.id == self._questions:
                return answer
            if SYSTEM_CLOCK.monotonic() >= ends_at:
                raise TurnUnansweredError(
                    f"whoever wanted to be asked before a source was read did not answer for {seconds:g} s",
                    hint="nothing of it was read; run the backup again",
                )

    def _next_answer(self, awaited: str) -> ConfirmAnswer | TurnAnswer | None:
        """Return the next answer, None when none came for a moment."""
        if self._cancelled:
            raise OperationCancelledError(f"cancelled while waiting for {awaited}", hint="nothing was committed")
        with contextlib.suppress(queue.Empty):
            return self._answers.get(timeout=_LOOK_SECONDS)
        return None

    def _listen(self, arrived: Callable[[Request], None]) -> None:
        try:
            request = protocol.decode_request(self._commands.readline())
        except protocol.MalformedLineError as error:
            self._requests.put(error)
            return
        try:
            arrived(request)
        finally:
            self._requests.put(request)
        for line in self._commands:
            try:
                command = protocol.decode_command(line)
            except protocol.MalformedLineError:
                self.send(protocol.Log(level="warning", message="a line on stdin was no command"))
                continue
            if isinstance(command, ConfirmAnswer | TurnAnswer):
                self._answers.put(command)
            else:
                self._cancelled = True
        self._cancelled = True


def claim_pipes() -> Channel:
    """Take stdin and stdout for the protocol; whatever else prints from now on goes to stderr."""
    events = os.fdopen(os.dup(1), "wb")
    commands = os.fdopen(os.dup(0), "rb")
    os.dup2(2, 1)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    return Channel(commands, events)

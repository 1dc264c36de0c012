"""The worker of web: gunicorn's threads, which get requests only when they are whole.

Owns waiting for clients: one thread watches every connection, with a time limit for each request, so that slow or
silent clients hold no thread that answers. Ends with its parent.
"""

import contextlib
import errno
import os
import re
import selectors
import socket
from functools import partial
from typing import Any, Final

from gunicorn.workers.gthread import ThreadWorker

from syncova_project import clock
from syncova_project.web.connection import Connection
from syncova_project.web.long_answers import STOPPING
from syncova_project.web.refusals import refusal

# Together for all requests that are arriving; more is refused, whoever sends it.
MEMORY_LIMIT: Final = 64 << 20
_LEAVE_SECONDS: Final = 2.0
# A stopping worker lets what is already on its way arrive.
_STOP_SECONDS: Final = 2.0
_FULL: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
_STATUS: Final = re.compile(rb"HTTP/1\.1 (\d{3}) ")


class WebWorker(ThreadWorker):  # type: ignore[misc]  # untyped
    """gunicorn's threaded worker with a front that receives; all methods but `handle…` run in its main thread."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        # In the order of their coming. `_leaving` maps to the moment of the close at the latest.
        self._arriving: dict[Connection, None] = {}
        self._leaving: dict[Connection, float] = {}
        self._stop_at: float | None = None

    def accept(self, listener: socket.socket) -> None:
        """Take a connection; when all places are taken, the one that has been sending for the longest goes."""
        if self.nr_conns >= self.worker_connections - 1:
            self._give_up_oldest()
        try:
            client, address = listener.accept()
        except OSError as error:
            if error.errno in _FULL:
                self._give_up_oldest()
            return
        try:
            made = Connection(self.cfg, client, address, listener.getsockname(), self._linger)
        except OSError:
            client.close()
            return
        self.nr_conns += 1
        self.enqueue_req(made)

    def enqueue_req(self, conn: Connection) -> None:
        """Await the connection's next request; every way to the threads leads through here."""
        conn.begin(clock.monotonic())
        self._arriving[conn] = None
        self.poller.register(conn.sock, selectors.EVENT_READ, partial(self._arrived, conn))
        self._arrived(conn, conn.sock)

    def murder_pending(self) -> None:
        """End what takes too long; called about once a second, also while the worker stops."""
        now = clock.monotonic()
        if not self.alive and self._stop_at is None:
            self._stop_at = now + _STOP_SECONDS
            STOPPING.set()
        for conn in [conn for conn in self._arriving if now >= self._deadline(conn)]:
            self._refuse(conn, 408 if conn.buffer else None)
        for conn in [conn for conn, end in self._leaving.items() if now >= end]:
            self._left(conn)

    def is_parent_alive(self) -> bool:
        """Tell whether the main process is there; without it the worker stops."""
        there = bool(super().is_parent_alive())
        if not there:
            self.alive = False
        return there

    def run(self) -> None:
        """Work until the end; an orphan, which nobody would kill, leaves even if a thread of it hangs."""
        super().run()
        if os.getppid() != self.ppid:
            os._exit(0)

    def handle_error(self, req: Any, client: Any, addr: Any, exc: BaseException) -> None:
        """Answer what the parser refused in the one error shape; the status is the server's own choice."""
        answer = _Answer()
        super().handle_error(req, answer, addr, exc)
        found = _STATUS.match(answer.content)
        with contextlib.suppress(OSError):
            client.sendall(refusal(int(found[1]) if found else 500))

    def _keepalive_after(self, conn: Connection, keepalive: bool) -> bool:  # noqa: FBT001  (the base's signature)
        return bool(super()._keepalive_after(conn, keepalive)) and not conn.unreader.starved

    def _deadline(self, conn: Connection) -> float:
        return conn.deadline() if self._stop_at is None else min(conn.deadline(), self._stop_at)

    def _arrived(self, conn: Connection, _sock: object) -> None:
        try:
            # A request that was read together with the one before is there, even if the client sends no more.
            open_still = conn.is_whole() or conn.receive()
        except OSError:
            self._drop(conn)
            return
        if conn.is_whole() and not conn.framing.has_long_head(conn.buffer):
            self._forget(conn)
            conn.hand_over()
            super().enqueue_req(conn)
        elif not open_still:
            self._drop(conn)
        elif conn.framing.is_too_long(conn.buffer):
            self._refuse(conn, _too_long(conn))
        elif sum(len(each.buffer) for each in self._arriving) > MEMORY_LIMIT:
            self._refuse(conn, 413)

    def _refuse(self, conn: Connection, status: int | None) -> None:
        if status is not None:
            with contextlib.suppress(OSError):
                conn.sock.send(refusal(status))
        self._drop(conn, graceful=status is not None)

    def _give_up_oldest(self) -> None:
        oldest = next(iter(self._arriving), None)
        if oldest is not None:
            self._drop(oldest)

    def _drop(self, conn: Connection, *, graceful: bool = False) -> None:
        self._forget(conn)
        self.nr_conns -= 1
        conn.close(graceful=graceful)

    def _forget(self, conn: Connection) -> None:
        self._arriving.pop(conn, None)
        with contextlib.suppress(OSError, KeyError, ValueError):
            self.poller.unregister(conn.sock)

    def _linger(self, conn: Connection) -> None:
        """Wait a little until the client closes: closing at once could take back what it has not read yet."""
        if len(self._leaving) >= self.worker_connections:
            self._left(next(iter(self._leaving)))
        self._leaving[conn] = clock.monotonic() + _LEAVE_SECONDS
        self.poller.register(conn.sock, selectors.EVENT_READ, partial(self._drained, conn))

    def _drained(self, conn: Connection, _sock: object) -> None:
        try:
            more = conn.sock.recv(64 * 1024)
        except BlockingIOError:
            return
        except OSError:
            more = b""
        if not more:
            self._left(conn)

    def _left(self, conn: Connection) -> None:
        self._leaving.pop(conn, None)
        with contextlib.suppress(OSError, KeyError, ValueError):
            self.poller.unregister(conn.sock)
        conn.close()


class _Answer:
    """Stands for a socket and keeps what is written: the server's own page, of which only the status is used."""

    def __init__(self) -> None:
        self.content = b""

    def sendall(self, data: bytes) -> None:
        self.content += data

    def send(self, data: bytes) -> int:
        self.content += data
        return len(data)

    def gettimeout(self) -> float | None:
        return None

    def setblocking(self, _flag: object) -> None:
        pass

    def settimeout(self, _seconds: object) -> None:
        pass


def _too_long(conn: Connection) -> int:
    if not conn.framing.has_long_head(conn.buffer):
        return 413
    return 414 if conn.buffer.find(b"\n") < 0 else 431

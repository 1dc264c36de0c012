"""One client's connection while its request arrives: received without waiting, handed to a thread when it is whole.

Owns the socket's modes and the buffer. A thread that answers never waits for the client to send: what did not arrive
in time is not there, and what cannot be sent in time ends the connection.
"""

import contextlib
import socket
import ssl
from collections.abc import Callable
from typing import Any, Final

from gunicorn.http import get_parser
from gunicorn.http.unreader import Unreader
from gunicorn.sock import ssl_wrap_socket
from gunicorn.workers.gthread import TConn

from syncova_project.web.framing import BODY_LIMIT, HEAD_LIMIT, Framing

# Seconds from the connection, or from the first byte of a further request.
HEAD_SECONDS: Final = 10.0
REQUEST_SECONDS: Final = 30.0
SEND_SECONDS: Final = 10.0
# So large that a usual answer leaves its thread at once, however slowly the client reads it.
_SEND_BUFFER: Final = 1 << 20
_PIECE: Final = 64 * 1024
_CONTINUE: Final = b"HTTP/1.1 100 Continue\r\n\r\n"
_WAITS = (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError)


class Received(Unreader):  # type: ignore[misc]  # untyped
    """What the parser reads: the bytes that arrived, and then the end."""

    def __init__(self) -> None:
        super().__init__()
        self.starved = False

    def chunk(self, _size_hint: int | None = None) -> bytes:
        """Return the end: nothing more is waited for, and where a next request would start is unknown."""
        self.starved = True
        return b""


class Connection(TConn):  # type: ignore[misc]  # untyped
    """A connection of the worker; everything but `init` runs in the worker's main thread."""

    def __init__(self, cfg: Any, sock: socket.socket, client: Any, server: Any, leave: "Callable[[Connection], None]"):
        super().__init__(cfg, sock, client, server)
        self.sock: socket.socket = sock
        with contextlib.suppress(OSError):
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BUFFER)
        if cfg.is_ssl:
            # The handshake is a part of receiving: here it would wait for the client.
            self.sock = ssl_wrap_socket(self.sock, cfg)
        self.initialized = self.data_ready = True
        self.parser = get_parser(cfg, self.sock, client)
        self.unreader = self.parser.unreader = Received()
        self.buffer = bytearray()
        self._leave = leave
        self.begin(0.0)

    def begin(self, now: float) -> None:
        """Await a request from now on (monotonic seconds); what was read beyond the last one is its beginning."""
        self.buffer = bytearray(self.unreader.take_buffered())
        self.framing = Framing()
        self._began, self._continued = now, False
        self.sock.settimeout(0)

    def is_whole(self) -> bool:
        """Tell whether the request can be handed on."""
        return self.framing.is_whole(self.buffer)

    def receive(self) -> bool:
        """Take what has arrived; False at the connection's end. Raises OSError."""
        while len(self.buffer) <= HEAD_LIMIT + BODY_LIMIT:
            try:
                piece = self.sock.recv(_PIECE)
            except _WAITS:
                self._say_continue()
                return True
            if not piece:
                return False
            self.buffer += piece
        return True

    def deadline(self) -> float:
        """Return when waiting for this request ends."""
        return self._began + (REQUEST_SECONDS if self.framing.head_end else HEAD_SECONDS)

    def hand_over(self) -> None:
        """Give the request to the parser."""
        self.unreader.unread(bytes(self.buffer))
        self.buffer = bytearray()

    def init(self) -> None:
        """Bound each sending of the thread that answers; called by it after it made the socket blocking."""
        self.sock.settimeout(SEND_SECONDS)

    def close(self, graceful: bool = False) -> None:  # noqa: FBT001, FBT002  (the base's signature)
        """Close; gracefully: once the client has read, watched by the main thread instead of waited for in it."""
        if not graceful:
            super().close()
            return
        try:
            self.sock.shutdown(socket.SHUT_WR)
            self.sock.settimeout(0)
        except OSError:
            super().close()
            return
        self._leave(self)

    def _say_continue(self) -> None:
        if self.framing.is_whole(self.buffer) or not self.framing.wants_continue or self._continued:
            return
        self._continued = True
        self.sock.send(_CONTINUE)

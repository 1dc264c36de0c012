"""A TCP proxy that is far away, narrow and unreliable: it delays, cuts, and swallows answers.

Owns what happens to bytes between a client and a server. What is cut is decided by the number of the request, counted
over all connections: for HTTP each head that a client sends.
"""

import collections
import contextlib
import select
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

_CHUNK = 65_536
_MOST_WAITING = 512
_METHODS = (b"GET ", b"PUT ", b"HEAD ", b"POST ", b"DELETE ", b"PROPFIND ", b"MKCOL ", b"MOVE ", b"OPTIONS ", b"COPY ")


@dataclass(slots=True)
class Faults:
    """What goes wrong: before a request is passed on (`cut`), or after, when its answer comes (`swallow`).

    Both are asked with the number of a request, from 1; `requests` counts them. `answers` gives what the client is told
    instead of the server's answer, which never sees the request; after it the connection ends.
    """

    cut: Callable[[int], bool] = lambda number: False
    swallow: Callable[[int], bool] = lambda number: False
    answers: Callable[[int, bytes], bytes | None] = lambda number, head: None
    requests: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def next_number(self) -> int:
        """Count a request."""
        with self.lock:
            self.requests += 1
            return self.requests


class Link:
    """The width of the way, `rate` bytes a second in each direction, shared by all connections; 0 is any width."""

    def __init__(self, rate: float = 0.0) -> None:
        self._rate = rate
        self._free_at = {True: 0.0, False: 0.0}
        self._lock = threading.Lock()

    def through(self, count: int, *, from_client: bool) -> float:
        """Return when bytes that come now are through."""
        now = time.monotonic()
        if not self._rate:
            return now
        with self._lock:
            self._free_at[from_client] = max(self._free_at[from_client], now) + count / self._rate
            return self._free_at[from_client]


@contextlib.contextmanager
def proxy(port: int, seconds: float = 0.0, faults: Faults | None = None, link: Link | None = None) -> Iterator[int]:
    """Forward a port of this machine to `port`, each way `seconds` later; give the new port."""
    with socket.create_server(("127.0.0.1", 0), backlog=64) as listener:
        ending = threading.Event()
        accepting = threading.Thread(
            target=_accept, args=(listener, (port, seconds, link or Link()), faults, ending), daemon=True
        )
        accepting.start()
        try:
            yield listener.getsockname()[1]
        finally:
            ending.set()
            with contextlib.suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            accepting.join(5)


def _accept(
    listener: socket.socket, way: tuple[int, float, Link], faults: Faults | None, ending: threading.Event
) -> None:
    port, seconds, link = way
    while not ending.is_set():
        try:
            client, _ = listener.accept()
        except OSError:
            return
        with contextlib.suppress(OSError):
            server = socket.create_connection(("127.0.0.1", port), 5)
            pair = _Pair(client, server, faults)
            threading.Thread(target=_carry, args=(pair, seconds, link), daemon=True).start()
            continue
        client.close()


class _Pair:
    """A client's connection and ours to the server; closing it closes both, at once and with what is on its way."""

    def __init__(self, client: socket.socket, server: socket.socket, faults: Faults | None) -> None:
        self.client = client
        self.server = server
        self.faults = faults
        self.number = 0
        for each in (client, server):
            each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def passes(self, data: bytes, *, from_client: bool) -> bool:
        """Tell whether bytes may go on; False ends the connection."""
        if self.faults is None:
            return True
        if from_client and data.startswith(_METHODS):
            self.number = self.faults.next_number()
            told = self.faults.answers(self.number, data)
            if told is not None:
                self._tell(told)
                return False
            return not self.faults.cut(self.number)
        return from_client or not self.number or not self.faults.swallow(self.number)

    def _tell(self, told: bytes) -> None:
        self.client.setblocking(True)
        self.client.sendall(told)
        # A reset for what was not read would overtake the answer.
        self.client.shutdown(socket.SHUT_WR)
        self.client.settimeout(2)
        with contextlib.suppress(OSError):
            while self.client.recv(_CHUNK):
                pass

    def close(self) -> None:
        for each in (self.client, self.server):
            with contextlib.suppress(OSError):
                each.close()


class _Way:
    """One direction: what was read from `source` and reaches `target` later."""

    def __init__(self, source: socket.socket, target: socket.socket, *, from_client: bool) -> None:
        self.source = source
        self.target = target
        self.from_client = from_client
        self.ended = False
        self._waiting: collections.deque[tuple[float, bytes]] = collections.deque()

    @property
    def done(self) -> bool:
        return self.ended and not self._waiting

    def reads(self) -> bool:
        return not self.ended and len(self._waiting) < _MOST_WAITING

    def due_in(self, now: float) -> float | None:
        return self._waiting[0][0] - now if self._waiting else None

    def receive(self, pair: _Pair, seconds: float, link: Link) -> bool:
        data = self.source.recv(_CHUNK)
        if data and not pair.passes(data, from_client=self.from_client):
            return False
        self.ended = not data
        if data:
            self._waiting.append((link.through(len(data), from_client=self.from_client) + seconds, data))
        return True

    def send(self) -> None:
        due, data = self._waiting.popleft()
        sent = self.target.send(data)
        if sent < len(data):
            self._waiting.appendleft((due, data[sent:]))


def _carry(pair: _Pair, seconds: float, link: Link) -> None:
    """Carry bytes both ways until one side ends; each byte arrives `seconds` after it was sent."""
    ways = [
        _Way(pair.client, pair.server, from_client=True),
        _Way(pair.server, pair.client, from_client=False),
    ]
    for way in ways:
        way.source.setblocking(False)
    with contextlib.suppress(OSError):
        while not any(way.done for way in ways) and _step(pair, ways, seconds, link):
            pass
    pair.close()


def _step(pair: _Pair, ways: list[_Way], seconds: float, link: Link) -> bool:
    now = time.monotonic()
    due = {way: left for way in ways if (left := way.due_in(now)) is not None}
    later = [left for left in due.values() if left > 0]
    readers = {way.source: way for way in ways if way.reads()}
    writers = {way.target: way for way, left in due.items() if left <= 0}
    readable, writable, _ = select.select(list(readers), list(writers), [], min(later, default=1.0))
    for target in writable:
        writers[target].send()
    return all(readers[source].receive(pair, seconds, link) for source in readable)


def main() -> int:
    """Run for a benchmark: PORT SECONDS MB/S; prints the new port and ends with its standard input."""
    port, seconds, width = int(sys.argv[1]), float(sys.argv[2]), float(sys.argv[3])
    with proxy(port, seconds, link=Link(width * 1e6)) as far:
        sys.stdout.write(f"{far}\n")
        sys.stdout.flush()
        sys.stdin.read()
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Why a medium far away does not answer, in words, and telling people that it is waited for.

Owns the words for what can break between this machine and a server. What a library says of a failure is searched for
what is known and never shown: it may quote addresses, headers and whatever the server sent.
"""

import errno
import os
import threading
from collections.abc import Callable
from typing import Final

from repositories.engine.display import show_count

TIMED_OUT: Final = "timed out"
HINT_OF_TIME: Final = (
    "the server is stopped, overloaded or behind something that lets nothing through: check it, the location and the "
    "network, then run again"
)
_HINT: Final = "check the location, the network and the server, then run again"
_CAUSES: Final = (
    ("connection refused", "connection refused"),
    # So asyncio says it, whose own text is of the call.
    (f"[errno {errno.ECONNREFUSED}]", "connection refused"),
    (f"[errno {errno.ENETUNREACH}]", "the network is unreachable"),
    (f"[errno {errno.EHOSTUNREACH}]", "no route to the host"),
    (f"[errno {errno.ETIMEDOUT}]", TIMED_OUT),
    ("name or service not known", "no such host"),
    ("nodename nor servname", "no such host"),
    ("no address associated with", "no such host"),
    ("temporary failure in name resolution", "the host's name cannot be looked up, the name server does not answer"),
    ("dns error", "the host's name cannot be looked up"),
    ("network is unreachable", "the network is unreachable"),
    ("no route to host", "no route to the host"),
    ("timeout", TIMED_OUT),
    ("timed out", TIMED_OUT),
    ("connection reset", "the server reset the connection"),
    ("connection closed before message", "the server closed the connection without an answer"),
    ("connection lost", "the connection broke off"),
    ("end of file before message", "the connection broke off within an answer"),
    ("error decoding response body", "the connection broke off within an answer"),
    ("invalid http version", "no HTTP is spoken there (does its address begin with https:// or webdavs://?)"),
)
_FOR_GOOD: Final = (
    ("invalidcontenttype", "no TLS is spoken there (does its address begin with http:// or webdav://?)"),
    ("invalid peer certificate", "this machine does not trust the server's certificate"),
)
QUIET_SECONDS: Final = 30.0
"""As often at most is told that a medium is waited for."""

Tell = Callable[[str], None]
"""Takes a line for people by the way."""


def cause_in(text: str) -> str:
    """Return why a request failed, as far as a text tells it; empty where it tells nothing that is known."""
    low = text.lower()
    return next((cause for sign, cause in (*_FOR_GOOD, *_CAUSES) if sign in low), "")


def hint_for(cause: str) -> str:
    """Return the next step after a failure that can pass."""
    return HINT_OF_TIME if cause == TIMED_OUT else _HINT


def is_for_good(text: str) -> bool:
    """Tell whether a connection failed for a reason that does not pass by itself."""
    low = text.lower()
    return any(sign in low for sign, _ in _FOR_GOOD)


class Notices:
    """Tells of failures after which is tried again: the first, then one in half a minute at most.

    `failed` may be called from any thread. A process that was forked tells nothing: nobody listens to it.
    """

    def __init__(self, tell: Tell, monotonic: Callable[[], float]) -> None:
        self._tell = tell
        self._monotonic = monotonic
        self._process = os.getpid()
        self._lock = threading.Lock()
        self._next = float("-inf")

    def failed(self, what: str, tries: int, seconds: float) -> None:
        """Take note of a failure that `what` names; `tries` are left, which take about `seconds` at most."""
        if os.getpid() != self._process or not self._is_due():
            return
        self._tell(f"{what}; trying again, up to {show_count(tries, 'time')} within about {max(1.0, seconds):.0f} s")

    def _is_due(self) -> bool:
        with self._lock:
            now = self._monotonic()
            if now < self._next:
                return False
            self._next = now + QUIET_SECONDS
        return True

"""Whether what answers speaks the protocol at all: a web page that is answered with 200 lists nothing, as an empty
place does.

Owns when that is asked, and the error. Asking costs a request that nobody waits for unless a listing is empty, since it
is under way beside the listing; a listing that shows something is proof enough, for a while.
"""

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Final

from repositories.engine.clock import SYSTEM_CLOCK
from repositories.engine.errors import RepositoryError, StoragePlaceMissingError, StorageUnreachableError

FRESH_SECONDS: Final = 30.0
"""For so long a server is believed to be what it has shown to be."""


class Spoken:
    """What is known of one server. Thread safe.

    `ask` makes a request and tells whether its answer is one of `protocol`; it may raise what storages raise.
    """

    def __init__(
        self,
        place: str,
        protocol: str,
        ask: Callable[[], bool],
        monotonic: Callable[[], float] = SYSTEM_CLOCK.monotonic,
    ) -> None:
        self._place = place
        self._protocol = protocol
        self._ask = ask
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._pool: ThreadPoolExecutor | None = None
        self._asked: Future[bool] | None = None
        self._heard: float | None = None

    def heard(self) -> None:
        """Take note of an answer that nothing else would have given."""
        self._heard = self._monotonic()

    def begin(self) -> "Future[bool] | None":
        """Begin to ask, beside what follows; None where the server was heard a moment ago."""
        with self._lock:
            if self._heard is not None and self._monotonic() < self._heard + FRESH_SECONDS:
                return None
            if self._asked is None or self._asked.done():
                self._pool = self._pool or ThreadPoolExecutor(1, "syncova-spoken")
                self._asked = self._pool.submit(self._look)
            return self._asked

    def require(self, asked: "Future[bool] | None") -> None:
        """Wait for what `begin` returned; raise `foreign` where another answered, and what asking raised."""
        if asked is not None and not asked.result():
            raise self.foreign()

    def foreign(self) -> RepositoryError:
        """Return the error for answers of something else; they may pass where the right server was heard before."""
        message = f"{self._place}: this address does not answer as {self._protocol}, but as a web page or the like does"
        if self._heard is not None:
            return StorageUnreachableError(message, hint="check the server and what lies before it, then run again")
        where = "endpoint=https://HOST:PORT" if self._protocol == "S3" else "host, port and path"
        return StoragePlaceMissingError(
            message, hint=f"check {where} in the location: is it the server's {self._protocol} address, or another one?"
        )

    def _look(self) -> bool:
        is_right = self._ask()
        if is_right:
            self.heard()
        return is_right

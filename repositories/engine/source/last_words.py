"""Reads all that a command says on stderr, so that it never blocks on a full pipe, and keeps the end of it.

Owns the reading thread. Memory is bounded, whatever the command says.
"""

import os
import select
import threading

from repositories.engine.display import show_path

KEPT_LINES = 20
_KEPT_BYTES = 8192
_LINE_LENGTH = 400
_LOOK_SECONDS = 0.2
_BLOCK = 65536
_BLOCKS_AFTER_THE_END = 32


class LastWords:
    """Takes over a descriptor until `finish`; the caller closes it after that."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._kept = b""
        self._left: int | None = None
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def finish(self) -> None:
        """Read what is there and stop: who still holds the other end open is not waited for."""
        if self._left is None:
            self._left = _BLOCKS_AFTER_THE_END
        self._thread.join()

    def lines(self) -> list[str]:
        """Return the last lines as shown text, empty ones left out."""
        found = [line.rstrip() for line in self._kept.split(b"\n")]
        return [show_path(line[:_LINE_LENGTH]) for line in found if line][-KEPT_LINES:]

    def _read(self) -> None:
        poll = select.poll()
        poll.register(self._descriptor, select.POLLIN)
        while self._left is None or self._left > 0:
            if not poll.poll(_LOOK_SECONDS * 1000):
                if self._left is not None:
                    return
                continue
            block = os.read(self._descriptor, _BLOCK)
            if not block:
                return
            self._kept = (self._kept + block)[-_KEPT_BYTES:]
            if self._left is not None:
                self._left -= 1

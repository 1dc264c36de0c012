"""Bandwidth: the token bucket with one second of credit, and how a rate is written (C7).

Owns the arithmetic alone. One bucket serves a whole run: all its sources and threads. A reader takes after it
has read, a writer before it writes. The clock and the sleep are passed in.
"""

import re
import threading
from collections.abc import Callable
from decimal import Decimal

from repositories.engine.errors import ConfigurationError, OperationCancelledError

MAX_RATE = 2**63 - 1
_SLICE_SECONDS = 0.25
_UNITS = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}
_RATE = re.compile(r"([0-9]{1,15}(?:[.,][0-9]{1,9})?) ?(?:([kKmMgGtT])i?)?(B|[bB]it)?(?:/s)?", re.ASCII)


class Throttle:
    """Lets `bytes_per_second` through, after a first burst of at most one second's worth.

    Threads: `take` may be called from any number; together they get the rate, each waits its own share.
    `stop` is asked several times a second while `take` waits, and ends it with OperationCancelledError.
    """

    def __init__(
        self,
        bytes_per_second: int,
        *,
        monotonic: Callable[[], float],
        sleep: Callable[[float], None],
        stop: Callable[[], bool] = lambda: False,
    ) -> None:
        if bytes_per_second <= 0:
            raise ConfigurationError("a bandwidth limit must be greater than 0", hint="leave it out for no limit")
        self._rate = bytes_per_second
        self._monotonic = monotonic
        self._sleep = sleep
        self._stop = stop
        self._lock = threading.Lock()
        self._credit = float(bytes_per_second)
        self._filled_at = monotonic()

    def take(self, count: int) -> None:
        """Account for `count` bytes, and wait until they fit the rate. Raises OperationCancelledError."""
        due = self._debit(count)
        while (left := due - self._monotonic()) > 0:
            if self._stop():
                raise OperationCancelledError("cancelled while waiting for the bandwidth limit")
            self._sleep(min(left, _SLICE_SECONDS))

    def _debit(self, count: int) -> float:
        # The credit may go below zero: one transfer larger than a second's worth is paid off by waiting.
        with self._lock:
            now = self._monotonic()
            self._credit = min(float(self._rate), self._credit + (now - self._filled_at) * self._rate)
            self._filled_at = now
            self._credit -= count
            return now + max(0.0, -self._credit / self._rate)


def parse_rate(text: str) -> int:
    """Return bytes per second of `50MB`, `50MB/s`, `400Mbit`, `1,5MB`, `1.5MB`; a bare number is bytes.

    MB and MiB are 2^20 bytes, Mbit is an eighth of that. Raises ConfigurationError on 0 and on anything else.
    """
    match = _RATE.fullmatch(text.strip())
    if match is None:
        raise ConfigurationError(
            f"{text!a} is not a bandwidth", hint="write it as 50MB, 1.5MB/s or 400Mbit (MB = 2^20 bytes)"
        )
    number, prefix, unit = match.groups()
    value = Decimal(number.replace(",", ".")) * _UNITS[(prefix or "").lower()] / (8 if unit in ("bit", "Bit") else 1)
    if not 1 <= value <= MAX_RATE:
        raise ConfigurationError(
            f"a bandwidth of {text!a} is not possible", hint="give at least one byte a second, or leave it out"
        )
    return int(value)

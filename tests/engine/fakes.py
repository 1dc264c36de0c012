"""A clock that stands, and randomness that repeats: what pins stored bytes."""

import blake3

from repositories.engine.keys.kdf import KdfParameters
from repositories.engine.repository import CreatedRepository, CreateOptions, create_repository
from repositories.engine.storage.base import Storage

PASSWORD = b"correct horse"
CHEAP = KdfParameters(memory_kib=64, iterations=1, lanes=1)
START_NS = 1_700_000_000_000_000_000


class StandingClock:
    """Stands at a time until it is moved."""

    def __init__(self, now_ns: int = START_NS) -> None:
        self.time_ns = now_ns

    def now_ns(self) -> int:
        return self.time_ns

    def monotonic(self) -> float:
        return self.time_ns / 1e9


class RepeatableRandomness:
    """Returns the same bytes for the same sequence of calls."""

    def __init__(self, seed: bytes = b"") -> None:
        self._seed = seed
        self._calls = 0

    def __call__(self, length: int) -> bytes:
        self._calls += 1
        return blake3.blake3(self._seed + self._calls.to_bytes(8, "big")).digest(length)


def pinned_repository(storage: Storage, *, padding: bool = False) -> CreatedRepository:
    """Return a new repository all of whose bytes are the same in each run."""
    options = CreateOptions(
        password=PASSWORD,
        label="first",
        kdf=CHEAP,
        reserve_bytes=64,
        padding=padding,
        randomness=RepeatableRandomness(),
        clock=StandingClock(),
    )
    return create_repository(storage, options)

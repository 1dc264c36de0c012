"""Chance that can be had again: what repositories made by tests draw from, the same in each run of the same test.

Keys decide where contents are cut and how blocks fill, so a test that fails under one key must fail again when it is
run again. `RANDOM_KEYS=1` in the environment draws from the system instead: it finds what holds under some keys only.
"""

import hashlib
import itertools
import os
from collections.abc import Iterator
from contextlib import contextmanager

from repositories.engine.ids import Randomness, system_randomness

_STREAMS: list[Randomness] = [system_randomness]


def drawn_by_tests(length: int) -> bytes:
    """Return `length` bytes of the running test's chance. Any thread; children forked from a test draw their own."""
    return _STREAMS[-1](length)


@contextmanager
def chance_of(test: str) -> Iterator[None]:
    """Let everything drawn inside follow from the test's name."""
    _STREAMS.append(system_randomness if os.environ.get("RANDOM_KEYS") else _stream(test.encode()))
    try:
        yield
    finally:
        _STREAMS.pop()


def _stream(seed: bytes) -> Randomness:
    origin, numbers = os.getpid(), itertools.count()

    def draw(length: int) -> bytes:
        process = 0 if os.getpid() == origin else os.getpid()
        return hashlib.shake_256(b"%s\0%d\0%d" % (seed, process, next(numbers))).digest(length)

    return draw

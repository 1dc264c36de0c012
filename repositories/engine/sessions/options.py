"""What a writer may choose for its session.

Owns the values only.
"""

import os

import msgspec

from repositories.engine.limits import MIB

_MOST_WORKERS = 8
_LEAST_IN_FLIGHT = 16 * MIB
_IN_FLIGHT_FOR_ONE = 4 * MIB
"""A block being made, and one that waits, for each thread: blocks are of 1 to 2 MiB."""


def _default_workers() -> int:
    """Return one sealing thread per processor this process may use, at least 2, so that one can wait for the medium."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(2, min(usable, _MOST_WORKERS))


def _default_in_flight() -> int:
    """Return as much as keeps all threads busy: what is read faster than it is compressed only fills memory."""
    return max(_LEAST_IN_FLIGHT, _IN_FLIGHT_FOR_ONE * _default_workers())


class WriteOptions(msgspec.Struct, frozen=True):
    """Compression (`off`, `fast`, `default`, `max`), threads that seal, sizes in bytes.

    `work` is what people are told to run again where a commit is refused.
    """

    compression: str = "default"
    workers: int = msgspec.field(default_factory=_default_workers)
    pack_target: int = 32 * MIB
    in_flight: int = msgspec.field(default_factory=_default_in_flight)
    work: str = "backup"

"""The engine's one clock: wall time and monotonic time behind one small interface.

Owns reading time inside the engine; every other module is passed a `Clock` or a number. Must not import
anything of the project: the engine is shipped without it.
"""

import time
from typing import Protocol


class Clock(Protocol):
    """Source of time. Wall time may jump, monotonic time never does; only differences of the latter mean anything."""

    def now_ns(self) -> int:
        """Return wall time, integer nanoseconds since 1970-01-01T00:00:00Z."""
        ...

    def monotonic(self) -> float:
        """Return seconds of this process's monotonic clock."""
        ...


class SystemClock:
    """The clock of this machine."""

    def now_ns(self) -> int:
        """Return wall time, integer nanoseconds since the epoch."""
        return time.time_ns()

    def monotonic(self) -> float:
        """Return seconds of a clock that never jumps."""
        return time.monotonic()


SYSTEM_CLOCK = SystemClock()

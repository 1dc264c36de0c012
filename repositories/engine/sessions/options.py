"""What a writer may choose for its session.

Owns the values only.
"""

from dataclasses import dataclass

from repositories.engine.limits import MIB


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """Compression (`off`, `fast`, `default`, `max`), threads that seal, sizes in bytes."""

    compression: str = "default"
    workers: int = 2
    pack_target: int = 32 * MIB
    in_flight: int = 32 * MIB

"""What a measurement was made on: processor, memory, file system, kernel. Owns the heading's facts and cold caches."""

import os
import platform
from dataclasses import dataclass
from pathlib import Path

_DROP = Path("/proc/sys/vm/drop_caches")


@dataclass(frozen=True, slots=True)
class Machine:
    """A machine, as far as figures depend on it. `load` is that of the last minute: others' work makes walls longer."""

    processor: str
    cores: int
    memory_bytes: int
    file_system: str
    kernel: str
    load: float


def this_machine(place: Path) -> Machine:
    """Return what this machine is; `place` lies on the file system that is measured."""
    return Machine(
        _processor(),
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
        os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        _file_system(place),
        f"{platform.system()} {platform.release()} {platform.machine()}",
        os.getloadavg()[0],
    )


def can_drop_caches() -> bool:
    """Return whether this process may empty the system's caches."""
    return os.access(_DROP, os.W_OK)


def drop_caches() -> None:
    """Empty the system's caches of files, names and attributes. Raises OSError where it may not."""
    os.sync()
    _DROP.write_text("3\n")


def _processor() -> str:
    for line in _lines(Path("/proc/cpuinfo")):
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _file_system(place: Path) -> str:
    """Return the type of the innermost mount that holds a path."""
    best, kind = "", "unknown"
    real = str(place.resolve())
    for line in _lines(Path("/proc/self/mounts")):
        point, found = line.split()[1:3]
        if len(point) >= len(best) and (real + "/").startswith(point.rstrip("/") + "/"):
            best, kind = point, found
    return kind


def _lines(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []

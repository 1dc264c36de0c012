"""Who holds a session: this process, told so that another process of the same machine can see whether it lives.

Owns reading boot id, pid namespace and start time. Containers of one host share the boot id, so the namespace is part
of it; where one of them cannot be read nothing is concluded from it.
"""

import os
import socket
from dataclasses import dataclass
from pathlib import Path

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_STAT_START_FIELD = 19  # counted after the closing parenthesis of the command name


@dataclass(frozen=True, slots=True)
class Holder:
    """A process as leases name it; zero and empty mean unknown."""

    boot_id: bytes
    pid_namespace: int
    pid: int
    process_start: int
    host: str


def this_process() -> Holder:
    """Return the holder that this process is."""
    pid = os.getpid()
    return Holder(_boot_id(), _pid_namespace(), pid, process_start(pid) or 0, socket.gethostname()[:64])


def process_start(pid: int) -> int | None:
    """Return a process's start in clock ticks since boot, or None if there is no such process or no /proc."""
    try:
        text = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return None
    fields = text.rpartition(b")")[2].split()
    return int(fields[_STAT_START_FIELD]) if len(fields) > _STAT_START_FIELD else None


def is_surely_dead(holder: Holder, observer: Holder) -> bool:
    """Tell whether `holder` is a process of the observer's own boot and pid namespace that is gone."""
    known = observer.boot_id and observer.pid_namespace and holder.process_start
    if not known or (holder.boot_id, holder.pid_namespace) != (observer.boot_id, observer.pid_namespace):
        return False
    return process_start(holder.pid) != holder.process_start


def _boot_id() -> bytes:
    try:
        return bytes.fromhex(_BOOT_ID.read_text().strip().replace("-", ""))
    except (OSError, ValueError):
        return b""


def _pid_namespace() -> int:
    try:
        return os.stat("/proc/self/ns/pid").st_ino
    except OSError:
        return 0

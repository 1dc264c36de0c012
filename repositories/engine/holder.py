"""Who holds a session: this process, told so that another process of the same machine can see whether it lives.

Owns reading boot id, pid namespace and start time. Containers of one host share the boot id, so the namespace is part
of it; where one of them cannot be read nothing is concluded from it.
"""

import os

import msgspec

_BOOT_ID = "/proc/sys/kernel/random/boot_id"
# Counted after the closing parenthesis of the command name.
_STAT_STATE_FIELD, _STAT_THREADS_FIELD, _STAT_START_FIELD = 0, 17, 19


class Holder(msgspec.Struct, frozen=True):
    """A process as leases name it; zero and empty mean unknown."""

    boot_id: bytes
    pid_namespace: int
    pid: int
    process_start: int
    host: str


def this_process() -> Holder:
    """Return the holder that this process is."""
    pid = os.getpid()
    return Holder(_boot_id(), _pid_namespace(), pid, process_start(pid) or 0, os.uname().nodename[:64])


def process_start(pid: int) -> int | None:
    """Return a process's start in clock ticks since boot, or None if there is no such process or no /proc.

    One that has ended and was not waited for is none: in many containers nobody ever does.
    """
    try:
        text = _content(f"/proc/{pid}/stat")
    except OSError:
        return None
    fields = text.rpartition(b")")[2].split()
    if len(fields) <= _STAT_START_FIELD or _has_ended(fields):
        return None
    return int(fields[_STAT_START_FIELD])


def is_suspended(pid: int) -> bool:
    """Tell whether a process is stopped (SIGSTOP, Ctrl-Z, a debugger): it is there, and does nothing until resumed."""
    try:
        text = _content(f"/proc/{pid}/stat")
    except OSError:
        return False
    return text.rpartition(b")")[2].split()[:1] in ([b"T"], [b"t"])


def _has_ended(fields: list[bytes]) -> bool:
    """Tell whether no thread is left; the first one may end before others that still write."""
    return fields[_STAT_STATE_FIELD] in (b"Z", b"X") and int(fields[_STAT_THREADS_FIELD]) <= 1


def is_surely_dead(holder: Holder, observer: Holder) -> bool:
    """Tell whether `holder` is a process of the observer's own boot and pid namespace that is gone."""
    known = observer.boot_id and observer.pid_namespace and holder.process_start
    if not known or (holder.boot_id, holder.pid_namespace) != (observer.boot_id, observer.pid_namespace):
        return False
    return process_start(holder.pid) != holder.process_start


def _boot_id() -> bytes:
    try:
        return bytes.fromhex(_content(_BOOT_ID).decode("ascii").strip().replace("-", ""))
    except (OSError, ValueError):
        return b""


def _pid_namespace() -> int:
    try:
        # Without a /proc of its own namespace a container would see other processes under its numbers.
        own = os.readlink("/proc/self") == str(os.getpid())
        return os.stat("/proc/self/ns/pid").st_ino if own else 0
    except OSError:
        return 0


def _content(path: str) -> bytes:
    with open(path, "rb", buffering=0) as file:
        return file.read()

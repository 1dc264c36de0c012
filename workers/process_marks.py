"""The mark of a process: what proves later, to another process of the same boot, that it is gone.

Owns writing and reading marks (Linux; elsewhere none is given, and nothing is proved). Host, boot and namespaces
stand in front, since a process id says nothing outside of them; the start time tells it from a later one's.
"""

import os
import socket
from pathlib import Path
from typing import Final

_BOOT: Final = Path("/proc/sys/kernel/random/boot_id")
_PROCESS: Final = Path("/proc/self")
# State, start time and number of threads, counted from the field after the name.
_STATE, _THREADS, _STARTED = 0, 17, 19


def own_place() -> str:
    """Return how the marks of all processes begin that this one can judge; "" where it can judge none."""
    try:
        if int(_PROCESS.readlink().name) != os.getpid():
            return ""  # another namespace's /proc: its process ids are not ours
        boot = _BOOT.read_text(encoding="ascii").strip()
        # Times of start are told in the reader's time namespace.
        spaces = ",".join(str((_PROCESS / "ns" / name).stat().st_ino) for name in ("pid", "time") if _has(name))
    except (OSError, ValueError):
        return ""
    host = "".join(socket.gethostname().split())
    return f"{host} {boot} {spaces} " if host and boot and spaces else ""


def own_mark() -> str:
    """Return this process's mark, "" where the system does not tell enough for one."""
    place, fields = own_place(), _fields(os.getpid())
    return f"{place}{os.getpid()} {fields[_STARTED]}" if place and fields else ""


def is_gone(mark: str) -> bool:
    """Tell whether the marked process has certainly ended; any doubt is False. The mark begins with own_place()."""
    words = mark.split(" ")[-2:]
    if len(words) < 2 or not all(word.isascii() and word.isdigit() for word in words):
        return False
    pid, started = int(words[0]), int(words[1])
    if not _exists(pid):
        return True
    fields = _fields(pid)
    if fields is None:
        return False
    is_ended = fields[_STATE] in {"Z", "X"} and int(fields[_THREADS]) <= 1
    return is_ended or int(fields[_STARTED]) != started


def _fields(pid: int) -> list[str] | None:
    """Return what /proc tells after the name, which stands in parentheses and may hold anything; None if nothing."""
    try:
        content = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return None
    fields = content[content.rindex(b")") + 2 :].decode("ascii", "replace").split()
    return fields if len(fields) > _STARTED else None


def _exists(pid: int) -> bool:
    """Ask the kernel, not /proc, which may hide the processes of other users."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True


def _has(namespace: str) -> bool:
    return (_PROCESS / "ns" / namespace).exists()

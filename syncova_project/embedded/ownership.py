"""Who owns a data directory: one starter at a time, by a lock that ends with its process.

Owns the lock and the record beside it (pid, address, processes), which `status`, `down` and the next `up` read.
"""

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from syncova_project.embedded import keepsakes
from syncova_project.embedded.layout import Layout
from syncova_project.embedded.problems import AlreadyRunningError, DataDirectoryError
from syncova_project.embedded.processes import Identity


@dataclass(frozen=True, slots=True)
class MemberRecord:
    """One process of the stack as its starter last saw it; `state` is running, waiting or stopped."""

    name: str
    pid: int
    started: str
    state: str
    user: str
    since: str
    restarts: int = 0
    last_exit: str = ""

    @property
    def identity(self) -> Identity:
        """Return what tells this process from a later one with its pid."""
        return Identity(self.pid, self.started)


@dataclass(frozen=True, slots=True)
class OwnerRecord:
    """The starter of the stack; `phase` is starting, ready or stopping."""

    pid: int
    started: str
    url: str
    since: str
    phase: str
    members: tuple[MemberRecord, ...] = field(default=())


@contextmanager
def owning(layout: Layout) -> Iterator[None]:
    """Hold the data directory; raises AlreadyRunningError naming the live owner's pid and address."""
    descriptor = os.open(_lock_path(layout), os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise _already_running(layout) from None
        yield
    finally:
        os.close(descriptor)


def has_live_owner(layout: Layout) -> bool:
    """Tell whether a starter holds the data directory right now; raises DataDirectoryError when it is not ours."""
    try:
        descriptor = os.open(_lock_path(layout), os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    except PermissionError:
        raise DataDirectoryError(
            f"{layout.root} belongs to another user.", hint="Run as its owner, or name yours with --data."
        ) from None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def refuse_live_owner(layout: Layout) -> None:
    """Raise AlreadyRunningError when a live process owns the directory; changes nothing."""
    if has_live_owner(layout):
        raise _already_running(layout)


def write_record(layout: Layout, record: OwnerRecord) -> None:
    """Put the record in place atomically."""
    keepsakes.write(_record_path(layout), json.dumps(asdict(record), indent=1))


def read_record(layout: Layout) -> OwnerRecord | None:
    """Return the last record, of a live owner or a dead one; None when there is none that can be read."""
    try:
        content: dict[str, Any] = json.loads(_record_path(layout).read_text(encoding="utf-8"))
        members = tuple(MemberRecord(**member) for member in content.pop("members"))
        return OwnerRecord(**content, members=members)
    except (OSError, ValueError, TypeError, KeyError):
        # A disk that was full left half of it, or an older release wrote it: the processes are found without it.
        return None


def forget_record(layout: Layout) -> None:
    """Remove the record after an orderly stop."""
    _record_path(layout).unlink(missing_ok=True)


def _already_running(layout: Layout) -> AlreadyRunningError:
    record = read_record(layout)
    who = f"process {record.pid}, {record.url or 'still starting'}" if record else "a process that is just starting"
    return AlreadyRunningError(
        f"Syncova already runs from {layout.root}: {who}.",
        hint=f"Stop it with: ./syncova down --data {layout.root}",
    )


def _lock_path(layout: Layout) -> Path:
    return layout.state / "owner.lock"


def _record_path(layout: Layout) -> Path:
    return layout.state / "owner.json"

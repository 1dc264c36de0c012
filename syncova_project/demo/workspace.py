"""The demo's private directory: made, locked, and removed whatever happens.

Owns `syncova-demo-<uid>-*` directories. One whose lock can be had belonged to a demo that was killed: its processes are
stopped and it is removed by the next demo.
"""

import fcntl
import os
import shutil
import signal
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from syncova_project import clock
from syncova_project.errors import ConfigurationError

_PREFIX = "syncova-demo-"


def base_directory() -> Path:
    """Return where demos live: not the clone, since servers may run as a user that cannot enter it."""
    return Path("/var/tmp") if Path("/var/tmp").is_dir() else Path(tempfile.gettempdir())  # noqa: S108 - mkdtemp below it


@contextmanager
def workspace(*, keep: bool, needed_bytes: int, stop_leftovers: Callable[[Path], None]) -> Iterator[Path]:
    """Yield a fresh 0700 directory; remove it at the end unless `keep`.

    Raises ConfigurationError when fewer than `needed_bytes` are free. `stop_leftovers(directory)` must end the
    processes that a killed demo left in its directory.
    """
    remove_dead(stop_leftovers)
    base = base_directory()
    free = shutil.disk_usage(base).free
    if free < needed_bytes:
        raise ConfigurationError(
            f"{base} has {free >> 20} MiB free; the demo needs {needed_bytes >> 20} MiB",
            hint="make room, or name a smaller tree: ./syncova demo PATH",
        )
    directory = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getuid()}-", dir=base))
    with _locked(directory):
        try:
            yield directory
        finally:
            if not keep:
                remove_tree(directory)


def remove_dead(stop_leftovers: Callable[[Path], None]) -> None:
    """Remove our own directories whose demo is gone (its lock is free)."""
    for directory in base_directory().glob(f"{_PREFIX}{os.getuid()}-*"):
        status = directory.lstat()
        if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid() or (directory / "keep").exists():
            continue
        descriptor = _try_lock(directory)
        if descriptor is None:
            continue
        stop_leftovers(directory)
        remove_tree(directory)
        os.close(descriptor)


def remove_tree(directory: Path) -> None:
    """Remove a tree that may hold directories without write permission, and files that a server is still ending on."""
    for attempt in range(5):
        for parent, names, _files in os.walk(directory):
            for name in names:
                if not Path(parent, name).is_symlink():
                    Path(parent, name).chmod(stat.S_IRWXU)
        shutil.rmtree(directory, ignore_errors=True)
        if not directory.exists():
            return
        clock.sleep(0.2 * (attempt + 1))


@contextmanager
def _locked(directory: Path) -> Iterator[None]:
    descriptor = os.open(directory, os.O_RDONLY | os.O_CLOEXEC)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    try:
        yield
    finally:
        os.close(descriptor)


def _try_lock(directory: Path) -> int | None:
    descriptor = os.open(directory, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor


def raise_on_termination() -> None:
    """Turn SIGTERM and SIGHUP into KeyboardInterrupt, so that the directory is removed then too."""

    def interrupt(_number: int, _frame: object) -> None:
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, interrupt)
    signal.signal(signal.SIGHUP, interrupt)

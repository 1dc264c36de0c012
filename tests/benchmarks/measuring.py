"""Runs a command and tells what it took: wall time, processor time of it and its children, and memory at its peak."""

import os
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Taken:
    """What one command took."""

    seconds: float
    processor_seconds: float
    peak_mib: float


def measure(command: Sequence[str], variables: Mapping[str, str]) -> Taken:
    """Run a command that must succeed; subprocess.CalledProcessError holds what it said otherwise."""
    begun = time.monotonic()
    process = subprocess.Popen(
        command,
        env={**os.environ, **variables},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    assert process.stdout is not None
    said = process.stdout.read()
    # wait4 tells this child's usage alone, with what its own children used.
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    process.stdout.close()
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, list(command), said)
    return Taken(time.monotonic() - begun, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def bytes_below(directory: Path) -> int:
    """Return the bytes of all files below a directory."""
    return sum(path.lstat().st_size for path in directory.rglob("*") if path.is_file() and not path.is_symlink())


def read_once(tree: Path) -> tuple[int, int]:
    """Read a tree, so that every tool finds it in memory alike; return its number of files and bytes."""
    files = size = 0
    for path in tree.rglob("*"):
        if path.is_file() and not path.is_symlink():
            files += 1
            size += len(path.read_bytes())
    return files, size

"""Backs up one directory of very many entries, twice, and restores it; tells memory at its peak for each step.

`python -m tests.long.wide_directory --entries 1000000` by hand; ends with 1 where a step grew by more bytes a name than
engine.md, section 8, allows, or where what was restored differs. Every step is a process of its own.
"""

import argparse
import os
import stat
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.benchmarks.measuring import Taken, measure

BYTES_A_NAME = 150
_PASSWORD = {"SYNCOVA_REPOSITORY_PASSWORD": "wide", "PYTHONWARNINGS": "ignore"}
_FULL_EVERY = 50


def main() -> int:
    """Run the program; return its exit code."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("--entries", type=int, default=1_000_000)
    parser.add_argument("--place", type=Path, help="a directory with room for all of it, three times")
    arguments = parser.parse_args()
    # Unlocking a repository takes 64 MiB for a moment; half as many names as wanted need more than that already.
    half = arguments.entries // 2
    with tempfile.TemporaryDirectory(prefix="syncova-wide-", dir=arguments.place) as name:
        small = _run(Path(name) / "half", half)
        large = _run(Path(name) / "whole", arguments.entries)
    failed = False
    for step, taken in large.items():
        grown = (taken.peak_bytes - small[step].peak_bytes) / (arguments.entries - half)
        failed |= grown > BYTES_A_NAME
        _say(f"{step:14} {taken.wall_seconds:8.1f} s {taken.peak_bytes / 2**20:7.0f} MiB  {grown:6.1f} bytes a name")
    return 1 if failed else 0


def _run(place: Path, entries: int) -> dict[str, Taken]:
    tree, target = place / "tree", place / "target"
    build(tree, entries)
    python = [sys.executable, "-P", "-m"]
    where = ["-r", str(place / "repository"), "-q"]
    backup = [*python, "agents.runtime", "backup", *where, "--source", "tree", "--path", str(tree)]
    restore = [*python, "agents.runtime", "restore", *where, "--backup", "latest", "--target", str(target)]
    steps = {
        "create": [*python, "repositories.cli", "create", *where],
        "first backup": backup,
        "second backup": backup,
        "restore": restore,
        "restore again": restore,
        "list": [*python, "repositories.cli", "ls", "-r", str(place / "repository"), "-R", "latest"],
    }
    taken = {}
    for step, command in steps.items():
        taken[step] = measure(command, _PASSWORD, place)
        peak = taken[step].peak_bytes / 2**20
        _say(f"{entries:>9,} entries: {step:14} {taken[step].wall_seconds:8.1f} s {peak:7.0f} MiB")
    require_same(tree, target)
    return taken


def build(tree: Path, entries: int) -> None:
    """Make a directory of empty files, and in every fiftieth place one with content, a link or a directory."""
    tree.mkdir(parents=True)
    directory = os.open(tree, os.O_RDONLY)
    for number in range(entries):
        name = b"entry %08d of many" % number
        kind = number % (3 * _FULL_EVERY)
        if kind == _FULL_EVERY:
            os.symlink(b"nowhere", name, dir_fd=directory)
        elif kind == 2 * _FULL_EVERY:
            os.mkdir(name, dir_fd=directory)
        else:
            descriptor = os.open(name, os.O_CREAT | os.O_WRONLY, dir_fd=directory)
            if kind == 0:
                os.write(descriptor, name)
            os.close(descriptor)
    os.close(directory)


def require_same(tree: Path, target: Path) -> None:
    """Raise AssertionError unless both directories hold the same."""
    for before, after in zip(_facts(tree), _facts(target), strict=True):
        assert before == after, (before, after)


def _facts(root: Path) -> Iterator[tuple[object, ...]]:
    directory = os.open(root, os.O_RDONLY)
    try:
        for name in sorted(os.listdir(directory)):
            status = os.stat(name, dir_fd=directory, follow_symlinks=False)
            size = 0 if stat.S_ISDIR(status.st_mode) else status.st_size
            content = b""
            if size and stat.S_ISREG(status.st_mode):
                content = Path(root, name).read_bytes()
            yield name, status.st_mode, status.st_uid, status.st_mtime_ns, size, content
    finally:
        os.close(directory)


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())

"""Backs up, again, and restores what is large: very many files beside a tenth of them, and one sparse file (4.3).

`python -m tests.long.large_trees --files 1000000 --gigabytes 200` by hand; ends with 1 where so many files take more
than 1.2 times the memory of a tenth of them, or where holes or data of the sparse file are not what they were.
"""

import argparse
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.benchmarks.measuring import measure
from tests.benchmarks.tools import CREATE, FIRST, RESTORE, UNCHANGED, Place, find_tools

MOST_MEMORY = 1.2
_STEPS = (FIRST, UNCHANGED, RESTORE)
_IN_ONE_DIRECTORY = 1000
_PIECES = 64
_PIECE = 4 << 20


def main() -> int:
    """Run the program; return its exit code."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("--files", type=int, default=1_000_000)
    parser.add_argument("--gigabytes", type=int, default=200)
    parser.add_argument("--place", type=Path, help="a directory with room for the files, twice")
    arguments = parser.parse_args()
    failed = False
    if arguments.files:
        few = _in_place(arguments.place, lambda tree: make_files(tree, arguments.files // 10))
        many = _in_place(arguments.place, lambda tree: make_files(tree, arguments.files))
        grown = {step: many[step] / few[step] for step in _STEPS}
        _say(", ".join(f"{step} {ratio:.2f} times the memory" for step, ratio in grown.items()))
        failed = max(grown.values()) > MOST_MEMORY
    if arguments.gigabytes:
        _in_place(arguments.place, lambda tree: make_sparse(tree, arguments.gigabytes << 30), compare=True)
    return 1 if failed else 0


def _in_place(place: Path | None, make: Callable[[Path], None], *, compare: bool = False) -> dict[str, int]:
    with tempfile.TemporaryDirectory(prefix="syncova-large-", dir=place) as name:
        work = Path(name)
        tree, target = work / "tree", work / "target"
        target.mkdir()
        make(tree)
        peaks = _run(Place(work, tree, target))
        if compare:
            require_same(tree / "sparse", next(target.rglob("sparse")))
        return peaks


def _run(place: Place) -> dict[str, int]:
    ours = find_tools()[0]
    peaks = {}
    for step in (CREATE, *_STEPS):
        taken = measure(ours.commands(place)[step], ours.variables(place), place.target)
        peaks[step] = taken.peak_bytes
        peak = taken.peak_bytes / 2**20
        _say(f"{step:14} {taken.wall_seconds:8.1f} s {taken.cpu_seconds:8.1f} s processor {peak:7.0f} MiB")
    return peaks


def make_files(tree: Path, count: int) -> None:
    """Make files in directories of a thousand, every tenth with content."""
    for first in range(0, count, _IN_ONE_DIRECTORY):
        directory = tree / f"directory {first // _IN_ONE_DIRECTORY:05d}"
        directory.mkdir(parents=True)
        for number in range(first, min(first + _IN_ONE_DIRECTORY, count)):
            (directory / f"file {number:08d}").write_bytes(b"%d" % number if number % 10 == 0 else b"")


def make_sparse(tree: Path, size: int) -> None:
    """Make one file with some pieces of data far from each other, and a last one at its end."""
    tree.mkdir()
    with open(tree / "sparse", "wb") as file:
        file.truncate(size)
        for number in range(_PIECES):
            file.seek(size // _PIECES * number // 4096 * 4096)
            file.write(os.urandom(min(_PIECE, size // _PIECES // 2)))
        file.seek(size - 4096)
        file.write(os.urandom(4096))


def require_same(first: Path, second: Path) -> None:
    """Raise AssertionError unless two files have the same data between the same holes."""
    with open(first, "rb") as one, open(second, "rb") as other:
        assert os.fstat(one.fileno()).st_size == os.fstat(other.fileno()).st_size
        pieces = list(_pieces(one.fileno()))
        assert pieces == list(_pieces(other.fileno()))
        for begin, end in pieces:
            for offset in range(begin, end, _PIECE):
                length = min(_PIECE, end - offset)
                assert os.pread(one.fileno(), length, offset) == os.pread(other.fileno(), length, offset)


def _pieces(descriptor: int) -> Iterator[tuple[int, int]]:
    end, size = 0, os.fstat(descriptor).st_size
    while end < size:
        begin = os.lseek(descriptor, end, os.SEEK_DATA)
        end = os.lseek(descriptor, begin, os.SEEK_HOLE)
        yield begin, end


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())

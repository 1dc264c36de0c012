"""Fuzzes the decoders of every kind of object, and whole repositories, until its time is over or it finds something.

`python -m tests.long.fuzz --minutes 30 --seed N` by hand; ends with 1 and the command that repeats what it found.
"""

import argparse
import itertools
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path

from tests.engine.hostile.fuzzing import Kind, limit_memory, run_case

_DECODERS_AT_A_TIME = 400


def main() -> int:
    """Run the program; return its exit code."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--kind", type=Kind, choices=tuple(Kind), default=Kind.DECODER, help="with --case")
    parser.add_argument("--case", type=int, help="run this case alone, and show what it raises")
    arguments = parser.parse_args()
    limit_memory()
    with tempfile.TemporaryDirectory(prefix="syncova-fuzz-") as name:
        if arguments.case is not None:
            run_case(arguments.kind, arguments.seed, arguments.case, Path(name))
            return 0
        return _run(arguments.seed, time.monotonic() + 60 * arguments.minutes, Path(name))


def _run(seed: str, end: float, place: Path) -> int:
    done: Counter[Kind] = Counter()
    found: set[str] = set()
    for _ in itertools.takewhile(lambda _: time.monotonic() < end, itertools.count()):
        for kind, count in ((Kind.DECODER, _DECODERS_AT_A_TIME), (Kind.REPOSITORY, 1)):
            for number in range(done[kind], done[kind] + count):
                _try(kind, seed, number, place, found)
            done[kind] += count
    sys.stdout.write(
        f"{done[Kind.DECODER]:,} decodings, {done[Kind.REPOSITORY]:,} repositories, {len(found)} defects\n"
    )
    return 1 if found else 0


def _try(kind: Kind, seed: str, number: int, place: Path, found: set[str]) -> None:
    try:
        run_case(kind, seed, number, place)
    except Exception as error:  # noqa: BLE001 — whatever comes out is a finding
        last = traceback.extract_tb(error.__traceback__)[-1]
        what = f"{type(error).__name__} in {last.name}, {Path(last.filename).name}:{last.lineno}"
        if what not in found:
            found.add(what)
            sys.stdout.write(
                f"{what}: {error}\n  python -m tests.long.fuzz --seed {seed} --kind {kind} --case {number}\n"
            )
            sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())

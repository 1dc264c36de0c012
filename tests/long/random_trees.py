"""Backs up and restores random trees until its time is over or a backup does not restore identical.

`python -m tests.long.random_trees --minutes 60` by hand, as root or as an ordinary user; what it finds is made small,
printed, and kept below `--examples`, from where the next start tries it first.
"""

import argparse
import itertools
import sys
import tempfile
import time
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.database import DirectoryBasedExampleDatabase

from tests.engine.backup.random_sequences import Round, require_identical, sequences

_AT_A_TIME = 100


def main() -> int:
    """Run the program; return its exit code. What fails comes out as the exception that it is."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--examples", type=Path, help="where failures are kept [nowhere]")
    parser.add_argument("--place", type=Path, help="where the trees lie [the temporary directory]")
    arguments = parser.parse_args()
    end = time.monotonic() + 60 * arguments.minutes
    done = 0
    number = itertools.count()
    with tempfile.TemporaryDirectory(prefix="syncova-random-", dir=arguments.place) as name:

        @given(sequences)
        @settings(
            max_examples=_AT_A_TIME,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            database=DirectoryBasedExampleDatabase(arguments.examples) if arguments.examples else None,
            phases=(Phase.reuse, Phase.generate, Phase.shrink),
        )
        def run(sequence: tuple[bool, list[Round]]) -> None:
            base = Path(name) / str(next(number))
            base.mkdir()
            require_identical(base, *sequence)

        while time.monotonic() < end:
            run()
            done += _AT_A_TIME
            sys.stdout.write(f"{done:,} sequences\n")
            sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Kills real copies at random instants, many times: `python -m tests.long.copy_kills --rounds 60 --seed N` (3.6, 3.10).

Owns the command line and what is told; the rounds are those of the suite's own test.
"""

import argparse
import random
import sys
import tempfile
import time
from pathlib import Path

from tests.engine.copying.kills import CopyRounds


def tell(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main() -> None:
    """Play the rounds; the first that loses something ends the program, and leaves the repositories where they are."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    parser.add_argument("--place", help="directory to work in (default: a new temporary one)")
    given = parser.parse_args()
    place = Path(tempfile.mkdtemp(prefix="syncova-copies-", dir=given.place))
    tell(f"seed {given.seed}")
    rounds = CopyRounds(place, given.seed)
    began = time.monotonic()
    for number in range(1, given.rounds + 1):
        try:
            killed = rounds.play()
        except BaseException:
            tell(f"round {number}: python -m tests.long.copy_kills --rounds {number} --seed {given.seed}")
            tell(f"what was left: {place}")
            raise
        tell(f"round {number}: {killed} killed before the copy was complete, {time.monotonic() - began:.0f} s")
    tell(f"{given.rounds} copies completed, {rounds.killed} killed on the way")


if __name__ == "__main__":
    main()

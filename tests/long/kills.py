"""Kills real programs at random instants, many times: `python -m tests.long.kills --rounds 300 --seed N` (3.10).

Owns the command line and what is told; the rounds are those of the suite's own test.
"""

import argparse
import random
import sys
import tempfile
import time
from pathlib import Path

from tests.engine.faults.kills import Rounds


def tell(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main() -> None:
    """Play the rounds; the first that loses something ends the program, and leaves the repository where it is."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=300)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    parser.add_argument("--place", help="directory to work in (default: a new temporary one)")
    given = parser.parse_args()
    place = Path(tempfile.mkdtemp(prefix="syncova-kills-", dir=given.place))
    rounds = Rounds(place, given.seed)
    began = time.monotonic()
    for number, operation in enumerate(rounds.order(given.rounds), start=1):
        try:
            rounds.play(operation)
        except BaseException:
            tell(f"round {number}, {operation}: python -m tests.long.kills --rounds {number} --seed {given.seed}")
            tell(f"what was left: {place}")
            raise
        if number % 20 == 0:
            tell(f"{number} rounds, {sum(rounds.killed.values())} killed, {time.monotonic() - began:.0f} s")
    for name in sorted(rounds.killed | rounds.ended):
        tell(f"{name}: {rounds.killed[name]} killed, {rounds.ended[name]} came to their end first")


if __name__ == "__main__":
    main()

"""Backups, a forget, a prune, a check and a restore at once: `python -m tests.long.crowd [--seconds 120]` (3.13).

Owns the command line and what is told; run as root it runs a second time with half of them in another pid namespace.
"""

import argparse
import sys
import tempfile
from pathlib import Path

from tests.engine.faults.crowd import can_contain, require_newest, run_crowd


def main() -> None:
    """Let the crowd work, and tell how often each had its turn."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=120.0)
    given = parser.parse_args()
    for contained in (False, True) if can_contain() else (False,):
        with tempfile.TemporaryDirectory() as place:
            turns = run_crowd(Path(place), given.seconds, contained=contained)
            require_newest(Path(place))
            told = ", ".join(f"{role} {count} times" for role, count in sorted(turns.items()))
            sys.stdout.write(f"{'two namespaces' if contained else 'one namespace'}: {told}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()

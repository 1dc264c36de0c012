"""Goes through every interleaving of two writers, a prune and a rotation, each of which may stop at any step.

`python -m tests.long.rotation_model` by hand, for minutes. The suite interrupts its two writers at fewer steps.
"""

import sys

from tests.engine.keychain.test_rotation_and_prune_model import Prune, Rotation, Writer, explore


def main() -> int:
    """Run the program; return its exit code. What the model finds comes out as an AssertionError."""
    states, outcomes = explore(Writer("v"), Writer("w"), Prune(), Rotation())
    sys.stdout.write(f"{states:,} states, {len(outcomes)} combinations of outcomes: all sound\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Goes through every interleaving of the larger configurations of the state model (3.8).

`python -m tests.long.rotation_model` by hand: a line for each, with its states and seconds. With words it takes only
the configurations whose names begin with one of them. The suite goes through smaller ones, with the same steps.
"""

import sys
import time
from typing import Any

from tests.engine.model.exploring import explore
from tests.engine.model.medium import Objects
from tests.engine.model.noting import Noter
from tests.engine.model.pruning import Prune
from tests.engine.model.rotating import Finisher, Remover, Rotation
from tests.engine.model.start import FIRST, SPARED
from tests.engine.model.writer import Writer

QUICK = ("quick",)
LARGE: dict[str, tuple[Objects, tuple[Any, ...]]] = {
    "two writers, a prune": (FIRST, (Writer("v", ("split",)), Writer("w", ("split",)), Prune("p"))),
    "two writers, one merging, a prune": (FIRST, (Writer("v", ("merges",)), Writer("w"), Prune("p"))),
    "two writers, a prune that lists in halves": (FIRST, (Writer("v"), Writer("w"), Prune("p", ("half", "old")))),
    "two writers, a prune that repacks": (FIRST, (Writer("v"), Writer("w"), Prune("p", ("repacks",)))),
    "a writer, two prunes": (FIRST, (Writer("w", ("split",)), Prune("p"), Prune("q"))),
    "a writer, two prunes, one repacking": (FIRST, (Writer("w", ("split",)), Prune("p", ("repacks",)), Prune("q"))),
    "a writer, two prunes on a full medium": (
        FIRST,
        (Writer("w"), Prune("p", ("repacks", "full")), Prune("q", ("full", "old"))),
    ),
    "an adopting writer, two prunes": (
        SPARED,
        (Writer("w", ("adopts", "split")), Prune("p", ("full",)), Prune("q", ("spares",))),
    ),
    "a late deletion": (
        FIRST,
        (Writer("w"), Prune("p"), Noter("f", "forget", ("w",)), Noter("u", "undelete", ("w",))),
    ),
    "a deletion, a hold, an undelete, two prunes": (
        FIRST,
        (Prune("p"), Prune("q"), Noter("f", "forget"), Noter("h", "hold"), Noter("u", "undelete")),
    ),
    "two prunes, a rotation": (FIRST, (Prune("p", ("repacks",)), Prune("q"), Rotation())),
    "a writer, a prune, a rotation with everybody around": (
        FIRST,
        (Writer("w"), Prune("p"), Rotation(), Remover(), Finisher()),
    ),
    "two writers, two prunes": (FIRST, (Writer("v"), Writer("w"), Prune("p"), Prune("q"))),
    "two quick writers, a prune, a rotation": (FIRST, (Writer("v", QUICK), Writer("w", QUICK), Prune("p"), Rotation())),
    "a quick writer and a slow one, a prune, a rotation": (
        FIRST,
        (Writer("v", QUICK), Writer("w"), Prune("p"), Rotation()),
    ),
    "two writers, a prune, a rotation": (FIRST, (Writer("v"), Writer("w"), Prune("p"), Rotation())),
}


def main(words: list[str]) -> int:
    """Run the program; return its exit code. What the model finds comes out as an AssertionError."""
    for name, (medium, processes) in LARGE.items():
        if words and not any(name.startswith(word) for word in words):
            continue
        begun = time.monotonic()
        twins = isinstance(processes[1], Writer) and processes[0].options == processes[1].options
        states, outcomes = explore(medium, *processes, twins=twins)
        seconds = time.monotonic() - begun
        sys.stdout.write(f"{name}: {states:,} states, {len(outcomes)} outcomes, {seconds:.0f} s: all sound\n")
        sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

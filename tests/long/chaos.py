"""Chaos, ten minutes or two: `python -m tests.long.chaos --minutes 10 --seed N` (6.11).

Kills and holds processes, empties and stops the servers and sets the database's clock wrong, while jobs of all kinds
run; then asks the rows and the repositories what became of it. Owns the order and what is told.
"""

import argparse
import os
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "syncova_project.settings")
for _name in [name for name in os.environ if name.startswith("SYNCOVA_")]:
    del os.environ[_name]
os.environ["SYNCOVA_SETTINGS_FILE"] = os.devnull
os.environ["SYNCOVA_DATA_DIR"] = tempfile.mkdtemp(prefix="syncova-chaos-data-")
django.setup()

from django.db import Error, connection  # noqa: E402 - settings come first

from tests.long import chaos_proof  # noqa: E402
from tests.long.chaos_faults import Fault, plan, play  # noqa: E402
from tests.long.chaos_scene import GROUPS, Scene, asked  # noqa: E402
from tests.workers import scenario  # noqa: E402
from tests.workers.harness import running_stack  # noqa: E402


def tell(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main() -> None:
    """Play the faults that the seed makes; end with 1 and the command that repeats them if anything is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    parser.add_argument("--place", help="directory to work in (default: a new temporary one)")
    given = parser.parse_args()
    tell(f"python -m tests.long.chaos --minutes {given.minutes:g} --seed {given.seed}")
    place = Path(tempfile.mkdtemp(prefix="syncova-chaos-", dir=given.place))
    with running_stack() as stack, stack.used_by_django():
        scene = Scene(stack, place)
        try:
            scene.make()
            for group in GROUPS:
                scenario.serving(group)
            wrong = _played(scene, plan(given.seed, given.minutes * 60))
        finally:
            for log in stack.place.logs.iterdir():
                shutil.copy(log, place / f"{log.name}")
        if wrong:
            tell("\n".join(["WRONG:", *wrong[:50], f"{len(wrong)} in all; logs and repositories are left in {place}"]))
            raise SystemExit(1)
    shutil.rmtree(place)
    tell("nothing is wrong")


def _played(scene: Scene, faults: list[Fault]) -> list[str]:
    witness, began = chaos_proof.Witness(), time.monotonic()
    for number, fault in enumerate(faults, start=1):
        play(fault, scene)
        try:
            witness.look()
        except Error:
            connection.close()
        if number % 20 == 0:
            tell(f"{number} of {len(faults)} faults, {time.monotonic() - began:.0f} s")
    counts = Counter(fault.what for fault in faults)
    tell("done: " + ", ".join(f"{what} {count}" for what, count in sorted(counts.items())))
    stuck = [f"run {run.id} is stuck: {run.kind} {run.state} {run.held_code}" for run in scene.settle()]
    asked(witness.look)
    wrong = [*stuck, *witness.changed(), *chaos_proof.instants(), *chaos_proof.limits(), *chaos_proof.rest()]
    tell(f"{chaos_proof.figures()}; {len(wrong)} wrong by the rows; now all backups are restored")
    wrong += chaos_proof.backups(scene)
    return wrong


if __name__ == "__main__":
    main()

"""Plays the matrix of faults, every request of every operation: `python -m tests.long.faults` (3.9, 3.12).

Owns the command line and what is told; the cases are those of tests/engine/faults/matrix.py, of which the suite plays
a sample.
"""

import argparse
import multiprocessing
import random
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path

from repositories.engine.storage.faults import KilledError
from tests.engine.faults.acts import ACTS
from tests.engine.faults.matrix import WAYS, count, play, spread
from tests.engine.faults.stage import Stage

_TOLD_EVERY = 500
_stages: list[Stage] = []
Task = tuple[str, str, int]


def tell(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def build(place: str) -> None:
    """Make the stage of one process."""
    _stages.append(Stage(Path(tempfile.mkdtemp(dir=place))))


def measure(pair: tuple[str, str]) -> tuple[str, str, int]:
    act, way = pair
    return act, way, count(_stages[0], ACTS[act], way)


def attempt(task: Task) -> tuple[Task, str]:
    """Play one case; return what was wrong, if anything."""
    act, way, at = task
    try:
        play(_stages[0], ACTS[act], way, at)
    except (Exception, KilledError):  # noqa: BLE001  (told, and the next one is played)
        return task, traceback.format_exc()
    return task, ""


def main() -> int:
    """Play what was asked for; return 1 if anything was lost."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--act", choices=list(ACTS), action="append")
    parser.add_argument("--way", choices=list(WAYS), action="append")
    parser.add_argument("--at", type=int, help="only the request of this number")
    parser.add_argument("--most", type=int, default=sys.maxsize, help="so many cases of each operation and way")
    parser.add_argument("--processes", type=int, default=2)
    given = parser.parse_args()
    began = time.monotonic()
    wrong: Counter[str] = Counter()
    played: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as place, multiprocessing.Pool(given.processes, build, (place,)) as pool:
        pairs = [(act, way) for act in given.act or ACTS for way in given.way or WAYS]
        tasks = [
            (act, way, at)
            for act, way, total in pool.map(measure, pairs, chunksize=1)
            for at in ([given.at] if given.at else spread(total, given.most, way))
        ]
        # Whoever breaks it off has seen some of everything.
        random.Random(len(tasks)).shuffle(tasks)
        tell(f"{len(tasks)} cases")
        for (act, way, at), failure in pool.imap_unordered(attempt, tasks, chunksize=4):
            played[f"{act}, {way}"] += 1
            if sum(played.values()) % _TOLD_EVERY == 0:
                tell(f"{sum(played.values())} cases, {sum(wrong.values())} wrong, {time.monotonic() - began:.0f} s")
            if failure:
                wrong[f"{act}, {way}"] += 1
                tell(f"python -m tests.long.faults --act {act} --way {way} --at {at}\n{failure}")
    for name, number in played.items():
        tell(f"{name}: {number} cases, {wrong[name]} wrong")
    tell(f"{sum(played.values())} cases, {sum(wrong.values())} wrong, {time.monotonic() - began:.0f} s")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

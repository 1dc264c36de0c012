"""Real copies are killed at random instants; the next one completes them, and nothing half is listed (3.6, 3.10)."""

import os
import random
from pathlib import Path

from tests.engine.copying.kills import CopyRounds

WANTED = 2
MOST_ROUNDS = 6


def test_killed_copies_are_completed(tmp_path: Path) -> None:
    seed = int(os.environ.get("KILLS_SEED", random.SystemRandom().randrange(10**6)))
    told = f"KILLS_SEED={seed} pytest {__file__}"
    rounds = CopyRounds(tmp_path, seed)
    for number in range(1, MOST_ROUNDS + 1):
        try:
            rounds.play()
        except BaseException as error:
            error.add_note(f"round {number}: {told}")
            raise
        if rounds.killed >= WANTED:
            return
    raise AssertionError(f"hardly any copy was killed before its end: {told}")

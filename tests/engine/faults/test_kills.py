"""Real programs are killed at random instants; a check and the next backup work at once (3.10)."""

import os
import random
from pathlib import Path

from tests.engine.faults.kills import Rounds

ROUNDS = 20


def test_twenty_kills_lose_nothing(tmp_path: Path) -> None:
    seed = int(os.environ.get("KILLS_SEED", random.SystemRandom().randrange(10**6)))
    rounds = Rounds(tmp_path, seed)
    for number, operation in enumerate(rounds.order(ROUNDS), start=1):
        try:
            rounds.play(operation)
        except BaseException as error:
            error.add_note(f"round {number}, {operation}: KILLS_SEED={seed} pytest {__file__}")
            raise
    assert sum(rounds.killed.values()) >= ROUNDS // 4, "hardly anything was killed before its end"

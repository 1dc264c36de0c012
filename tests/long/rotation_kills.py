"""Kills two writers and two rotators of one repository at random instants until the time is over; then counts.

`python -m tests.long.rotation_kills --seconds 60` by hand. Every backup that was told as committed must be listed and
readable, and nothing else may be listed but what died between its commit and its word.
"""

import argparse
import dataclasses
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from repositories.engine.errors import EngineError
from repositories.engine.keychain import open_keychain, rotate
from repositories.engine.repository import CreateOptions, create_repository, open_repository
from repositories.engine.storage.local import LocalStorage
from tests.engine.contents import commit, require_readable
from tests.engine.fakes import CHEAP
from tests.engine.repositories import PASSWORD

_UNKILLED_SECONDS = 3.0


def write(place: Path, end: float) -> None:
    """Commit backups of random contents, and tell each."""
    while time.monotonic() < end:
        try:
            made = commit(open_repository(LocalStorage(str(place)), PASSWORD), random.randrange(2**31))
        except EngineError:
            continue
        with place.with_suffix(".committed").open("a") as told:
            told.write(f"{made}\n")


def rotate_again(place: Path, end: float) -> None:
    """Rotate, with pauses."""
    while time.monotonic() < end:
        try:
            keys = open_keychain(LocalStorage(str(place)), PASSWORD)
            rotate(dataclasses.replace(keys, kdf=CHEAP), [PASSWORD])
        except EngineError:
            continue
        time.sleep(random.random() * 2)


def start(act: Callable[[Path, float], None], place: Path, end: float) -> int:
    """Start a process; return its id."""
    child = os.fork()
    if child == 0:
        act(place, end)
        os._exit(0)
    return child


def disturb(place: Path, seconds: float) -> Counter[str]:
    """Let four processes work and kill one of them now and then; return how often each kind was killed."""
    end = time.monotonic() + seconds
    acts = [write, write, rotate_again, rotate_again]
    children = [start(act, place, end) for act in acts]
    killed: Counter[str] = Counter()
    while time.monotonic() < end - _UNKILLED_SECONDS:
        time.sleep(random.random())
        at = random.randrange(len(acts))
        os.kill(children[at], signal.SIGKILL)
        os.waitpid(children[at], 0)
        killed[acts[at].__name__] += 1
        children[at] = start(acts[at], place, end)
    for child in children:
        os.waitpid(child, 0)
    return killed


def main() -> int:
    """Run the program; return its exit code."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("--seconds", type=float, default=60)
    seconds = parser.parse_args().seconds
    with tempfile.TemporaryDirectory() as directory:
        place = Path(directory) / "repository"
        create_repository(LocalStorage(str(place)), CreateOptions(PASSWORD, kdf=CHEAP, reserve_bytes=10))
        killed = disturb(place, seconds)
        repository = open_repository(LocalStorage(str(place)), PASSWORD)
        listed = {backup.object_id for backup in repository.backups()}
        committed = set(place.with_suffix(".committed").read_text().split())
        read = len(require_readable(repository))
    lost = committed - listed
    sys.stdout.write(
        f"{dict(killed)} killed; generation {repository.keyring.generation}; "
        f"{len(committed)} committed, {len(lost)} lost; {len(listed)} listed, {read} readable\n"
    )
    return 1 if lost or read != len(listed) else 0


if __name__ == "__main__":
    sys.exit(main())

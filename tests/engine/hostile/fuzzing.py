"""Runs numbered cases of the fuzzer; a number and a seed always give the same case.

Only the engine's typed errors may come out, in bounded time and memory: the caller limits the memory of its process.
"""

import contextlib
import enum
import os
import random
import resource
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

from repositories.engine.errors import EngineError
from tests.engine.hostile.targets import variation
from tests.engine.hostile.whole import Case

MOST_SECONDS = 30
"""A case that needs longer hangs: the usual one takes milliseconds."""
MORE_MEMORY = 768 * 1024 * 1024


class Kind(enum.StrEnum):
    """What a case is about."""

    DECODER = "decoder"
    REPOSITORY = "repository"


class HungError(Exception):
    """A case took longer than any may."""


def run_case(kind: Kind, seed: str, number: int, place: Path) -> None:
    """Run one case in the empty directory `place`; raises what no reader may raise."""
    numbers = random.Random(f"{seed}:{number}")
    with limited_time():
        if kind is Kind.DECODER:
            target, data = variation(numbers)
            with contextlib.suppress(EngineError):
                target.decode(data)
        else:
            _run_repository(Case(numbers), place)


def _run_repository(case: Case, place: Path) -> None:
    inner = place / "in"
    inner.mkdir(mode=0o700)
    (place / "outside").touch()
    try:
        case.read_everything(inner / "target")
        assert sorted(os.listdir(place)) == ["in", "outside"], case.what
        assert (place / "outside").stat().st_size == 0, case.what
        assert os.listdir(inner) in ([], ["target"]), case.what
    finally:
        shutil.rmtree(inner)
        (place / "outside").unlink()


def limit_memory() -> None:
    """Let this process have a bounded amount more of memory than it has now; for a child."""
    with open("/proc/self/statm", encoding="ascii") as file:
        have = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (have + MORE_MEMORY, have + MORE_MEMORY))


@contextlib.contextmanager
def limited_time() -> Iterator[None]:
    def hung(number: int, frame: FrameType | None) -> None:
        del number, frame
        raise HungError(f"longer than {MOST_SECONDS} s")

    before = signal.signal(signal.SIGALRM, hung)
    signal.setitimer(signal.ITIMER_REAL, MOST_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)

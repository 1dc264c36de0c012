"""Real processes that are killed at a random instant: the program, its engine child, or both at once.

Owns starting, killing and waiting until nothing of them lives. Knows nothing of what they do.
"""

import ctypes
import os
import random
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
_PATIENCE = 120.0
_LOOK_SECONDS = 0.002
_FIRST_SPAN = 0.15
_PR_SET_CHILD_SUBREAPER = 36


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a victim ended: `code` is its exit code, negative for a signal; `killed`: it did not come to its end."""

    code: int
    killed: bool
    out: str


@dataclass(slots=True)
class Killer:
    """Kills programs. `spans` are the seconds that an operation seems to take from its first write on.

    They grow with each kill and shrink with each victim that was faster, so that kills fall all over the operation.
    """

    numbers: random.Random
    watched: tuple[Path, ...]
    spans: dict[str, float] = field(default_factory=dict)

    def run(self, name: str, words: list[str]) -> Outcome:
        """Run a program and kill it at a random instant, mostly after its first write."""
        span = self.spans.setdefault(name, _FIRST_SPAN)
        early = self.numbers.random() < 0.1
        delay = self.numbers.random() * (0.6 if early else span)
        whom = self.numbers.choice(("program", "child", "both"))
        process = start(words)
        before = self._marks()
        began = time.monotonic()
        while not early and process.poll() is None and self._marks() == before:
            time.sleep(_LOOK_SECONDS)
            assert time.monotonic() - began < _PATIENCE, f"{words} never began"
        _let_run(process, delay)
        killed = _kill(process, whom)
        out, _ = process.communicate(timeout=_PATIENCE)
        self.spans[name] = min(max(span * (1.15 if killed else 0.8), 0.02), 2.0)
        return Outcome(process.returncode, killed, out.decode(errors="replace"))

    def _marks(self) -> list[int]:
        return [_changed(path / name) for path in self.watched for name in ("tmp", "sessions", "keychanges")]


def start(words: list[str]) -> "subprocess.Popen[bytes]":
    """Start a program in a session of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "tests.engine.faults.program", *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        cwd=ROOT,
        start_new_session=True,
    )


def finish(words: list[str]) -> Outcome:
    """Run a program to its end."""
    process = start(words)
    out, _ = process.communicate(timeout=_PATIENCE)
    return Outcome(process.returncode, killed=False, out=out.decode(errors="replace"))


def _let_run(process: "subprocess.Popen[bytes]", seconds: float) -> None:
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        return


def _kill(process: "subprocess.Popen[bytes]", whom: str) -> bool:
    """Kill; return whether there was anything to kill. Returns when no process of it lives any more."""
    if process.poll() is not None:
        return False
    adopt_orphans()
    strangers = set(_children(os.getpid()))
    children = _children(process.pid)
    victims = {"program": [process.pid], "child": children[:1], "both": [process.pid, *children[:1]]}[whom]
    for pid in victims or [process.pid]:
        _send_kill(pid)
    process.wait(_PATIENCE)
    deadline = time.monotonic() + _PATIENCE
    while any(_lives(pid) for pid in {*children, *_children(os.getpid())} - strangers):
        assert time.monotonic() < deadline, "an engine child outlived its parent"
        time.sleep(_LOOK_SECONDS)
    return True


def _send_kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def adopt_orphans() -> None:
    """Become the parent of what a victim leaves behind: a child that was just being started may live a little on."""
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _children(pid: int) -> list[int]:
    """Return the direct children, the oldest first: threads other than the main one start some, too."""
    found: list[int] = []
    for tasks in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            found.extend(map(int, tasks.read_text().split()))
        except OSError:
            continue
    return sorted(found)


def _lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def _changed(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0

"""Runs the tests, as `./syncova test [pytest arguments]`: the whole suite as two shares side by side, a part as it is.

Owns the shares: each is a pytest of its own with servers and temporary files of its own, so that two cores have work.
The second share's output follows when the first has ended. Where a file, a directory or a test is named, or an option
that needs the terminal, one pytest runs.
"""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import IO

from tests.canaries_allowed import RULES, SECRET_FILE
from tests.canaries_sweep import Sweep
from tests.canaries_watch import MET

# As long as all the others; what it has beside the engine's needs no database of the tests.
SECOND = (
    "tests/engine",
    "tests/docs",
    "tests/console",
    "tests/bootstrap",
    "tests/web",
    "tests/benchmarks",
    "tests/architecture",
)
SHARES: tuple[tuple[str, ...], ...] = (("tests", *(f"--ignore={path}" for path in SECOND)), SECOND)
NO_TESTS = 5

_ALONE = frozenset(
    {"--pdb", "--trace", "-s", "--lf", "--ff", "--last-failed", "--failed-first", "-h", "--help", "--co"}
)
_ALONE_TOO = ("--collect", "--fixtures", "--markers", "--version", "--stepwise", "--junit", "--basetemp", "--capture")
_WITH_VALUE = frozenset({"-k", "-m", "-p", "-n", "-o", "-r", "-W", "-c", "--durations", "--maxfail", "--tb", "--color"})
_COUNT = re.compile(r"(\d+) (passed|failed|skipped|error|errors|xfailed|deselected|warning|warnings)\b")
_LAST_LINE = re.compile(r"^=*\s*\d+ \w+.* in [\d.]+s\b")


def main(arguments: Sequence[str]) -> int:
    """Run the tests; `arguments` begins with the directory for temporary files. Return pytest's exit code."""
    place, *given = arguments
    if not is_whole(given):
        os.execv(sys.executable, [*_pytest(place), *given])
    with tempfile.TemporaryFile("w+", encoding="utf-8") as later:
        shares = [
            subprocess.Popen([*_pytest(place), *SHARES[0], *given], stdout=subprocess.PIPE, text=True),
            subprocess.Popen(
                [*_pytest(place + "b"), *SHARES[1], *given], stdout=later, stderr=subprocess.STDOUT, text=True
            ),
        ]
        _pass_signals_on(shares)
        first = _show(shares[0].stdout)
        codes = [share.wait() for share in shares]
        later.seek(0)
        second = _show(later)
    sys.stdout.write(summary(first.last, second.last))
    told = _told_canaries([first.sweep, second.sweep], [place, place + "b"], whole=not given)
    return combined(codes) or told


def is_whole(given: Sequence[str]) -> bool:
    """Tell whether the arguments ask for the whole suite in a way that two processes can run."""
    value = False
    for word in given:
        if value:
            value = False
        elif not word.startswith("-") or word in _ALONE or word.startswith(_ALONE_TOO):
            return False
        else:
            value = word in _WITH_VALUE
    return True


def combined(codes: Sequence[int]) -> int:
    """Return one exit code: the first failure; that a share had no tests counts only where no share had any."""
    ran = [code for code in codes if code != NO_TESTS]
    return next((abs(code) for code in ran if code), 0) if ran else NO_TESTS


def summary(first: str, second: str) -> str:
    """Return one line about both shares from the last line of each."""
    counts: Counter[str] = Counter()
    for line in (first, second):
        counts.update({kind.rstrip("s"): int(count) for count, kind in _COUNT.findall(line)})
    return "both shares: " + (", ".join(f"{count} {kind}" for kind, count in counts.items()) or "no tests") + "\n"


def _pytest(place: str) -> list[str]:
    return [sys.executable, "-m", "pytest", f"--basetemp={Path(place)}"]


@dataclass
class _Shown:
    """What a share said: its last line of figures, and the canaries in all of it."""

    last: str = ""
    sweep: Sweep = field(default_factory=Sweep)


def _show(stream: IO[str] | None) -> _Shown:
    """Copy a share's output and look at it for canaries."""
    shown = _Shown()
    for line in stream or ():
        sys.stdout.write(line)
        sys.stdout.flush()
        if _LAST_LINE.match(line):
            shown.last = line
        shown.sweep.text("output of the suite", line)
    return shown


def _told_canaries(sweeps: Sequence[Sweep], places: Sequence[str], *, whole: bool) -> int:
    """Tell what canaries the output held, and which rule a whole run never met; return the exit code."""
    found = [line for sweep in sweeps for line in sweep.found]
    notes = [Path(place) / MET for place in places]
    if whole and all(note.exists() for note in notes):
        met = {name for note in notes for name in json.loads(note.read_text())}
        unmet = {SECRET_FILE, *(rule.name for rule in RULES)} - met
        sys.stdout.writelines(f"nothing met the rule {name!r} of tests/canaries_allowed.py\n" for name in sorted(unmet))
    sys.stdout.writelines(f"canary: {line}\n" for line in found)
    return int(bool(found))


def _pass_signals_on(shares: Sequence[subprocess.Popen[str]]) -> None:
    def forward(number: int, frame: FrameType | None) -> None:
        del frame
        for share in shares:
            share.send_signal(number)

    # A terminal's interrupt reaches the shares by itself: they end, and so does the waiting here.
    signal.signal(signal.SIGINT, lambda number, frame: None)
    signal.signal(signal.SIGTERM, forward)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))

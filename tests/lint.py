"""Runs every static check, as `./syncova lint [--fix]`. Owns their list and order; no server is needed or asked.

The type check takes as long as the others together, so it has one core and they share the other.
"""

import argparse
import os
import subprocess
import sys
import sysconfig
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

CLONE = Path(__file__).resolve().parent.parent
SOURCES = ("syncova", "bootstrap", "manage.py", "syncova_project", "jobs", "repositories", "agents", "workers", "tests")
_MANAGE = (sys.executable, "manage.py")
_RUFF = (sys.executable, "-m", "ruff")


@dataclass(frozen=True, slots=True)
class Check:
    """One check: what it is called and what runs it."""

    name: str
    command: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a check said."""

    check: Check
    passed: bool
    output: str
    seconds: float


FIXES = (
    Check("ruff check --fix", (*_RUFF, "check", "--quiet", "--fix", *SOURCES)),
    Check("ruff format", (*_RUFF, "format", "--quiet", *SOURCES)),
)
TYPES = Check("mypy", (sys.executable, "-m", "mypy", "--no-error-summary", *SOURCES))
OTHERS = (
    Check("ruff check", (*_RUFF, "check", "--quiet", *SOURCES)),
    Check("ruff format", (*_RUFF, "format", "--quiet", "--check", *SOURCES)),
    Check("imports", (str(Path(sysconfig.get_path("scripts"), "lint-imports")), "--no-logo")),
    Check("manage check", (*_MANAGE, "check", "--fail-level", "WARNING")),
    Check("migrations", (*_MANAGE, "makemigrations", "--check", "--dry-run")),
)

# Settings of nobody: no file of this machine is read, and the database is one that no server answers for.
NOWHERE = {
    "SYNCOVA_SETTINGS_FILE": os.devnull,
    "SYNCOVA_DATA_DIR": str(CLONE / ".syncova-test" / "data"),
    "SYNCOVA_DATABASE_URL": f"postgresql://nobody@/nothing?host={CLONE}",
}


def run(check: Check) -> Outcome:
    """Run one check to its end and return all that it printed."""
    begun = time.monotonic()
    done = subprocess.run(
        check.command,
        cwd=CLONE,
        env={**os.environ, **NOWHERE},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    return Outcome(check, done.returncode == 0, done.stdout.decode(errors="replace"), time.monotonic() - begun)


def main() -> int:
    """Run all checks, mending first what can be mended if asked; 0 when all passed."""
    parser = argparse.ArgumentParser(prog="./syncova lint", description="Check style, types, imports and migrations.")
    parser.add_argument("--fix", action="store_true", help="mend and format what can be mended by itself first")
    arguments = parser.parse_args()
    passed = True
    for check in FIXES if arguments.fix else ():
        passed = _show(run(check)) and passed
    with ThreadPoolExecutor(2) as pool:
        types = pool.submit(run, TYPES)
        for outcome in pool.map(run, OTHERS):
            passed = _show(outcome) and passed
        passed = _show(types.result()) and passed
    return 0 if passed else 1


def _show(outcome: Outcome) -> bool:
    state = "ok    " if outcome.passed else "FAILED"
    sys.stdout.write(f"{state} {outcome.check.name} ({outcome.seconds:.1f} s)\n")
    if not outcome.passed:
        sys.stdout.write(outcome.output)
    sys.stdout.flush()
    return outcome.passed


if __name__ == "__main__":
    sys.exit(main())

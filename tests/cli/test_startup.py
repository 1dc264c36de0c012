"""The programs start with little: no Django ever, nothing heavy before a command needs it."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HEAVY = (
    "django",
    "celery",
    "rich",
    "cryptography",
    "zstandard",
    "pyfastcdc",
    "pathspec",
    "repositories.engine.repository",
)


@pytest.mark.parametrize("program", ["repositories.cli.program", "agents.runtime.program"])
def test_a_program_imports_nothing_heavy(program: str) -> None:
    code = f"import sys, {program}; print([name for name in {HEAVY!r} if name in sys.modules])"
    finished = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert finished.stdout == "[]\n"


def test_the_child_imports_no_django_and_no_command_line() -> None:
    names = ("django", "typer", "rich", "syncova_project")
    modules = ", ".join(
        f"repositories.engine.process.{each}" for each in ("runner", "backup_operation", "restore_operation")
    )
    code = f"import sys, {modules}; print([name for name in {names!r} if name in sys.modules])"
    finished = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert finished.stdout == "[]\n"

"""A home directory as the reader of a page has it, and the shell in which the commands of the page are typed."""

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from tests.engine.repositories import PASSWORD, local_repository

CLONE = Path(__file__).resolve().parents[2]
# Stands for ./syncova: the same table of commands in this interpreter, and a port that is surely free.
SHIM = f"""#!{sys.executable} -P
import os, sys
sys.path.insert(0, {str(CLONE)!r})
from bootstrap.commands import find
words = sys.argv[1:]
extra = ["--port", "0"] if words[0] == "up" else []
program = [part.format(clone={str(CLONE)!r}) for part in find(words[0]).program]
os.execv(sys.executable, [sys.executable, "-P", *program, *words[1:], *extra])
"""


def blocks(document: str) -> list[str]:
    """Return the code blocks of a document."""
    return re.findall(r"^```\n(.*?)^```$", (CLONE / document).read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


def put_command(home: Path) -> None:
    """Let `./syncova` be there, as in a clone."""
    (home / "syncova").write_text(SHIM)
    (home / "syncova").chmod(0o755)


def home_with_repository(place: Path, passwords: Mapping[str, str], documents: Mapping[str, str]) -> Path:
    """Return a home with an empty repository, whose password is in `~/password`, and files below it by their paths."""
    home = place / "home"
    home.mkdir()
    put_command(home)
    for name, text in {"password": PASSWORD.decode(), **passwords}.items():
        (home / name).write_text(f"{text}\n")
        (home / name).chmod(0o600)
    for name, text in documents.items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(text)
    local_repository(home / "syncova-backups")
    return home


def data_of(home: Path) -> Path:
    """Return the data directory of this user's stack."""
    return home.parent / "up"


def type_in(home: Path, commands: str) -> "subprocess.CompletedProcess[str]":
    """Run commands in a shell of the new user."""
    variables = {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "PYTHONPATH": str(CLONE),
        "SYNCOVA_DATA_DIR": str(data_of(home)),
    }
    return subprocess.run(
        ["bash", "-euo", "pipefail", "-c", commands],
        cwd=home,
        env=variables,
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )


def typed(home: Path, commands: str) -> str:
    """Type commands for the repository that `~/password` opens, and return what they say; each has to do its work."""
    done = type_in(home, f"export SYNCOVA_REPOSITORY_PASSWORD_FILE=~/password\n{commands}")
    assert done.returncode == 0, done.stderr
    return done.stdout

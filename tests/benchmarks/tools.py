"""The programs that are compared, and what each must be told for one and the same work.

Owns their command lines. Nothing is switched off in any of them: they flush, verify and keep attributes as they do for
their users. Compression is each one's default, but borg's, which is zstd 3 for equal work; its own default is a tool of
its own.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

FIRST, UNCHANGED, CHANGED, RESTORE, CHECK, PRUNE = STEPS = (
    "first backup",
    "unchanged",
    "1 % changed",
    "restore",
    "full check",
    "prune",
)
CREATE, LAST, FORGET = "create", "last backup", "forget"
"""What has to be done between the steps, and is not measured."""
SYNCOVA = "syncova"
_PASSWORD = "benchmark"
_CLONE = Path(__file__).parents[2]


@dataclass(frozen=True, slots=True)
class Place:
    """Where one tool works in one round.

    `target` is what is restored into, and the working directory of all commands, since borg knows no other target.
    """

    home: Path
    tree: Path
    target: Path

    @property
    def repository(self) -> Path:
        """The repository."""
        return self.home / "repository"


@dataclass(frozen=True, slots=True)
class Tool:
    """A backup program: its command for each step, its variables, and the version that it tells."""

    name: str
    version: str
    commands: Callable[[Place], Mapping[str, list[str]]]
    variables: Callable[[Place], dict[str, str]]


def find_tools() -> list[Tool]:
    """Return ours, and those peers that are there: on PATH, or where RESTIC and BORG say."""
    ours = [sys.executable, "-P", "-m", "repositories.cli", "--version"]
    found = [Tool(SYNCOVA, _version(ours), _syncova, _our_variables)]
    restic, borg = (shutil.which(os.environ.get(name.upper(), name)) for name in ("restic", "borg"))
    if restic:
        version = _version([restic, "version"]).partition(" compiled")[0]
        found.append(Tool("restic", version, lambda place: _restic(restic, place), _restic_variables))
    if borg:
        version = _version([borg, "--version"])
        found.append(Tool("borg zstd,3", version, lambda place: _borg(borg, "zstd,3", place), _borg_variables))
        found.append(Tool("borg lz4", version, lambda place: _borg(borg, "lz4", place), _borg_variables))
    return found


def _version(command: list[str]) -> str:
    said = subprocess.run(command, capture_output=True, text=True, check=False, cwd=_CLONE)
    return said.stdout.strip().partition("\n")[0] or "unknown"


def _our_variables(place: Place) -> dict[str, str]:
    homes = {name: str(place.home / name) for name in ("XDG_CACHE_HOME", "XDG_STATE_HOME")}
    return {"SYNCOVA_REPOSITORY_PASSWORD": _PASSWORD, "PYTHONPATH": str(_CLONE), **homes}


def _restic_variables(place: Place) -> dict[str, str]:
    return {"RESTIC_PASSWORD": _PASSWORD, "XDG_CACHE_HOME": str(place.home / "cache")}


def _borg_variables(place: Place) -> dict[str, str]:
    return {"BORG_PASSPHRASE": _PASSWORD, "BORG_BASE_DIR": str(place.home / "base")}


def _syncova(place: Place) -> dict[str, list[str]]:
    python = [sys.executable, "-P", "-m"]
    where = ["-r", str(place.repository), "-q"]
    backup = [*python, "agents.runtime", "backup", *where, "--source", "tree", "--path", str(place.tree)]
    restore = [*python, "agents.runtime", "restore", *where, "--backup", "latest", "--target", str(place.target)]
    return {
        CREATE: [*python, "repositories.cli", "create", *where],
        **dict.fromkeys((FIRST, UNCHANGED, CHANGED, LAST), backup),
        RESTORE: restore,
        CHECK: [*python, "repositories.cli", "check", *where, "--read-data"],
        FORGET: [*python, "repositories.cli", "forget", *where, "--keep-last", "1", "--yes"],
        PRUNE: [*python, "repositories.cli", "prune", *where],
    }


def _restic(program: str, place: Place) -> dict[str, list[str]]:
    base = [program, "-r", str(place.repository), "-q"]
    backup = [*base, "backup", str(place.tree)]
    return {
        CREATE: [*base, "init"],
        **dict.fromkeys((FIRST, UNCHANGED, CHANGED, LAST), backup),
        RESTORE: [*base, "restore", "latest", "--target", str(place.target)],
        CHECK: [*base, "check", "--read-data"],
        FORGET: [*base, "forget", "--keep-last", "1"],
        PRUNE: [*base, "prune"],
    }


def _borg(program: str, compression: str, place: Place) -> dict[str, list[str]]:
    create = [program, "create", "--compression", compression]
    repository = str(place.repository)
    archives = dict(zip((FIRST, UNCHANGED, CHANGED, LAST), ("one", "two", "three", "four"), strict=True))
    return {
        CREATE: [program, "init", "--encryption", "repokey-blake2", repository],
        **{step: [*create, f"{repository}::{name}", str(place.tree)] for step, name in archives.items()},
        RESTORE: [program, "extract", f"{repository}::three"],
        CHECK: [program, "check", "--verify-data", repository],
        FORGET: [program, "prune", "--keep-last", "1", repository],
        PRUNE: [program, "compact", repository],
    }

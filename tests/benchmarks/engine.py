"""Backup, second backup and restore of one tree, beside restic and borg where they are installed.

Each step is a process of its own, started as a person starts it, on a directory that is new each time.
"""

import argparse
import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.benchmarks.measuring import bytes_below, measure, read_once

STEPS = ("create", "first backup", "second backup", "restore")


@dataclass(frozen=True, slots=True)
class Tool:
    """A backup program: its command line for each step, and what its environment must hold."""

    name: str
    commands: Callable[[Path, Path, Path], dict[str, list[str]]]  # repository, tree, target
    variables: dict[str, str]


def main(words: list[str]) -> int:
    """Time backups and restore of a tree, beside restic and borg (RESTIC and BORG name other programs)."""
    parser = argparse.ArgumentParser(prog="./syncova bench engine", description=main.__doc__)
    parser.add_argument("tree", nargs="?", type=Path, default=Path(sys.prefix), help="what to back up [this .venv]")
    parser.add_argument("--only", help="measure this tool alone")
    arguments = parser.parse_args(words)
    tree = arguments.tree.resolve()
    files, size = read_once(tree)
    _say(f"{tree}: {files:,} files, {size / 2**20:,.0f} MiB; {os.cpu_count()} cores")
    _say(f"{'':10} {'step':14} {'seconds':>9} {'cpu s':>9} {'peak MiB':>9}")
    for tool in tools():
        if arguments.only in (None, tool.name):
            _measure_tool(tool, tree)
    return 0


def tools() -> list[Tool]:
    """Return ours and the peers that are installed."""
    found = [Tool("syncova", _syncova, {"SYNCOVA_REPOSITORY_PASSWORD": "benchmark"})]
    restic, borg = (shutil.which(os.environ.get(name.upper(), name)) for name in ("restic", "borg"))
    if restic:
        found.append(Tool("restic", lambda *places: _restic(restic, *places), {"RESTIC_PASSWORD": "benchmark"}))
    if borg:
        variables = {"BORG_PASSPHRASE": "benchmark", "BORG_RELOCATED_REPO_ACCESS_IS_OK": "yes"}
        found.append(Tool("borg", lambda *places: _borg(borg, *places), variables))
    return found


def _measure_tool(tool: Tool, tree: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        place = Path(name)
        target = place / "target"
        target.mkdir()
        variables = {**tool.variables, "XDG_CACHE_HOME": str(place / "cache"), "BORG_BASE_DIR": str(place / "borg")}
        commands = tool.commands(place / "repository", tree, target)
        for step in STEPS:
            taken = measure(commands[step], variables)
            numbers = f"{taken.seconds:9.2f} {taken.processor_seconds:9.2f} {taken.peak_mib:9.0f}"
            _say(f"{tool.name:10} {step:14} {numbers}")
        _say(f"{tool.name:10} repository: {bytes_below(place / 'repository') / 2**20:,.1f} MiB")


def _syncova(repository: Path, tree: Path, target: Path) -> dict[str, list[str]]:
    python = [sys.executable, "-P", "-m"]
    where = ["-r", str(repository), "-q"]
    backup = [*python, "agents.runtime", "backup", *where, "--source", "tree", "--path", str(tree)]
    return {
        "create": [*python, "repositories.cli", "create", *where],
        "first backup": backup,
        "second backup": backup,
        "restore": [*python, "agents.runtime", "restore", *where, "--backup", "latest", "--target", str(target)],
    }


def _restic(program: str, repository: Path, tree: Path, target: Path) -> dict[str, list[str]]:
    base = [program, "-r", str(repository), "-q"]
    backup = [*base, "backup", str(tree)]
    return {
        "create": [*base, "init"],
        "first backup": backup,
        "second backup": backup,
        "restore": [*base, "restore", "latest", "--target", str(target)],
    }


def _borg(program: str, repository: Path, tree: Path, target: Path) -> dict[str, list[str]]:
    create = [program, "create", "--compression", "zstd,3"]
    # borg extracts into the working directory only, so a shell-free change of directory is needed.
    extract = "import os, sys; os.chdir(sys.argv[1]); os.execv(sys.argv[2], sys.argv[2:])"
    return {
        "create": [program, "init", "--encryption", "repokey-blake2", str(repository)],
        "first backup": [*create, f"{repository}::one", str(tree)],
        "second backup": [*create, f"{repository}::two", str(tree)],
        "restore": [sys.executable, "-c", extract, str(target), program, "extract", f"{repository}::two"],
    }


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()

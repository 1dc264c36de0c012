"""Runs the steps of a round: each step with one tool after the other, so that what else the machine does hits all.

Owns the order and the working directories. Each round begins with a new copy of the tree and new repositories; in each,
another tool comes first.
"""

import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.benchmarks.machine import drop_caches
from tests.benchmarks.measuring import CommandFailedError, Taken, bytes_below, files_below, measure, read_once
from tests.benchmarks.tools import CHANGED, CREATE, FIRST, FORGET, LAST, PRUNE, RESTORE, STEPS, Place, Tool
from tests.benchmarks.trees import Tree, change_one_percent, copy_tree, leave_four_fifths

_UNTIL_OLD_SECONDS = 3.0
"""Files as young as that are read again by the next backup, of every tool."""
_STORING = (FIRST, CHANGED, PRUNE)


@dataclass(slots=True)
class Result:
    """What one tool took in one round, the bytes it held after a step, and why it ended early, if it did."""

    taken: dict[str, Taken] = field(default_factory=dict)
    stored: dict[str, int] = field(default_factory=dict)
    failure: str = ""


@dataclass(frozen=True, slots=True)
class Round:
    """One round on one tree. `tell` is told each step that begins."""

    tools: Sequence[Tool]
    tree: Tree
    number: int
    cold: bool
    tell: Callable[[str], None]

    def run(self, place: Path) -> dict[str, Result]:
        """Run all steps in a new directory below `place`, which is removed; return results by the tools' names."""
        results = {tool.name: Result() for tool in self.tools}
        with tempfile.TemporaryDirectory(prefix="syncova-bench-", dir=place) as name:
            work = Path(name)
            copy_tree(self.tree.path, work / "tree")
            os.sync()
            time.sleep(_UNTIL_OLD_SECONDS)
            read_once(work / "tree")
            for step in (CREATE, *STEPS):
                if step == CHANGED:
                    change_one_percent(work / "tree", self.number)
                if step == PRUNE:
                    leave_four_fifths(work / "tree")
                self._run_step(step, work, results)
        return results

    def _run_step(self, step: str, work: Path, results: dict[str, Result]) -> None:
        first = self.number % len(self.tools)
        for tool in (*self.tools[first:], *self.tools[:first]):
            result = results[tool.name]
            if result.failure:
                continue
            self.tell(f"{self.tree.name}, round {self.number + 1}: {step}, {tool.name}")
            home = work / tool.name.replace(" ", "-").replace(",", "-")
            home.mkdir(exist_ok=True)
            with tempfile.TemporaryDirectory(dir=home) as target:
                try:
                    self._measure(step, tool, Place(home, work / "tree", Path(target)), result)
                except CommandFailedError as error:
                    result.failure = f"{step}: {error}"

    def _measure(self, step: str, tool: Tool, place: Place, result: Result) -> None:
        commands, variables = tool.commands(place), tool.variables(place)
        for each in (LAST, FORGET) if step == PRUNE else ():
            measure(commands[each], variables, place.target)
        self._settle()
        taken = measure(commands[step], variables, place.target)
        if step == RESTORE:
            _compare(place)
        if step in STEPS:
            result.taken[step] = taken
        if step in _STORING:
            result.stored[step] = bytes_below(place.repository)

    def _settle(self) -> None:
        """Leave nothing of the step before for this one to write."""
        os.sync()
        if self.cold:
            drop_caches()


def _compare(place: Place) -> None:
    """Raise CommandFailedError if not as many files and bytes came back as there are."""
    wanted, found = files_below(place.tree), files_below(place.target)
    if wanted != found:
        raise CommandFailedError(
            f"restored {found[0]:,} files of {found[1]:,} bytes, not {wanted[0]:,} of {wanted[1]:,}"
        )


def copy_failure(error: subprocess.CalledProcessError) -> str:
    """Return why a tree could not be copied."""
    return str(error.stderr).strip().rpartition("\n")[2] or f"cp ended with {error.returncode}"

"""Rounds of operations by real programs that are killed at random instants, on one repository (3.10).

Owns what is run and what must hold after each kill. Shared by the suite's few rounds and by tests/long/kills.py.
"""

import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from repositories.engine.repository import CreateOptions, create_repository
from repositories.engine.storage.local import LocalStorage
from tests.engine.copying.builders import OTHER_PASSWORD
from tests.engine.faults.oracle import Facts, Oracle, change_tree
from tests.engine.faults.victims import Killer, Outcome, finish
from tests.engine.repositories import CHEAP, PASSWORD, make_repository
from tests.tree_facts import facts

OPERATIONS = ("backup", "backup", "prune", "forget", "restore", "copy", "rotate", "check")
_MOST_KEPT = 4


class Rounds:
    """One repository, its related second one, a tree, and what all of them must hold."""

    def __init__(self, root: Path, seed: int) -> None:
        self._root = root
        self._numbers = random.Random(seed)
        self._tree = root / "tree"
        self._first, self._second = root / "first", root / "second"
        origin = make_repository(LocalStorage(str(self._first)))
        options = CreateOptions(password=OTHER_PASSWORD, kdf=CHEAP, reserve_bytes=1024, related_to=origin.keyring)
        create_repository(LocalStorage(str(self._second)), options)
        for name, password in (("password", PASSWORD), ("other", OTHER_PASSWORD)):
            (root / name).write_bytes(password + b"\n")
            (root / name).chmod(0o600)
        self.oracle = Oracle(origin.storage, root)
        self._copies = Oracle(LocalStorage(str(self._second)), root, OTHER_PASSWORD)
        self._ever: dict[str, Facts] = {}
        self._killer = Killer(self._numbers, (self._first, self._second))
        self.killed: Counter[str] = Counter()
        self.ended: Counter[str] = Counter()
        change_tree(self._tree, self._numbers)
        self.oracle.back_up(self._tree)

    def order(self, rounds: int) -> list[str]:
        """Return so many operations: all of them in a random order, again and again."""
        chosen: list[str] = []
        while len(chosen) < rounds:
            chosen.extend(self._numbers.sample(OPERATIONS, len(OPERATIONS)))
        return chosen[:rounds]

    def play(self, operation: str) -> None:
        """Run an operation, kill it, and require that nothing is lost and the next backup works."""
        play: Callable[[], None] = getattr(self, f"_{operation}")
        play()

    def _run(self, operation: str, program: str, *words: object) -> Outcome:
        outcome = self._killer.run(operation, self._complete(program, *words))
        (self.killed if outcome.killed else self.ended)[operation] += 1
        assert outcome.killed or outcome.code == 0, f"{operation} ended with {outcome.code}: {outcome.out}"
        return outcome

    def _complete(self, *words: object) -> list[str]:
        return [*map(str, words), "--password-file", str(self._root / "password")]

    def _settle(self) -> None:
        """What every round ends with."""
        self.oracle.require_whole()
        change_tree(self._tree, self._numbers)
        self.oracle.back_up(self._tree)
        self._ever.update(self.oracle.kept)

    def _backup(self) -> None:
        wanted = facts(self._tree)
        known = frozenset(self.oracle.kept)
        outcome = self._run("backup", "agent", "backup", "-r", self._first, "--path", self._tree, "--source", "tree")
        self.oracle.require_listed(perhaps_new=wanted)
        assert outcome.code != 0 or len(self.oracle.kept) == len(known) + 1, "a backup that was reported is not there"
        self._settle()

    def _forget(self) -> None:
        kept = self.oracle.listed()
        going = kept[: max(len(kept) - _MOST_KEPT, 1)] if len(kept) > 1 else []
        if going:
            outcome = self._run("forget", "repo", "forget", self._first, *going, "--yes", "--reason", "old")
            self.oracle.require_listed(perhaps_gone=frozenset(going))
            done = not self.oracle.kept.keys() & set(going)
            assert done or outcome.code != 0, "a deletion that was reported is not there"
        self._settle()

    def _prune(self) -> None:
        self._run("prune", "repo", "prune", self._first, "--max-unused", "0%")
        self.oracle.require_listed()
        self.oracle.require_whole()
        self._settle()
        self.oracle.prune()

    def _restore(self) -> None:
        chosen = self._numbers.choice(sorted(self.oracle.kept))
        target = self._root / f"target {sum(self.killed.values()) + sum(self.ended.values())}"
        words = ("restore", "-r", self._first, "--backup", chosen, "--target", target)
        outcome = self._run("restore", "agent", *words)
        if outcome.killed:
            again = finish(self._complete("agent", *words))
            assert again.code == 0, again.out
        assert facts(target) == self.oracle.kept[chosen]
        self.oracle.require_listed()
        self._settle()

    def _check(self) -> None:
        self._run("check", "repo", "check", self._first, "--read-data")
        self.oracle.require_listed()
        self._settle()

    def _rotate(self) -> None:
        self._run("rotate", "repo", "key", "rotate", self._first, "--keep-file", self._root / "password", "--yes")
        self.oracle.require_listed()
        self._settle()

    def _copy(self) -> None:
        to = ("--to", self._second, "--to-password-file", self._root / "other")
        self._ever.update(self.oracle.kept)
        self._run("copy", "repo", "copy", self._first, *to)
        self.oracle.require_listed()
        listed = self._copies.listed()
        assert set(listed) <= self._ever.keys(), "a copy of a backup that nobody made"
        self._copies.kept = {each: self._ever[each] for each in listed}
        self._copies.require_whole()
        self._settle()

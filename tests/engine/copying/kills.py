"""Rounds of copies by the real program, killed at random instants (3.6, 3.10).

Owns what is copied and what must hold after each kill. Shared by the suite's rounds and by tests/long/copy_kills.py.
"""

import random
import shutil
from pathlib import Path

from repositories.engine.forgetting import LabelChange, change_labels
from repositories.engine.manifest.backups import Backup, list_backups
from repositories.engine.process.label_fields import label_fields, said_now
from repositories.engine.repository import CreateOptions, Repository, create_repository
from repositories.engine.storage.local import LocalStorage
from tests.engine.copying.builders import OTHER_PASSWORD
from tests.engine.faults.oracle import Oracle, change_tree
from tests.engine.faults.victims import Killer, finish
from tests.engine.repositories import CHEAP, PASSWORD, make_repository

BACKUPS = 3
_LARGE = 1_500_000


class CopyRounds:
    """An origin with a few backups; each round copies them into a new repository until it is done."""

    def __init__(self, root: Path, seed: int) -> None:
        self._root = root
        self._numbers = random.Random(seed)
        self._first, self._second = root / "first", root / "second"
        self._origin = make_repository(LocalStorage(str(self._first)))
        for name, password in (("password", PASSWORD), ("other", OTHER_PASSWORD)):
            (root / name).write_bytes(password + b"\n")
            (root / name).chmod(0o600)
        made = Oracle(self._origin.storage, root)
        tree = root / "tree"
        for _ in range(BACKUPS):
            change_tree(tree, self._numbers)
            (tree / f"large {self._numbers.randrange(2)}").write_bytes(self._numbers.randbytes(_LARGE))
            made.back_up(tree)
        self._wanted = made.kept
        for backup in list_backups(self._origin):
            change_labels(self._origin, backup, LabelChange(add=("kept",), note=backup.short_id))
        self._facts = _facts(self._origin)
        self._killer = Killer(self._numbers, (self._second,))
        self.killed = 0

    def play(self) -> int:
        """Copy into a new repository, kill and copy again until a copy comes to its end; return how many were killed.

        After each kill whatever is listed is an original's copy, whole and restored bit for bit.
        """
        related = self._numbers.random() < 0.5
        shutil.rmtree(self._second, ignore_errors=True)
        keyring = self._origin.keyring if related else None
        options = CreateOptions(password=OTHER_PASSWORD, kdf=CHEAP, reserve_bytes=1024, related_to=keyring)
        create_repository(LocalStorage(str(self._second)), options)
        copies = Oracle(LocalStorage(str(self._second)), self._root, OTHER_PASSWORD)
        killed = 0
        while killed < 2:
            outcome = self._killer.run("copy", self._words())
            self._require(copies)
            if not outcome.killed:
                assert outcome.code == 0, outcome.out
                break
            killed += 1
        else:
            ended = finish(self._words())
            assert ended.code == 0, ended.out
        self._require(copies)
        assert len(copies.kept) == BACKUPS, "a copy that came to its end left something out"
        assert _facts(copies.opened()) == self._facts
        self.killed += killed
        return killed

    def _words(self) -> list[str]:
        words = ("repo", "copy", self._first, "--to", self._second, "--password-file", self._root / "password")
        return [*map(str, words), "--to-password-file", str(self._root / "other")]

    def _require(self, copies: Oracle) -> None:
        listed = copies.listed()
        assert len(set(listed)) == len(listed), "a backup was copied twice"
        assert set(listed) <= self._wanted.keys(), "a copy of a backup that nobody made"
        assert listed == [each for each in self._wanted if each in listed], "not in the order of the originals"
        copies.kept = {each: self._wanted[each] for each in listed}
        copies.require_whole()


def _facts(repository: Repository) -> list[tuple[object, ...]]:
    """Return what a copy keeps of each backup, and what is said of it."""
    said = said_now(repository)

    def labels(backup: Backup) -> tuple[object, ...]:
        fields = label_fields(backup, said)
        return tuple(fields["tags"]), [each["text"] for each in fields["remarks"]]

    return [
        (each.id, each.received_ns, each.root.origin, each.root.source, each.root.statistics, labels(each))
        for each in list_backups(repository)
    ]

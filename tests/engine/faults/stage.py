"""The repositories that the matrix of faults plays on, made once: every case works on a medium of its own.

Owns the making. The first repository has three backups, the first of them deleted, so that a prune has packs to delete,
to repack and to keep; two passwords open it. Two others are empty: one is related to it, one is not.
"""

import random
from collections.abc import Callable
from pathlib import Path

from repositories.engine.format.kinds import COPIES
from repositories.engine.keychain import add_password
from repositories.engine.storage.memory import MemoryStorage
from tests.engine.backup.interruptions import SIZE
from tests.engine.copying.builders import target_for
from tests.engine.faults.oracle import Facts, Oracle, change_tree
from tests.engine.keychain.chains import OTHER, keychain
from tests.engine.repair.hurting import flip, packs
from tests.engine.repositories import make_repository
from tests.tree_facts import facts

_FILES, _MOST = 6, 12_000
Objects = dict[str, bytes]


class Stage:
    """What every case begins with. `tree` has changed since its last backup, `other` was never backed up.

    `ever` are the facts of the backups that are not deleted, the oldest first.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.tree, self.other = root / "tree", root / "other"
        storage = MemoryStorage()
        origin = make_repository(storage)
        add_password(keychain(storage), OTHER, "other")
        oracle = Oracle(storage, root)
        for turn in range(3):
            change_tree(self.tree, random.Random(turn), _FILES, _MOST)
            oracle.back_up(self.tree)
        oracle.forget(next(iter(oracle.kept)))
        self.ever: dict[str, Facts] = dict(oracle.kept)
        for tree in (self.tree, self.other):
            change_tree(tree, random.Random(9), _FILES, _MOST)
        for number in range(2):
            # Long enough for a checkpoint behind it.
            (self.tree / "below" / f"long {number}").write_bytes(random.Random(number).randbytes(SIZE))
        self.facts = facts(self.tree)
        self.objects: Objects = storage.objects
        self.targets: dict[bool, Objects] = {}
        for related in (True, False):
            target = MemoryStorage()
            target_for(origin, related=related, storage=target)
            self.targets[related] = target.objects
        self.hurt = {"copies and packs": self._hurt(_hurt_packs), "index": self._hurt(_hurt_index)}

    @property
    def oldest(self) -> str:
        """The backup that is deleted next."""
        return next(iter(self.ever))

    def _hurt(self, harm: Callable[[MemoryStorage], None]) -> Objects:
        storage = medium_of(self.objects)
        harm(storage)
        return storage.objects


def medium_of(objects: Objects) -> MemoryStorage:
    """Return a medium with these objects."""
    storage = MemoryStorage()
    storage.objects.update(objects)
    return storage


def _hurt_packs(storage: MemoryStorage) -> None:
    """Hurt packs, so that no chunk is lost, and one copy of everything small: damaged or gone."""
    for pack_class in (1, 2):
        flip(storage, packs(storage, pack_class)[0], -1)
    for number, name in enumerate(sorted(storage.objects)):
        if name.startswith(COPIES):
            victim = name if number % 2 else name.removeprefix(COPIES)
            if number % 3:
                flip(storage, victim, -1)
            else:
                del storage.objects[victim]


def _hurt_index(storage: MemoryStorage) -> None:
    for name in [name for name in storage.objects if "index/" in name]:
        flip(storage, name, -1)

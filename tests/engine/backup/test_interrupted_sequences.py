"""Trees that change at random between tries that end at random: what is committed restores identical (2.13, 2.15)."""

import os
import random
import shutil
import time
from pathlib import Path

import pytest

from repositories.engine.backup import Hooks
from repositories.engine.check import CheckRequest, check
from repositories.engine.errors import EngineError, LeaseLostError
from repositories.engine.manifest.backups import list_backups
from repositories.engine.repository import open_repository
from repositories.engine.storage.faults import Fault, FaultyStorage, KilledError
from repositories.engine.storage.memory import MemoryStorage
from tests.engine.backup.interruptions import CancelAfter, ended_by, often, require_restorable
from tests.engine.repositories import PASSWORD, make_repository
from tests.engine.trees import pattern

NAMES = ("a", "b", "m", "y", "z")


def somewhere(chance: random.Random, root: Path) -> Path:
    directories = [root, *(path for path in root.rglob("*") if path.is_dir() and not path.is_symlink())]
    return chance.choice(directories) / chance.choice(NAMES)


def change(chance: random.Random, root: Path) -> None:
    """Do one thing to the tree: make, replace, link, move or remove something."""
    path = somewhere(chance, root)
    if path.is_symlink() or path.is_file():
        change_file(chance, root, path)
    elif not path.exists():
        make(chance, root, path)
    elif chance.random() < 0.2:
        shutil.rmtree(path)


def change_file(chance: random.Random, root: Path, path: Path) -> None:
    """Do something to a file or a link."""
    act = chance.choice(("replace", "unlink", "move", "chmod", "patch"))
    if act in ("replace", "unlink"):
        path.unlink()
    elif act == "move":
        path.rename(path.with_name(chance.choice(NAMES) + "moved"))
    elif act == "chmod" and not path.is_symlink():
        path.chmod(chance.choice((0o600, 0o644, 0o4755)))
    elif act == "patch" and not path.is_symlink():
        with open(path, "r+b") as file:
            file.write(b"%d" % chance.randrange(1000))
    if act == "replace":
        make(chance, root, path)


def make(chance: random.Random, root: Path, path: Path) -> None:
    files = [each for each in sorted(root.rglob("*")) if each.is_file() and not each.is_symlink()]
    kind = chance.choice(("file", "file", "file", "directory", "link", "hard link"))
    if kind == "directory" and len(path.relative_to(root).parts) < 4:
        path.mkdir()
    elif kind == "link":
        path.symlink_to("somewhere")
    elif kind == "hard link" and files:
        os.link(chance.choice(files), path)
    else:
        path.write_bytes(pattern(chance.choice((0, 10, 70_000, 70_000, 300_000)), chance.randrange(10**6)))


def attempt(chance: random.Random, storage: MemoryStorage, root: Path) -> bool:
    """Back up and end it somehow; return whether it was committed."""
    end = chance.choice(("well", "cancel", "cancel", "kill", "kill", "tear", "refuse"))
    faults = {"kill": Fault.KILL, "tear": Fault.TEAR}
    inner = FaultyStorage(storage, faults[end], chance.randrange(1, 25)) if end in faults else storage
    hooks: dict[str, object] = {}
    if end == "cancel":
        hooks["cancelled"] = CancelAfter(chance.randrange(25))
    elif end == "refuse":
        hooks["confirm"] = ended_by(LeaseLostError("taken over"))
    before = len(list_backups(open_repository(storage, PASSWORD)))
    try:
        often(open_repository(inner, PASSWORD), root, **hooks)
    except (EngineError, KilledError):
        # A torn manifest has two copies; one that was killed behind the put is whole.
        return len(list_backups(open_repository(storage, PASSWORD))) > before
    return True


@pytest.mark.parametrize("seed", range(4))
def test_any_sequence_of_changes_and_ends_restores_identical(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    root = tmp_path / "root"
    root.mkdir()
    (root / "first").write_bytes(b"never empty")
    storage = MemoryStorage()
    make_repository(storage)
    for number in range(14):
        time.sleep(0.01)  # longer than a tick of the kernel's coarse clock
        for _ in range(chance.randrange(1, 8)):
            change(chance, root)
        if attempt(chance, storage, root):
            require_restorable(open_repository(storage, PASSWORD), root, tmp_path / f"out{number}")
    often(open_repository(storage, PASSWORD), root)
    repository = open_repository(storage, PASSWORD)
    require_restorable(repository, root, tmp_path / "out")
    assert check(repository, CheckRequest(read_data=True), Hooks()).hurt == []

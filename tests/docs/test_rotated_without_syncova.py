"""docs/restore_without_syncova.py opens repositories whose keys were rotated (3.5)."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from repositories.engine.format.commits import ManifestRecord
from repositories.engine.format.kinds import ObjectKind, generation_group, object_name
from repositories.engine.format.records import encode
from repositories.engine.ids import system_randomness
from repositories.engine.keychain import add_password, rotate
from repositories.engine.keys.slots import slot_to_bytes
from repositories.engine.opening import unlock
from repositories.engine.repository import open_repository
from repositories.engine.storage.local import LocalStorage
from tests.engine.keychain.chains import OTHER, keychain
from tests.engine.repositories import PASSWORD, back_up_tree, local_repository
from tests.engine.trees import assert_same, describe

PROGRAM = Path(__file__).parents[2] / "docs" / "restore_without_syncova.py"


def call(password: bytes, *words: str | Path) -> "subprocess.CompletedProcess[bytes]":
    return subprocess.run(
        [sys.executable, "-I", str(PROGRAM), *map(str, words)], input=password + b"\n", capture_output=True, check=False
    )


@pytest.fixture
def storage(tmp_path: Path) -> LocalStorage:
    """Return a repository with a backup from before two rotations, one from between and one from after them."""
    local_repository(tmp_path / "repo")
    storage = LocalStorage(str(tmp_path / "repo"))
    add_password(keychain(storage), OTHER, "leaked")
    tree = tmp_path / "tree"
    tree.mkdir()
    for number in range(3):
        (tree / f"file {number}").write_bytes(bytes([number]) * 300_000)
        back_up_tree(open_repository(storage, PASSWORD), tree)
        if number < 2:
            rotate(keychain(storage), [PASSWORD])
    return storage


def test_backups_of_all_epochs_come_back(storage: LocalStorage, tmp_path: Path) -> None:
    listed = call(PASSWORD, storage.path, "list")
    assert listed.returncode == 0, listed.stderr
    assert len(listed.stdout.splitlines()) == 3
    done = call(PASSWORD, storage.path, "restore", "latest", tmp_path / "restored")
    assert done.returncode == 0, done.stderr
    assert_same(describe(tmp_path / "tree"), describe(tmp_path / "restored"))


def test_an_ended_password_opens_nothing_and_forges_nothing(tmp_path: Path) -> None:
    local_repository(tmp_path / "repo")
    storage = LocalStorage(str(tmp_path / "repo"))
    add_password(keychain(storage), OTHER, "leaked")
    (tmp_path / "tree").mkdir()
    back_up_tree(open_repository(storage, PASSWORD), tmp_path / "tree")
    thief = unlock(storage, OTHER, system_randomness)
    rotate(keychain(storage), [PASSWORD])
    thief.store.put(ObjectKind.MANIFEST, encode(ManifestRecord(2**40, 0, 1, bytes(16), b"root")))
    thief.store.put(ObjectKind.INDEX, b"nonsense")
    thief.store.put(ObjectKind.SWEEP, b"nonsense")
    storage.put(object_name(ObjectKind.SLOT, thief.slot.facts.slot_id, generation_group(2)), slot_to_bytes(thief.slot))
    assert b"no key slot opens" in call(OTHER, storage.path, "list").stderr
    listed = call(PASSWORD, storage.path, "list")
    assert (listed.returncode, len(listed.stdout.splitlines()), listed.stderr) == (0, 1, listed.stderr)
    assert b"lost" not in listed.stderr
    assert b"directory of every pack" not in listed.stderr


def test_what_a_rotation_has_put_and_is_lost_is_named_with_the_step(storage: LocalStorage) -> None:
    """Nobody is told to bring old key slots back: they would let an ended password in."""
    root = Path(storage.path)
    for kind, told in (("inventories", b"both copies of inventories/"), ("keyrings/00000003", b"keyrings/00000003 is")):
        for place in (root / kind, root / "copies" / kind):
            shutil.rmtree(place)
        ended = call(PASSWORD, root, "list")
        assert ended.returncode == 1
        assert told in ended.stderr
        assert b"from a copy of the repository" in ended.stderr.replace(b"\n", b" ")


def test_what_cannot_be_begun_is_told_without_a_traceback(storage: LocalStorage, tmp_path: Path) -> None:
    taken = tmp_path / "taken"
    taken.mkdir()
    ended = call(PASSWORD, storage.path, "restore", "latest", taken)
    assert ended.returncode == 1
    assert b"taken" in ended.stderr
    assert b"does not exist yet" in ended.stderr
    ended = call(PASSWORD, "--password-file", tmp_path / "none", storage.path, "list")
    assert (ended.returncode, ended.stderr.count(b"\n")) == (1, 1)
    assert b"none cannot be read: No such file" in ended.stderr
    assert call(b"wrong", storage.path, "list").returncode == 12

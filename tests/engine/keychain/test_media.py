"""Keys are changed on real media that are full or read-only: something opens, and the reason is told (3.5, 3.12)."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from repositories.engine.errors import StorageFullError, StorageReadOnlyError
from repositories.engine.keychain import (
    Keychain,
    add_password,
    add_recovery_code,
    change_password,
    remove_key,
    rotate,
)
from repositories.engine.repository import CreateOptions, create_repository, open_repository
from repositories.engine.storage.local import LocalStorage
from tests import canaries
from tests.engine.contents import commit, require_readable
from tests.engine.fakes import CHEAP
from tests.engine.keychain.chains import OTHER, keychain, opens
from tests.engine.mounts import LIBC, with_mounts
from tests.engine.prune.test_full_medium import fill, mount_small
from tests.engine.repositories import PASSWORD

NEW = canaries.repository_password("new").encode()
_REMOUNT, _READ_ONLY = 0x20, 0x1
CHANGES: dict[str, Callable[[Keychain], object]] = {
    "add": lambda keys: add_password(keys, NEW, "new"),
    "change": lambda keys: change_password(keys, NEW),
    "remove": lambda keys: remove_key(keys, "second"),
    "code": add_recovery_code,
    "rotate": lambda keys: rotate(keys, [PASSWORD]),
}


def on_medium(root: Path) -> LocalStorage:
    """Return a repository with a backup and two passwords on a medium of its own."""
    medium = root / "medium"
    medium.mkdir()
    mount_small(medium, 8 << 20)
    storage = LocalStorage(str(medium / "repository"))
    commit(create_repository(storage, CreateOptions(PASSWORD, kdf=CHEAP, reserve_bytes=10)).repository, 1)
    add_password(keychain(storage), OTHER, "second")
    return storage


def on_a_full_medium(root: Path, act: Callable[[Keychain], object]) -> int:
    """Change keys with more and more room, until there is enough; return how often there was not."""
    storage = on_medium(root)
    refused = 0
    for room in range(60):
        fill(root / "medium")
        os.truncate(root / "medium" / "filler", (root / "medium" / "filler").stat().st_size - room * 4096)
        try:
            act(keychain(storage))
        except StorageFullError as error:
            refused += 1
            assert opens(storage, PASSWORD)
            # A rotation that is decided is finished by whoever opens next, and says so.
            if "decided" in error.message:
                break
            assert opens(storage, OTHER)
            continue
        break
    os.unlink(root / "medium" / "filler")
    secret = PASSWORD if opens(storage, PASSWORD) else NEW
    assert len(require_readable(open_repository(storage, secret))) == 1
    add_password(keychain(storage, secret), b"the next", "next")
    return refused


@pytest.mark.parametrize("change", list(CHANGES))
def test_a_full_medium(tmp_path: Path, change: str) -> None:
    refused = with_mounts(lambda: on_a_full_medium(tmp_path, CHANGES[change]))
    assert 1 <= refused < 59


def on_a_read_only_medium(root: Path) -> None:
    storage = on_medium(root)
    medium = os.fsencode(root / "medium")
    assert LIBC.mount(b"none", medium, b"tmpfs", _REMOUNT | _READ_ONLY, None) == 0
    for act in CHANGES.values():
        with pytest.raises(StorageReadOnlyError):
            act(keychain(storage))
    assert [opens(storage, secret) for secret in (PASSWORD, OTHER, NEW)] == [True, True, False]
    assert LIBC.mount(b"none", medium, b"tmpfs", _REMOUNT, None) == 0
    change_password(keychain(storage), NEW)
    assert [opens(storage, secret) for secret in (PASSWORD, OTHER, NEW)] == [False, True, True]


def test_a_read_only_medium(tmp_path: Path) -> None:
    with_mounts(lambda: on_a_read_only_medium(tmp_path))

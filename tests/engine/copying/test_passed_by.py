"""A copy that a rotation of its target's keys passes by takes back what it had put, as a backup does (3.2, 3.6)."""

import io
from pathlib import Path

import pytest

from repositories.engine.errors import CommitRefusedError
from repositories.engine.keychain import rotate
from repositories.engine.process.channel import Channel
from repositories.engine.process.copy_operation import copy_repository
from repositories.engine.process.requests import CopyOrder, RepositoryAccess, Request
from repositories.engine.repository import CreateOptions, create_repository
from repositories.engine.storage.local import LocalStorage
from tests.engine.copying.builders import OTHER_PASSWORD
from tests.engine.keychain.chains import keychain
from tests.engine.repositories import CHEAP, PASSWORD, back_up_tree, make_repository
from tests.engine.trees import pattern


class RotatingChannel(Channel):
    """Rotates the target's keys when the copy has stored something of its last backup."""

    def __init__(self, target: LocalStorage) -> None:
        super().__init__(io.BytesIO(), io.BytesIO())
        self._target = target
        self.before: set[str] = set()

    def cancelled(self) -> bool:
        if not self.before and names(self._target, "packs/"):
            rotate(keychain(self._target, OTHER_PASSWORD), [OTHER_PASSWORD])
            self.before = names(self._target, "index/")
        return False


def names(storage: LocalStorage, prefix: str) -> set[str]:
    return {stored.name for stored in storage.list(prefix)}


@pytest.mark.parametrize("related", [True, False])
def test_a_copy_that_is_refused_takes_back_its_segments(
    tmp_path: Path, related: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was listed in time counts, and stays; the copy that comes next has all it needs."""
    monkeypatch.setattr("repositories.engine.copying.origin._SECONDS_BETWEEN", 0.0)
    origin, target = (LocalStorage(str(tmp_path / name)) for name in ("origin", "target"))
    source = make_repository(origin)
    tree = tmp_path / "tree"
    tree.mkdir()
    for number in range(3):
        (tree / f"file{number}").write_bytes(pattern(400_000, number))
        back_up_tree(source, tree)
    keyring = source.keyring if related else None
    create_repository(target, CreateOptions(OTHER_PASSWORD, kdf=CHEAP, reserve_bytes=10, related_to=keyring))
    channel = RotatingChannel(target)
    request = asked(tmp_path)
    with pytest.raises(CommitRefusedError, match="rotated meanwhile"):
        copy_repository(request, channel)
    assert channel.before
    assert names(target, "index/") == channel.before
    done = copy_repository(request, Channel(io.BytesIO(), io.BytesIO()))
    assert (done["exit_code"], len(done["copied"]) + done["there"]) == (0, 3)


def asked(directory: Path) -> Request:
    """Return the request for a copy, each backup of which is made findable as soon as it is stored."""
    to = RepositoryAccess(location=str(directory / "target"), password=OTHER_PASSWORD.decode())
    of = RepositoryAccess(location=str(directory / "origin"), password=PASSWORD.decode())
    return Request(operation="copy", repository=of, copy=CopyOrder(to=to), checkpoint_seconds=0.001)

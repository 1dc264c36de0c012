"""The programs with a repository of their own, and what the tests of their keys share."""

import dataclasses
from pathlib import Path

import pytest

from repositories.engine import keychain
from repositories.engine.keychain import Keychain
from repositories.engine.storage.base import Storage
from tests.cli.keys import NEW
from tests.cli.programs import Programs, make_programs
from tests.engine.fakes import CHEAP
from tests.engine.storage.conftest import server_of as server_of


@pytest.fixture
def programs(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> Programs:
    return make_programs(tmp_path, capfd)


@pytest.fixture
def cheap_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make new slots with cheap costs."""
    opening = keychain.open_keychain

    def open_cheaply(medium: Storage, secret: bytes, *, without_inventory: bool = False) -> Keychain:
        keys = opening(medium, secret, without_inventory=without_inventory)
        return dataclasses.replace(keys, kdf=CHEAP)

    monkeypatch.setattr(keychain, "open_keychain", open_cheaply)


@pytest.fixture
def new_file(programs: Programs) -> Path:
    path = programs.directory / "new"
    path.write_text(NEW + "\n")
    path.chmod(0o600)
    return path

"""docs/keys.md, typed as it stands there (3.5)."""

from pathlib import Path

import pytest

from repositories.engine.storage.local import LocalStorage
from tests.docs.homes import blocks, home_with_repository, typed
from tests.engine.keychain.chains import opens
from tests.engine.repositories import PASSWORD


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return home_with_repository(tmp_path, {"laptop-password": "laptop", "new-password": "new"}, {})


def test_every_command_of_the_page(home: Path) -> None:
    storage = LocalStorage(str(home / "syncova-backups"))
    listing, change, recovery, rotation = blocks("docs/keys.md")
    # What the options name wins over the variable.
    assert "recovery code" in typed(home, listing)
    assert [line.split()[0] for line in typed(home, change).splitlines()] == ["added", "changed", "removed"]
    assert [opens(storage, secret) for secret in (PASSWORD, b"laptop", b"new")] == [False, False, True]
    code = typed(home, recovery).removeprefix("recovery code: ").strip().encode()
    assert opens(storage, code)
    assert "ended: recovery code" in typed(home, rotation)
    assert [opens(storage, secret) for secret in (b"new", code)] == [True, False]

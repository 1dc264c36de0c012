"""docs/keys.md, typed as it stands there (3.5)."""

from pathlib import Path

import pytest

from repositories.engine.storage.local import LocalStorage
from tests.docs.test_readme import SHIM, blocks, type_in
from tests.engine.keychain.chains import opens
from tests.engine.repositories import PASSWORD, local_repository


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    home.mkdir()
    (home / "syncova").write_text(SHIM)
    (home / "syncova").chmod(0o755)
    for name, password in (("password", PASSWORD.decode()), ("laptop-password", "laptop"), ("new-password", "new")):
        (home / name).write_text(password + "\n")
        (home / name).chmod(0o600)
    local_repository(home / "syncova-backups")
    return home


def test_every_command_of_the_page(home: Path) -> None:
    storage = LocalStorage(str(home / "syncova-backups"))
    listing, change, recovery, rotation = blocks("docs/keys.md")

    def typed(commands: str) -> str:
        # What the options name wins over the variable.
        done = type_in(home, f"export SYNCOVA_REPOSITORY_PASSWORD_FILE=~/password\n{commands}")
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert "recovery code" in typed(listing)
    assert [line.split()[0] for line in typed(change).splitlines()] == ["added", "changed", "removed"]
    assert [opens(storage, secret) for secret in (PASSWORD, b"laptop", b"new")] == [False, False, True]
    code = typed(recovery).removeprefix("recovery code: ").strip().encode()
    assert opens(storage, code)
    assert "ended: recovery code" in typed(rotation)
    assert [opens(storage, secret) for secret in (b"new", code)] == [True, False]

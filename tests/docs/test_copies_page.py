"""docs/copies.md, typed as it stands there: a second repository is made, filled, looked at and restored from."""

from pathlib import Path

import pytest

from tests.docs.homes import blocks, home_with_repository, typed
from tests.engine.trees import assert_same, describe


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return home_with_repository(tmp_path, {"second-password": "battery staple"}, {"Documents/letters/one": "one"})


def test_every_command_of_the_page(home: Path) -> None:
    create, copy, back, stats, locks = blocks("docs/copies.md")
    password = "--password-file ~/password"
    typed(home, f"./syncova agent backup --repository ~/syncova-backups --path ~/Documents {password}")
    assert "recovery code: " in typed(home, create)
    told = typed(home, copy)
    assert "1 backup would be copied, 0 there already" in told
    assert "1 backup copied, 0 there already" in told
    assert "no problems found in 1 backup" in typed(home, back)
    assert_same(describe(home / "Documents"), describe(home / "restored"))
    figures = typed(home, stats)
    assert "used by no backup" in figures
    assert "forgetting 1 backup frees about" in figures
    assert "nobody works on this repository\n" in typed(home, locks)

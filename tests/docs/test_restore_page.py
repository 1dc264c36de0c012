"""docs/restore.md, typed as it stands there: a home directory is backed up, damaged, and restored in each way."""

from pathlib import Path

import pytest

from tests.docs.test_readme import SHIM, blocks, type_in
from tests.engine.repositories import local_repository
from tests.engine.trees import assert_same, describe


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    (home / "Documents" / "letters").mkdir(parents=True)
    (home / "Documents" / "letters" / "one").write_text("one")
    (home / "Documents" / "link").symlink_to("letters")
    (home / "syncova").write_text(SHIM)
    (home / "syncova").chmod(0o755)
    (home / "password").write_text("correct horse\n")
    (home / "password").chmod(0o600)
    local_repository(home / "syncova-backups")
    return home


def typed(home: Path, commands: str) -> str:
    done = type_in(home, f"export SYNCOVA_REPOSITORY_PASSWORD_FILE=~/password\n{commands}")
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_command_of_the_page(home: Path) -> None:
    find, restore, plan, in_place, delete = blocks("docs/restore.md")
    documents = home / "Documents"
    typed(home, "./syncova agent backup --repository ~/syncova-backups --path ~/Documents")
    before = describe(documents)
    assert "letters\nlink\n" in typed(home, find)
    assert "would restore" in typed(home, plan)
    assert not (home / "restored").exists()
    assert "restored 1 file, 1 link" in typed(home, restore)
    assert_same(before, describe(home / "restored"))
    (documents / "letters" / "one").write_text("changed")
    (documents / "new").mkdir()
    (documents / "link").unlink()
    (documents / "link").mkdir()
    (documents / "link" / "full").write_text("of something")
    kept = type_in(home, f"export SYNCOVA_REPOSITORY_PASSWORD_FILE=~/password\n{in_place}")
    assert kept.returncode == 3
    assert "kept as it is, differs from the backup (see --overwrite): link" in kept.stdout
    assert (documents / "letters" / "one").read_text() == "one"
    told = typed(home, delete)
    assert told.count("to delete: new\n") == 2
    assert_same(before, describe(documents))

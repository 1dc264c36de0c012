"""docs/restore.md, typed as it stands there: a home directory is backed up, damaged, and restored in each way."""

from pathlib import Path

import pytest

from tests.docs.homes import blocks, home_with_repository, type_in, typed
from tests.engine.trees import assert_same, describe


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = home_with_repository(tmp_path, {}, {"Documents/letters/one": "one"})
    (home / "Documents" / "link").symlink_to("letters")
    return home


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

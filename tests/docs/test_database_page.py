"""The page about the database: its commands for dumps, typed as they stand there, on the servers that `up` runs."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from syncova_project.schema.versions import STEPS
from tests import private_servers
from tests.docs.homes import CLONE, blocks, data_of, put_command, type_in


@pytest.fixture
def home(session_directory: Path) -> Iterator[Path]:
    """Return a directory that looks like the clone to its user."""
    private_servers.skip_without_a_lasting_place(session_directory)
    home = session_directory / "home"
    home.mkdir()
    (home / ".venv").symlink_to(sys.prefix)
    put_command(home)
    yield home
    type_in(home, "./syncova down")
    subprocess.run(["rm", "-rf", str(home), str(data_of(home))], check=True)


def test_a_new_version_is_started_as_the_page_says(home: Path) -> None:
    """All of it goes on afterwards, and the worker that was drained takes runs again."""
    (update,) = (block for block in blocks("docs/database.md") if "git pull" in block)
    done = type_in(
        home, f"./syncova up --detach\n{update.replace('git pull', ':')}./syncova manage drain --list\n./syncova status"
    )
    assert done.returncode == 0, done.stdout + done.stderr
    told = done.stdout.splitlines()
    assert sum("running" in line for line in told) >= 6, done.stdout
    assert "draining" not in "\n".join(told[-12:]), done.stdout


def test_the_version_of_the_page_is_that_of_its_step() -> None:
    page = (CLONE / "docs" / "database.md").read_text(encoding="utf-8")
    found = re.search(r"schema version (\d+) of (\d+), INTERRUPTED at (\S+) ", page)
    assert found is not None
    before, version, step = int(found[1]), int(found[2]), found[3]
    assert (STEPS[before], version) == (step, before + 1)
    assert f"manage migrate force {version}\n" in page


def test_a_dump_is_made_and_restored_as_the_page_says(home: Path) -> None:
    """What was there after the dump is gone, the sealed rest works on, and the database before is kept."""
    make, restore = (block for block in blocks("docs/database.md") if "pg_dump" in block or "pg_restore" in block)
    names = "./syncova ctl window list"
    window = "./syncova ctl window create {} --blackout --days mon --at 08:00 --for 1h"
    made = type_in(home, f"./syncova up --detach\n{window.format('before')}\n{make}\n{window.format('after')}\n{names}")
    assert (made.returncode, "before" in made.stdout, "after" in made.stdout) == (0, True, True), made.stderr
    assert (home / "syncova.dump").stat().st_mode & 0o077 == 0
    first_lines = "\n".join(make.splitlines()[:3])
    done = type_in(home, f"{first_lines}\n{restore}\necho -- restored\n{names}\n./syncova manage check_metadata")
    assert done.returncode == 0, done.stdout + done.stderr
    told = done.stdout.partition("-- restored")[2]
    assert ("before" in told, "after" in told) == (True, False)
    kept = type_in(home, f"{first_lines}\npsql -d postgres -Atc 'SELECT datname FROM pg_database'")
    assert {"syncova", "syncova_before"} < set(kept.stdout.split())

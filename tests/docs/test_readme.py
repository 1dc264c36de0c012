"""The README's six commands and the quickstart, typed as they stand there (1.15, A17)."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import private_servers
from tests.docs.homes import CLONE, blocks, data_of, put_command, type_in

PASSWORD = "(umask 077; head -c 24 /dev/urandom | base64 > ~/syncova-password)"


@pytest.fixture
def home(session_directory: Path) -> Iterator[Path]:
    """Return a home directory with documents, as a new user has it."""
    private_servers.skip_without_a_lasting_place(session_directory)
    home = session_directory / "home"
    (home / "Documents" / "letters").mkdir(parents=True)
    (home / "Documents" / "letters" / "grüße.txt").write_text("Liebe Grüße\n")
    (home / "Documents" / "link").symlink_to("letters")
    put_command(home)
    yield home
    type_in(home, "./syncova down")
    subprocess.run(["rm", "-rf", str(home), str(data_of(home))], check=True)


def same(home: Path) -> bool:
    """Tell whether the restored tree is what was backed up."""
    return subprocess.run(["diff", "-r", home / "Documents", home / "restored"], check=False).returncode == 0


def test_the_six_commands_of_the_readme(home: Path) -> None:
    commands = next(block for block in blocks("README.md") if "job create" in block)
    assert PASSWORD in (CLONE / "README.md").read_text(encoding="utf-8")
    assert sum(line.startswith("./syncova ") for line in commands.splitlines()) == 6
    done = type_in(home, f"{PASSWORD}\n{commands}")
    assert done.returncode == 0, done.stdout + done.stderr
    assert same(home)
    (shown,) = (block for block in blocks("README.md") if "$ ./syncova ctl job run" in block)
    told = [line for line in shown.splitlines() if line and not line.startswith("$ ")]
    assert [label_of(line) for line in done.stdout.splitlines()][-len(told) :] == [label_of(line) for line in told]


def label_of(line: str) -> str:
    """Return what a line of a command's answer begins with: its label, or its first word where it is a sentence."""
    label, gap, _ = line.partition("  ")
    return label if gap else line.partition(" ")[0]


def test_the_quickstart(home: Path) -> None:
    commands = "".join(blocks("docs/quickstart.md"))
    done = type_in(home, commands)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "no problems found" in done.stdout
    assert same(home)

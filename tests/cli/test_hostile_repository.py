"""What a hostile writer put into a backup's own texts is shown as harmlessly as its names (1.22)."""

from pathlib import Path

import pytest

from repositories.engine.repository import open_repository
from repositories.engine.storage.local import LocalStorage
from tests.cli.programs import Ended, Programs
from tests.engine.repositories import PASSWORD, back_up_tree

EVIL = "\x1b[31m\u202e[bold]evil\n\r\x07\udcff"[:-1]


@pytest.fixture
def evil(programs: Programs, tmp_path: Path) -> Programs:
    """A repository with a backup whose every text attacks."""
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "file").write_text("x")
    repository = open_repository(LocalStorage(str(programs.repository)), PASSWORD)
    back_up_tree(
        repository,
        tmp_path / "tree",
        name=EVIL,
        backup_id=f"run-{EVIL}",
        run_id=EVIL,
        host=EVIL,
        trigger=EVIL,
        tags=(EVIL,),
        scheduled_for_ns=10**24 % 2**63,
        excludes=("*.tmp",),
    )
    return programs


@pytest.mark.parametrize(
    "words",
    [
        ("list",),
        ("show", "latest"),
        ("ls", "latest", "--long"),
        ("find", "*"),
        ("diff", "latest", "latest"),
        ("dump", "latest", "--output", "/dev/null"),
        ("info",),
        ("check",),
        ("check", "--read-data"),
    ],
)
@pytest.mark.parametrize("form", [(), ("--json",)])
def test_hostile_texts_are_shown_harmlessly(evil: Programs, words: tuple[str, ...], form: tuple[str, ...]) -> None:
    verb, *rest = words
    ended = evil.repo(verb, "-r", str(evil.repository), *rest, *form)
    assert ended.code == 0, ended.err
    ended.assert_harmless()
    told = ended.out
    assert "evil" in told or verb in ("info", "check", "ls", "diff", "dump")


@pytest.mark.parametrize("form", [(), ("--json",)])
def test_restore_and_the_next_backup(evil: Programs, tmp_path: Path, form: tuple[str, ...]) -> None:
    def harmless(ended: Ended) -> None:
        assert ended.code == 0, ended.err
        ended.assert_harmless()

    repository = str(evil.repository)
    harmless(evil.agent("restore", "-r", repository, "--backup", "latest", "--target", tmp_path / "out", *form))
    harmless(evil.back_up(tmp_path / "tree", words=form))
    refused = evil.back_up(tmp_path / "tree", words=("--parent", "evil", *form))
    assert refused.code != 0
    refused.assert_harmless()
    missing = evil.repo("show", "-r", repository, "e" * 9 + EVIL, *form)
    missing.assert_harmless()

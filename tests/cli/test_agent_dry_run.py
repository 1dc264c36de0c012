"""syncova-agent backup --dry-run: what it tells, with the exit codes of a backup, and that it leaves no trace."""

import os
import time
from pathlib import Path

import pytest

from repositories.console import exits
from tests.cli.programs import Programs


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    path = tmp_path / "tree"
    (path / "below").mkdir(parents=True)
    (path / "below" / "file").write_text("content")
    (path / "scratch.tmp").write_text("scratch")
    return path


def objects(programs: Programs) -> dict[str, int]:
    return {
        str(path): path.stat().st_mtime_ns
        for path in programs.repository.rglob("*")
    }  # fmt: skip


def test_it_counts_and_leaves_no_trace(programs: Programs, tree: Path) -> None:
    programs.back_up(tree)
    (tree / "below" / "new").write_text("12345")
    before = objects(programs)
    rules = ("--exclude", "*.TMP", "--exclude-ignore-case")
    ended = programs.back_up(tree, words=(*rules, "--dry-run", "--json"))
    assert ended.code == exits.DONE
    assert ended.json["dry_run"] is True
    (source,) = ended.json["sources"]
    assert (source["state"], source["backup"], source["error"]) == ("succeeded", None, None)
    forecast = source["forecast"]
    assert forecast["rules"] == [{"number": 1, "rule": "*.TMP", "count": 1}]
    assert (forecast["new_files"], forecast["gone"], forecast["note_counts"]) == (1, 1, {"excluded": 1})
    words = programs.back_up(tree, words=(*rules, "-n"))
    # Written just before it was read: a young file is read again.
    assert "1 new file, 1 changed, 0 unchanged" in words.out
    assert "left out by rule 1, *.TMP: 1" in words.out
    assert "nothing was written" in words.err
    assert objects(programs) == before
    assert len(programs.repo("list", programs.repository, "--json").json["backups"]) == 1


def test_its_exit_codes_are_those_of_a_backup(programs: Programs, tree: Path, tmp_path: Path) -> None:
    """A missing root alone is the failure, beside another source a part; nothing that a backup refuses is fine."""
    for words in ((), ("--dry-run",)):
        missing = programs.back_up(tmp_path / "missing", words=(*words, "--json"))
        assert (missing.code, missing.json["error"]["code"]) == (exits.FAILED, "SOURCE_MISSING")
        assert programs.back_up(tree, tmp_path / "missing", words=words).code == exits.SKIPPED
    for path in sorted(tree.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    for words in ((), ("--dry-run",)):
        emptied = programs.back_up(tree, words=(*words, "--json"))
        assert (emptied.code, emptied.json["error"]["code"]) == (exits.FAILED, "SOURCE_EMPTY")


def test_a_command_is_not_run(programs: Programs, tmp_path: Path) -> None:
    """Its output cannot be foretold without running it; so it is refused, and nothing is run."""
    ran = tmp_path / "ran"
    words = ("-r", programs.repository, "--stdin", "x", "--dry-run", "--password-file", programs.password_file)
    ended = programs.agent("backup", *words, "--", "touch", ran, secret=False)
    assert (ended.code, ran.exists()) == (exits.USAGE, False)
    assert "has no dry run" in ended.err


def test_a_part_of_what_seems_unchanged_is_read_again(programs: Programs, tree: Path) -> None:
    """engine.md, 3: re-read n % per run, of 0 to 100."""
    programs.back_up(tree)
    for path in tree.rglob("*"):
        os.utime(path, ns=(10**18, 10**18)) if path.is_file() else None
    programs.back_up(tree)
    time.sleep(2.1)  # what is younger than 2 s is read again anyway
    assert programs.back_up(tree, words=("--json",)).json["sources"][0]["backup"]["bytes_read"] == 14
    assert programs.back_up(tree, words=("--json",)).json["sources"][0]["backup"]["bytes_read"] == 0
    foretold = programs.back_up(tree, words=("--json", "--reread", "100", "--dry-run")).json["sources"][0]["forecast"]
    assert (foretold["reread_files"], foretold["unchanged_files"], foretold["bytes_to_read"]) == (2, 2, 14)
    again = programs.back_up(tree, words=("--json", "--reread", "100"))
    assert again.json["sources"][0]["backup"]["bytes_read"] == 14
    assert programs.back_up(tree, words=("--reread", "101")).code == exits.USAGE


def test_a_rule_with_the_path_of_the_source_is_warned_of(programs: Programs, tree: Path) -> None:
    """It would leave nothing out, and nobody would notice (anchored rules begin at the source's root)."""
    ended = programs.back_up(tree, words=("--exclude", f"{tree}/below", "--dry-run"))
    assert f"the exclude rule {tree}/below (--exclude) finds nothing in {tree}" in ended.err
    assert "write /below" in ended.err
    assert "1 rule left nothing out" in ended.out
    assert "finds nothing" not in programs.back_up(tree, words=("--exclude", "/below", "--dry-run")).err


def test_hostile_names_and_rules(programs: Programs, tree: Path) -> None:
    (tree / os.fsdecode(b"\x1b[31m\xff.tmp")).write_text("x")
    for words in ((), ("--json",)):
        ended = programs.back_up(tree, words=("--exclude", "\x1b[[]31m*", "--dry-run", *words))
        assert ended.code == exits.DONE
        ended.assert_harmless()

"""syncova-agent backup --dry-run: what it tells, with the exit codes of a backup, and that it leaves no trace."""

import os
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


def test_hostile_names_and_rules(programs: Programs, tree: Path) -> None:
    (tree / os.fsdecode(b"\x1b[31m\xff.tmp")).write_text("x")
    for words in ((), ("--json",)):
        ended = programs.back_up(tree, words=("--exclude", "\x1b[[]31m*", "--dry-run", *words))
        assert ended.code == exits.DONE
        ended.assert_harmless()

"""syncova-agent explain: which rule decides, and why."""

import os
from pathlib import Path

import pytest

from repositories.console import exits
from tests.cli.programs import Programs
from tests.engine.trees import make_socket


def test_the_last_matching_rule_decides_and_is_named(programs: Programs, tmp_path: Path) -> None:
    (tmp_path / "rules").write_text("*.tmp\ncache/\n")
    rules = ("--exclude-file", tmp_path / "rules", "--exclude", "!keep.tmp")

    def explain(path: str) -> dict[str, object]:
        ended = programs.agent("explain", "--path", path, *rules, "--json", tmp_path, secret=False)
        assert ended.code == exits.DONE
        document: dict[str, object] = ended.json
        return document

    out = explain("a/x.tmp")
    assert (out["excluded"], out["rule"], out["rule_number"]) == (True, "*.tmp", 1)
    kept = explain("a/keep.tmp")
    assert (kept["excluded"], kept["rule"]) == (False, "!keep.tmp")
    below = explain("cache/deep/file")
    assert (below["excluded"], below["decided_at"]) == (True, {"path": "cache"})
    free = explain(str(tmp_path / "other"))
    assert (free["excluded"], free["rule"]) == (False, None)


def test_it_says_so_in_words(programs: Programs, tmp_path: Path) -> None:
    ended = programs.agent("explain", "--path", "x.tmp", "--exclude", "*.tmp", tmp_path, secret=False)
    assert ended.out == "x.tmp is left out: rule 1, *.tmp, matches x.tmp\n"


def test_what_is_not_there_and_what_no_backup_keeps(programs: Programs, tmp_path: Path) -> None:
    make_socket(tmp_path / "s")

    def explain(path: str, *words: str) -> str:
        return programs.agent("explain", "--path", path, *words, tmp_path, secret=False).out

    (tmp_path / "file").write_text("content")
    assert explain("file") == "file is backed up: no rule matches it\n"
    assert explain("s") == "s is left out: a socket holds nothing that a backup could keep\n"
    assert explain("missing") == "missing does not exist; it would be backed up: no rule matches it\n"
    ended = programs.agent("explain", "--path", "s", "--json", tmp_path, secret=False)
    assert (ended.json["excluded"], ended.json["exists"]) == (True, True)
    missing = programs.agent("explain", "--path", "missing", "--json", tmp_path, secret=False)
    assert (missing.json["excluded"], missing.json["exists"]) == (False, False)


def test_every_other_reason_is_told(programs: Programs, tmp_path: Path) -> None:
    """2.8: caches, other file systems, the repository; and where a rule of a file stands."""
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "CACHEDIR.TAG").write_text("Signature: 8a477f597d28d172789f06886806bc55\n")
    rules = tmp_path / "rules"
    rules.write_text("# first\n*.TMP\n")

    def explain(path: str, *words: str | Path) -> tuple[str, dict[str, object]]:
        call = ("--path", path, *words, tmp_path)
        document: dict[str, object] = programs.agent("explain", *call, "--json", secret=False).json
        return programs.agent("explain", *call, secret=False).out.rstrip("\n"), document

    line, fields = explain("cache/x", "--exclude-caches")
    assert line == "cache/x is left out: cache is tagged as a cache by its CACHEDIR.TAG"
    assert (fields["state"], fields["reason"], fields["decided_at"]) == ("out", "cache_directory", {"path": "cache"})
    line, fields = explain("cache", "--exclude-caches")
    assert line.startswith("cache is backed up, but not what lies in it: cache is tagged")
    assert (fields["state"], fields["contents"]) == ("in", "cache_directory")
    line, fields = explain("x.tmp", "--exclude-file", rules, "--exclude-ignore-case")
    assert line == f"x.tmp is left out: rule 1, *.TMP ({rules} line 2), matches x.tmp"
    assert fields["rule_origin"] == {"file": str(rules), "line": 2}
    line, fields = explain("repo/packs", "-r", programs.repository)
    assert line == "repo/packs is left out: repo is the repository or Syncova's own data"
    assert (fields["state"], fields["reason"]) == ("out", "own_data")
    assert explain("repo")[1]["state"] == "in"


def test_a_path_outside_is_named_as_it_was_typed(programs: Programs) -> None:
    ended = programs.agent("explain", "--path", "/etc/passwd", "/srv", secret=False)
    assert ended.err.splitlines()[0] == "error: /etc/passwd lies outside the source /srv"


@pytest.mark.parametrize("path", ["\x1b[31m.tmp", "a\nb.tmp", "\u202e.tmp", os.fsdecode(b"\xff.tmp"), "a[/b].tmp"])
def test_hostile_paths_and_rules(programs: Programs, tmp_path: Path, path: str) -> None:
    for words in ((), ("--json",)):
        ended = programs.agent("explain", "--path", path, "--exclude", "*.tmp", *words, tmp_path, secret=False)
        assert ended.code == exits.DONE
        ended.assert_harmless()
        programs.agent(
            "explain", "--path", f"/{path}", "--exclude", "*", *words, tmp_path, secret=False
        ).assert_harmless()


def test_a_path_and_one_root_are_needed(programs: Programs, tmp_path: Path) -> None:
    assert programs.agent("explain", tmp_path, secret=False).code == exits.USAGE
    assert programs.agent("explain", "--path", "x", secret=False).code == exits.USAGE
    assert programs.agent("explain", "--path", "x", tmp_path, tmp_path, secret=False).code == exits.USAGE

"""The exclude dialect (gitignore's), and the answer to why."""

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from repositories.engine.errors import ConfigurationError
from repositories.engine.source.excludes import ExcludeRules, Explanation
from repositories.engine.source.explanation import explain as explain_by_walk
from repositories.engine.source.filesystems import FileSystems
from repositories.engine.source.walker import WalkRules


def explain(root: bytes, path: bytes, rules: Sequence[str]) -> Explanation:
    return explain_by_walk(root, path, WalkRules(ExcludeRules(rules), False, frozenset(), FileSystems())).rule


@pytest.mark.parametrize(
    ("rules", "path", "directory", "excluded"),
    [
        (["*.tmp"], b"a.tmp", False, True),
        (["*.tmp"], b"deep/in/a.tmp", False, True),
        (["/a"], b"a", False, True),
        (["/a"], b"b/a", False, False),
        (["a/"], b"a", False, False),
        (["a/"], b"a", True, True),
        (["a/b"], b"a/b", False, True),
        (["a/b"], b"x/a/b", False, False),
        (["**/b"], b"x/a/b", False, True),
        (["a/**/b"], b"a/x/y/b", False, True),
        (["a/**"], b"a", True, False),
        (["a/**"], b"a/x", False, True),
        (["*.tmp", "!keep.tmp"], b"keep.tmp", False, False),
        (["!keep.tmp", "*.tmp"], b"keep.tmp", False, True),
        (["[ab]?"], b"ax", False, True),
        (["[!ab]?"], b"ax", False, False),
        (["# comment", "", "  "], b"# comment", False, False),
        (["\\#file"], b"#file", False, True),
        (["x"], b"X", False, False),
        (["*.tmp"], b"line\nbreak.tmp", False, True),
        (["*.tmp"], b"a.tmp\n", False, False),
        (["*.tmp"], b"dir\nname/a.tmp", False, True),
        (["*"], b"\xff\xfe", False, True),
    ],
)
def test_rules(rules: list[str], path: bytes, directory: bool, excluded: bool) -> None:
    assert ExcludeRules(rules).excludes(path, is_directory=directory) is excluded


def test_a_rule_that_matched_above_does_not_match_below() -> None:
    """As git has it: what a later rule takes back in is a directory; its content is asked for by itself."""
    rules = ExcludeRules(["x/**", "!x/y/"])
    assert not rules.excludes(b"x/y", is_directory=True)
    assert rules.excludes(b"x/y/z", is_directory=False)


def test_explain_names_the_rule_and_where_it_matched(tmp_path: Path) -> None:
    (tmp_path / "cache" / "deep").mkdir(parents=True)
    rules = ("*.log", "cache/", "!cache/deep/keep", "!important.log")
    root = os.fsencode(tmp_path)
    found = explain(root, b"cache/deep/keep", rules)
    assert (found.excluded, found.rule, found.rule_number, found.decided_at) == (True, "cache/", 2, b"cache")
    found = explain(root, root + b"/important.log", rules)
    assert (found.excluded, found.rule, found.decided_at) == (False, "!important.log", b"important.log")
    found = explain(root, b"plain", rules)
    assert (found.excluded, found.rule, found.rule_number) == (False, None, None)
    assert not explain(root, root, rules).excluded
    for outside in (b"../x", b"/etc/passwd"):
        with pytest.raises(ConfigurationError, match="outside"):
            explain(root, outside, rules)


@pytest.mark.parametrize("bad", ["!", "a\nb", "a\0b", "\\"])
def test_bad_rules_are_named(bad: str) -> None:
    with pytest.raises(ConfigurationError, match="rule 2"):
        ExcludeRules(["fine", bad])


def test_a_pathological_rule_cannot_hang_a_run() -> None:
    """2.8: time grows with the name, not with a power of it (this test would not end otherwise)."""
    rules = ExcludeRules(["*a" * 40 + "*b", "x/" + "a**" * 40 + "/c"])
    assert not rules.excludes(b"a" * 255, is_directory=False)
    assert not rules.excludes(b"x/" + b"a" * 255, is_directory=False)
    assert rules.excludes(b"a" * 200 + b"b", is_directory=False)


piece = st.sampled_from(["a", "b", "*", "?", "a*", "**", "[ab]", "ab", "*a*b*", "*b*a", "a*b", "*[ab]*a", "*?b"])
rule = st.tuples(
    st.sampled_from(["", "!"]),
    st.sampled_from(["", "/"]),
    st.lists(piece, min_size=1, max_size=3),
    st.sampled_from(["", "/"]),
)


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
@given(st.lists(rule, min_size=1, max_size=4))
@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
def test_the_dialect_is_gits_own(
    tmp_path_factory: pytest.TempPathFactory, parts: list[tuple[str, str, list[str], str]]
) -> None:
    """Every path is in or out as git itself says."""
    rules = [mark + start + "/".join(pieces) + end for mark, start, pieces, end in parts]
    root = tmp_path_factory.mktemp("git")
    subprocess.run(["git", "init", "-q", root], check=True)
    (root / ".git" / "info").mkdir(exist_ok=True)
    (root / ".git" / "info" / "exclude").write_text("\n".join(rules) + "\n")
    paths = [f"{one}/{two}" for one in ("a", "b", "abab") for two in ("a", "bba", "ab")]
    files = [f"{path}/{name}" for path in paths for name in ("a", "b")] + ["a/x", "x"]
    for file in files:
        (root / file).parent.mkdir(parents=True, exist_ok=True)
        (root / file).write_bytes(b"")
    every = sorted({*files, *paths, "a", "b", "abab"})
    said = subprocess.run(
        ["git", "-c", "core.excludesFile=/dev/null", "check-ignore", "--no-index", "-z", "--stdin"],
        cwd=root, input="\0".join(every).encode(), capture_output=True, check=False,
    )  # fmt: skip
    ignored = {name.decode() for name in said.stdout.split(b"\0") if name}
    ours = {path for path in every if explain(os.fsencode(root), path.encode(), rules).excluded}
    assert ours == ignored, rules
    shutil.rmtree(root)

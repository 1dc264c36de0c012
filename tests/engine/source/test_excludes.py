"""The exclude dialect (gitignore's), and the answer to why."""

import os
import re
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
        (["a*"], b"a\xff", False, True),
        (["?"], b"\xff", False, True),
        (["[!a]"], b"\xff", False, True),
        (["a ", "b\\ ", "c\\\\ "], b"a", False, True),
        (["b\\ "], b"b ", False, True),
        (["b\\ "], b"b", False, False),
        (["c\\\\ "], b"c\\", False, True),
        (["a\t"], b"a\t", False, True),
        (["a /b"], b"a /b", False, True),
        (["a\u00a0"], "a\u00a0".encode(), False, True),
        (["!a", "a"], b"a", False, True),
        (["!#a", "\\#a"], b"#a", False, True),
        (["[[:alpha:]_]"], b"_", False, True),
        (["[[:alpha:]]"], b"1", False, False),
        (["[]a]"], b"]", False, True),
        (["[!]a]"], b"b", False, True),
        (["[!]a]"], b"]", False, False),
        (["[\\]a]"], b"]", False, True),
        (["[a\\-c]"], b"b", False, False),
        (["[a\\-c]"], b"-", False, True),
        (["[z-a]"], b"m", False, False),
        (["[z-a]"], b"z", False, True),
        (["a[/]b"], b"a/b", False, False),
        (["a[!x]b"], b"a/b", False, False),
        (["[\\^!]"], b"^", False, True),
        (["[[:foo]"], b"f", False, True),
        (["[&&--||~~]"], b"&", False, True),
        (["***"], b"x/y", False, True),
        (["a/***/b"], b"a/x/y/b", False, True),
        (["a**b/c"], b"axb/c", False, True),
        (["a**b/c"], b"a/b/c", False, False),
        (["a**/c"], b"axb/c", False, True),
        (["a**/c"], b"a/x/c", False, False),
        (["x/y", "!x/y/"], b"x/y", False, True),
        (["x/y", "!x/y/"], b"x/y", True, False),
        (["*.a", "!b.a", "*.a/"], b"b.a", True, True),
        (["*.a", "!b.a", "*.a/"], b"b.a", False, False),
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


@pytest.mark.parametrize(
    "bad",
    [
        "!",
        "/",
        "a\nb",
        "a\0b",
        "\\",
        "a\\",
        "[",
        "[a",
        "[]",
        "a[!]",
        "[[:foo:]]",
        "[[:alpha:",
        "//a",
        "a//b",
        "./a",
        "a/..",
        "a" * 4097,
    ],
)
def test_rules_that_match_nothing_are_named(bad: str) -> None:
    """A rule that was mistyped must not pass for one that works."""
    with pytest.raises(ConfigurationError, match="rule 2 can match nothing") as caught:
        ExcludeRules(["fine", bad])
    assert len(caught.value.message) < 250


@given(st.text(alphabet="[]!^-\\*?/: ab&~|{}()+.$#\x00\n\tzA9_\xe9\udcff", max_size=16), st.booleans())
@settings(max_examples=300, deadline=None)
@pytest.mark.filterwarnings("error::FutureWarning", "error::SyntaxWarning", "error::DeprecationWarning")
def test_any_text_is_a_rule_or_refused(text: str, ignoring_case: bool) -> None:
    """Nothing else than our own error, and no warning of what expressions are made with."""
    try:
        rules = ExcludeRules([text], ignoring_case=ignoring_case)
    except ConfigurationError:
        return
    for path in (b"a/b", b"[a]-^\xff", b"Ab9_/\xc3\xa9"):
        rules.excludes(path, is_directory=True)


@pytest.mark.parametrize(
    ("rule", "path", "excluded"),
    [
        ("*.TMP", b"a.tmp", True),
        ("Cache", b"x/CACHE", True),
        ("/a/B/c*", b"A/b/CD", True),
        ("[A-C]", b"b", True),
        ("[!A]", b"a", False),
        ("[!A]", b"B", True),
        ("[[:upper:]]", b"a", True),
        ("\u00c9t\u00e9", "\u00e9T\u00c9".encode(), True),
        ("*.\u0416", "x.\u0436".encode(), True),
        ("*\u0416?", "x\u0436y".encode(), True),
        ("K", "\u212a".encode(), True),
        ("*K", "x\u212a".encode(), True),
        ("\u212a", b"k", True),
        ("is", "\u0131\u017f".encode(), True),
        ("*is", "x\u0131\u017f".encode(), True),
        ("[i]s", "\u0131\u017f".encode(), True),
        ("a", b"\xc1", False),
    ],
)
def test_case_can_be_ignored(rule: str, path: bytes, excluded: bool) -> None:
    """The same with and without wildcards, whatever way a rule is looked up by; without the option nothing matches."""
    assert ExcludeRules([rule], ignoring_case=True).excludes(path, is_directory=False) is excluded
    if excluded and not rule.startswith("["):
        assert not ExcludeRules([rule]).excludes(path, is_directory=False)


pieces = ["a", "b", "*", "?", "a*", "**", "ab", "*a*b*", "*b*a", "a*b", "*[ab]*a", "*?b", "***", "a**b"]
sets = [
    "[ab]",
    "[!a]",
    "[^b]",
    "[a-b]",
    "[]a]",
    "[!]a]",
    "[-a]",
    "[a-]",
    "[b-a]",
    "[!-]",
    "[a[]",
    "[\\\\]",
    "[\\]a]",
    "[+--]",
]
classes = ["[[:alpha:]]", "[![:alpha:]]", "[[:punct:]]", "[[:alpha:]-]", "[a/b]", "[\\^!]", "[!^]", "[]-a]", "[[-]]"]
escaped = ["\\a", "\\*", "\\!", "\\#a", "a ", "a\\ ", "-", "]", "^"]
piece = st.one_of(*map(st.sampled_from, (pieces, sets, classes, escaped)))
# Git itself takes the stars of `a**/` for directories, against its own documentation (docs/excludes.md).
component = st.lists(piece, min_size=1, max_size=2).map("".join).filter(lambda text: not re.search(r"[^*]\*\*+$", text))
rule = st.tuples(
    st.sampled_from(["", "", "!"]),
    st.sampled_from(["", "/", "**/"]),
    st.lists(component, min_size=1, max_size=3),
    st.sampled_from(["", "/", "/**", " ", "\\ "]),
)
NAMES = ["a", "b", "ab", "bba", "abab", "-", "]", "^", "!", "a b", "a ", "[a]", "\\", "a-b"]


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory that git looks after, with files of all names below directories of most."""
    root = tmp_path_factory.mktemp("git")
    subprocess.run(["git", "init", "-q", root], check=True)
    (root / ".git" / "info").mkdir(exist_ok=True)
    for one in NAMES[:8]:
        for two in NAMES:
            (root / one / two).mkdir(parents=True)
            for name in ("a", "b", "ab"):
                (root / one / two / name).touch()
    for name in ("x", "xa", "xb", "-]", "#a", "top"):
        (root / name).touch()
    return root


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
@given(st.lists(rule, min_size=1, max_size=4))
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
def test_the_dialect_is_gits_own(checkout: Path, parts: list[tuple[str, str, list[str], str]]) -> None:
    """Every path is in or out as git itself says."""
    rules = [mark + start + "/".join(components) + end for mark, start, components, end in parts]
    (checkout / ".git" / "info" / "exclude").write_text("\n".join(rules) + "\n")
    every = {str(path.relative_to(checkout)): path.is_dir() for path in checkout.rglob("*") if ".git" not in path.parts}
    said = subprocess.run(
        ["git", "-c", "core.excludesFile=/dev/null", "check-ignore", "--no-index", "-z", "--stdin"],
        cwd=checkout, input="\0".join(every).encode(), capture_output=True, check=False,
    )  # fmt: skip
    ignored = {name.decode() for name in said.stdout.split(b"\0") if name}
    compiled = ExcludeRules(rules)
    ours = {
        path for path, is_directory in every.items()
        if compiled.explain(path.encode(), is_directory=is_directory).excluded
    }  # fmt: skip
    assert ours == ignored, rules

"""Rules that would be slow to match or to compile: none can hold up a run (2.8)."""

import pytest

from repositories.engine.errors import ConfigurationError
from repositories.engine.source.excludes import ExcludeRules


def test_rules_that_take_long_to_compile_are_bounded() -> None:
    with pytest.raises(ConfigurationError, match="with wildcards have more than 1,048,576 characters"):
        ExcludeRules(["*" + "ab" * 2040 + "*"] * 260)


def test_the_number_of_rules_is_bounded() -> None:
    assert ExcludeRules(["x"] * 100_000).excludes(b"x", is_directory=False)
    with pytest.raises(ConfigurationError, match="more than 100,000"):
        ExcludeRules(["x"] * 100_001)


def test_a_pathological_rule_cannot_hang_a_run() -> None:
    """2.8: time grows with the name, not with a power of it (this test would not end otherwise)."""
    rules = ExcludeRules(["*a" * 40 + "*b", "x/" + "a**" * 40 + "/c"])
    assert not rules.excludes(b"a" * 255, is_directory=False)
    assert not rules.excludes(b"x/" + b"a" * 255, is_directory=False)
    assert rules.excludes(b"a" * 200 + b"b", is_directory=False)


@pytest.mark.parametrize(
    "rule",
    [
        "*a" * 2000 + "*b",
        "?" * 2000 + "*" + "?" * 2000,
        "*[ab]" * 800 + "c",
        "*[!x]" * 800 + "*b",
        "*" + "[a/]" * 800 + "*c",
        "**/a/" * 600 + "b",
        "**/" + "a/" * 300 + "b/**/c",
        "**/*a*/" * 500 + "b",
        "x/" + "a**" * 800 + "/c",
        "/" + "*/" * 1500 + "c",
        "a/**/" * 700 + "*a*a*a*a*b",
    ],
)
def test_nor_can_any_other_long_rule(rule: str) -> None:
    """2.8: stars, classes, chains of any depth; names and paths as long as they can be (no end to it otherwise)."""
    rules = ExcludeRules([rule])
    for path in (b"a" * 1024, b"/".join([b"a"] * 2000), b"/".join([b"a" * 255] * 20), b"a/" * 30_000 + b"x"):
        assert not rules.excludes(path, is_directory=False)
        assert not rules.excludes(path, is_directory=True)


def test_ten_thousand_rules_and_long_names() -> None:
    """Of each kind of rule: looked up by name, by path, by ending, or tried one after the other."""
    kinds = ["{0}", "/a/{0}", "*.{0}", "{0}*x", "!*{0}*{0}*y", "a/**/{0}"]
    rules = ExcludeRules([kind.format(number) for number in range(1667) for kind in kinds])
    for number in range(20):
        assert not rules.excludes(b"%0255d" % number, is_directory=False)
    assert rules.excludes(b"a/1666", is_directory=False)
    assert rules.excludes(b"deep/name.1666", is_directory=False)
    assert not rules.excludes(b"1.1666.1666y", is_directory=False)

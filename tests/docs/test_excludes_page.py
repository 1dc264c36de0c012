"""docs/excludes.md: every line of its table of rules is tried, and what it says of limits is so (2.8)."""

import re
from pathlib import Path

import pytest

from repositories.console import paths
from repositories.engine.source import cache_tags, excludes, patterns
from repositories.engine.source.excludes import ExcludeRules

PAGE = (Path(__file__).parents[2] / "docs" / "excludes.md").read_text(encoding="utf-8")
_LINE = re.compile(r"^\| (`.+`) \| (`.+`) \| (`.+`) \|$", re.MULTILINE)


def _texts(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


LINES = [tuple(map(_texts, match.groups())) for match in _LINE.finditer(PAGE)]


@pytest.mark.parametrize(("rules", "out", "kept"), LINES, ids=[" ".join(rules) for rules, _, _ in LINES])
def test_each_example_is_so(rules: list[str], out: list[str], kept: list[str]) -> None:
    compiled = ExcludeRules(rules)
    for path in (*out, *kept):
        found = compiled.explain(path.rstrip("/").encode(), is_directory=path.endswith("/"))
        assert found.excluded == (path in out), path


def test_the_page_has_its_examples_and_true_numbers() -> None:
    assert len(LINES) == PAGE.count("\n| `") >= 19
    assert cache_tags.SIGNATURE.decode() in PAGE
    assert len(cache_tags.SIGNATURE) == 43
    assert paths.MAX_FILE == 8 * 1024 * 1024
    for number in (patterns.MAX_RULE, excludes.MAX_RULES, excludes.MAX_COMPILED):
        assert f"{number:,}" in PAGE

"""docs/retention.md: its commands as typed there, and every line of its table of examples (3.3)."""

import datetime as dt
import re
import shlex
from pathlib import Path

import pytest

from repositories.engine.retention.policy import Facts, KeepRules, judge
from tests.docs.homes import blocks, home_with_repository, typed

PAGE = (Path(__file__).parents[2] / "docs" / "retention.md").read_text(encoding="utf-8")
_LINE = re.compile(r"^\| (`20.+`) \| `(.+)` \| (`.+`) \|$", re.MULTILINE)
NOW = int(dt.datetime(2026, 12, 1, tzinfo=dt.UTC).timestamp()) * 10**9


def _times(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


LINES = [(_times(match[1]), match[2], _times(match[3])) for match in _LINE.finditer(PAGE)]


def _rules(text: str) -> KeepRules:
    words = shlex.split(text)
    values: dict[str, str | int] = {
        name.removeprefix("--keep-").removeprefix("--"): value if name == "--zone" else int(value)
        for name, value in zip(words[::2], words[1::2], strict=True)
    }
    return KeepRules(**values)  # type: ignore[arg-type]


@pytest.mark.parametrize(("received", "rules", "stay"), LINES, ids=[f"{each[0][0]} {each[1]}" for each in LINES])
def test_each_example_is_so(received: list[str], rules: str, stay: list[str]) -> None:
    backups = [
        Facts(text, "home", int(dt.datetime.fromisoformat(f"{text}+00:00").timestamp()) * 10**9, number, good=True)
        for number, text in enumerate(received)
    ]
    verdicts = judge(backups, _rules(rules), NOW)
    assert sorted(each.facts.manifest_id for each in verdicts if each.keep) == sorted(stay)


def test_the_page_has_its_examples() -> None:
    assert len(LINES) == PAGE.count("\n| `20") >= 9


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return home_with_repository(tmp_path, {}, {"Documents/letter": "one"})


def test_every_command_of_the_page(home: Path) -> None:
    plan, delete, labels = blocks("docs/retention.md")
    back_up = "./syncova agent backup --repository ~/syncova-backups --path ~/Documents"
    typed(home, f"{back_up}\n{back_up}\n{back_up}")
    planned = typed(home, plan)
    assert planned.count("keep ") == 3
    assert "3 to keep, 0 to delete" in planned
    deleted = typed(home, delete)
    assert "2 backups deleted; nothing is freed yet" in deleted
    assert deleted.count(", deleted 20") == 2
    assert deleted.count(" is back\n") == 2
    said = typed(home, labels)
    assert "tags: before-upgrade; note: the last one of the old disk" in said
    assert "audit 2026 (until 2099-06-30" in said
    assert "1 hold of backup" in said

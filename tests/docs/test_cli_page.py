"""docs/cli.md is what the programs say about themselves."""

import re
from pathlib import Path

from repositories.console import reference

ROOT = Path(__file__).parents[2]


def test_the_page_is_in_step() -> None:
    """Made anew by `python -m repositories.console.reference`."""
    assert (ROOT / "docs" / "cli.md").read_text(encoding="utf-8") == reference.page()


def test_every_command_has_examples_that_name_it() -> None:
    sections = re.split(r"^### ", reference.page(), flags=re.MULTILINE)[1:]
    assert len(sections) >= 9
    for section in sections:
        name = section.splitlines()[0]
        assert f"\n{name} " in section.partition("```")[2], name

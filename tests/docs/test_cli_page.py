"""docs/cli.md is what the programs say about themselves."""

import importlib
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer

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


def examples() -> list[tuple[Any, str]]:
    """Return every program with each of its examples."""
    found = []
    for name in reference.PROGRAMS:
        program = importlib.import_module(name)
        group = typer.main.get_command(program.build())
        lines = reference.page().splitlines()
        found += [(group, line) for line in lines if line.startswith(f"{program.NAME} ")]
    return found


@pytest.mark.parametrize(("group", "example"), examples())
def test_every_example_is_understood(group: Any, example: str) -> None:
    """Parsed by the program itself, not run: an option that is gone or misspelled ends with an error."""
    words = shlex.split(example.removeprefix(f"{group.name} "))
    command = group
    while hasattr(command, "commands"):
        command = command.commands[words.pop(0)]
    command.make_context(command.name, words)

"""Every command that a page shows is one that there is: parsed by the program itself, with all its options, not run.

Pages that tests type are theirs as well; here nothing of any page is left out but what is no command of ours.
"""

import functools
import importlib
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from django.core.management import CommandError, get_commands, load_command_class
from typer.exceptions import TyperException

from bootstrap.commands import find
from bootstrap.failures import BootstrapError
from repositories.console import reference
from syncova_project.embedded.arguments import parser

CLONE = Path(__file__).resolve().parents[2]
# docs/cli.md is made from the programs, and test_cli_page has its examples; the changelog tells of what was.
PAGES = ("README.md", "CONTRIBUTING.md", "SECURITY.md", *(f"docs/{p.name}" for p in sorted(CLONE.glob("docs/*.md"))))
MADE = "docs/cli.md"
OWN = ("./syncova ", "syncova-repo ", "syncova-agent ")
CODE = re.compile(r"^```\w*\n(.*?)^```$|`([^`]+)`|^((?: {4}.*\n)+)", re.DOTALL | re.MULTILINE)
STACK = ("up", "down", "status", "logs")
# What the script does itself, before anything is installed.
BY_SCRIPT = ("install", "wheels", "--wheels")
ALIASES = {"repo": "syncova-repo", "agent": "syncova-agent", "ctl": "./syncova ctl"}


@functools.cache
def programs() -> dict[str, Any]:
    """Return the programs by their names."""
    made = [importlib.import_module(name) for name in reference.PROGRAMS]
    return {program.NAME: typer.main.get_command(program.build()) for program in made}


def commands_of(page: str) -> Iterator[str]:
    """Yield the commands of ours that a page shows, in blocks and within its sentences."""
    for fenced, inline, indented in CODE.findall((CLONE / page).read_text(encoding="utf-8")):
        text = re.sub(r"\s*\\\n\s*", " ", fenced or inline or indented)
        for line in [" ".join(text.split())] if inline else whole_lines(text):
            command = re.sub(r"^(\$ |[A-Z_]+=\S+ )+", "", line.strip())
            if command.startswith(OWN):
                yield re.split(r" {2,}| #|(?<= )[>|]", command)[0].strip(" …")


def whole_lines(text: str) -> Iterator[str]:
    """Yield the lines of a block; one that a quote leaves open goes on in the next."""
    kept = ""
    for line in text.splitlines():
        kept = f"{kept} {line.strip()}" if kept else line
        if kept.count("'") % 2 == 0:
            yield kept
            kept = ""


def understood(command: str) -> None:
    """Parse a command; raises where there is no such verb or option."""
    # What may be left out is shown in brackets.
    words = shlex.split(command.replace("[", "").replace("]", ""))
    if words[0] == "./syncova":
        verb, rest = words[1], words[2:]
        if verb not in ALIASES:
            plain(verb, rest)
            return
        words = [ALIASES[verb], *rest]
    group = programs()[words[0]]
    words = words[1:]
    while hasattr(group, "commands") and words:
        group = group.commands[words.pop(0)]
    if words:
        group.make_context(group.name, words)


def plain(verb: str, words: list[str]) -> None:
    """Parse a command that is no program with verbs of its own."""
    if verb in STACK:
        parser().parse_args([verb, *words])
    elif verb == "manage" and words:
        call = load_command_class(get_commands()[words[0]], words[0])
        # One that is shown without anything is spoken of, not typed.
        if words[1:]:
            call.create_parser("manage", words[0]).parse_args(words[1:])
    else:
        assert verb in BY_SCRIPT or find(verb)


@pytest.mark.parametrize(
    ("page", "command"), [(page, one) for page in PAGES if page != MADE for one in dict.fromkeys(commands_of(page))]
)
def test_a_command_that_a_page_shows_is_understood(page: str, command: str) -> None:
    understood(command)


def test_the_pages_show_commands() -> None:
    """What is looked for is found: in blocks, in sentences, over several lines."""
    shown = {command for page in PAGES if page != MADE for command in commands_of(page)}
    assert len(shown) > 100
    assert "./syncova ctl job depend offsite --on-none" in shown
    assert "./syncova ctl repository unfreeze" in shown
    assert any('"duration_seconds": 7200' in command for command in shown)
    assert any("--hook on-failure=tell-me" in command for command in shown)


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        ("./syncova ctl job paus", KeyError),
        ("./syncova repo list x --nope", TyperException),
        ("./syncova agent backup -r x --reread 101 --path y", TyperException),
        ("./syncova manage drain -x", CommandError),
        ("./syncova up --nope", SystemExit),
        ("./syncova tset", BootstrapError),
    ],
)
def test_what_there_is_not_is_not_understood(wrong: str, error: type[BaseException]) -> None:
    with pytest.raises(error):
        understood(wrong)

"""The programs start with little: no Django ever, nothing heavy before a command needs it."""

import importlib
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer

from agents.runtime import program as agent
from repositories.cli import program as repo

ROOT = Path(__file__).parents[2]
HEAVY = (
    "django",
    "celery",
    "rich",
    "cryptography",
    "zstandard",
    "pyfastcdc",
    "pathspec",
    "repositories.engine.repository",
)


@pytest.mark.parametrize("program", ["repositories.cli.program", "agents.runtime.program"])
def test_a_program_imports_nothing_heavy(program: str) -> None:
    code = f"import sys, {program}; {program}.build(); print([name for name in {HEAVY!r} if name in sys.modules])"
    finished = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert finished.stdout == "[]\n"


@pytest.mark.parametrize("verbs", [repo.VERBS, repo.KEY_VERBS, agent.VERBS], ids=["repo", "key", "agent"])
def test_verbs_are_named_as_they_name_themselves(verbs: dict[str, str]) -> None:
    assert [importlib.import_module(module).NAME for module in verbs.values()] == list(verbs)


def commands(app: typer.Typer) -> dict[str, list[str]]:
    """Return the names of a program's commands, and below each what it has itself."""
    group: Any = typer.main.get_command(app)
    return {name: list(getattr(each, "commands", ())) for name, each in group.commands.items()}


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["ls", "/r", "latest"], {"ls": []}),
        (["ls", "--help"], {"ls": []}),
        (["key", "add", "/r"], {"key": ["add"]}),
        (["key", "list"], {"key": ["list"]}),
    ],
)
def test_a_command_line_gets_the_verb_that_it_begins_with(words: list[str], found: dict[str, list[str]]) -> None:
    assert commands(repo.build(words)) == found


@pytest.mark.parametrize("words", [[], ["--help"], ["--version"], ["lst"], [""], ["-r", "/r", "ls"]])
def test_without_a_verb_all_are_there_to_be_shown_or_suggested(words: list[str]) -> None:
    all_of_them = {**{name: [] for name in repo.VERBS}, "key": list(repo.KEY_VERBS)}
    assert commands(repo.build(words)) == all_of_them
    assert list(commands(agent.build(words))) == list(agent.VERBS)


@pytest.mark.parametrize("words", [["key"], ["key", "--help"], ["key", "ad"]])
def test_the_verbs_of_keys_are_all_there_where_none_of_them_is_named(words: list[str]) -> None:
    assert commands(repo.build(words)) == {"key": list(repo.KEY_VERBS)}


def test_other_verbs_are_not_imported() -> None:
    code = (
        "import sys; from repositories.cli.program import VERBS, build; build(['ls']); "
        "print(sorted(name for name, module in VERBS.items() if module in sys.modules))"
    )
    finished = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert finished.stdout == "['ls']\n"


def test_the_child_imports_no_django_and_no_command_line() -> None:
    names = ("django", "typer", "rich", "syncova_project")
    modules = ", ".join(
        f"repositories.engine.process.{each}" for each in ("runner", "backup_operation", "restore_operation")
    )
    code = f"import sys, {modules}; print([name for name in {names!r} if name in sys.modules])"
    finished = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert finished.stdout == "[]\n"

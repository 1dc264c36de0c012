"""A command line that is read without the library says what the library would have read in it."""

import importlib
import random
import subprocess
import sys
import typing
from pathlib import Path
from typing import Any

import pytest
import typer

from agents.runtime import program as agent
from repositories.cli import program as repo
from repositories.console.entry import new_program
from repositories.console.failures import CommandError
from repositories.console.options import Argument
from repositories.console.plain_words import read_plainly
from repositories.console.verbs import add_verb

ROOT = Path(__file__).parents[2]
MODULES = [*repo.VERBS.values(), *repo.KEY_VERBS.values(), *agent.VERBS.values()]
# Also what is no number, too large a number, an option without a value, and one that does not exist.
VALUES = ("x", "", "a b", "=", "k=v", "7", "007", "101", "9999999999", "-", "-1", "--json", "ü", "\udcff", "latest")
LOOSE = (*VALUES, "--", "--help", "--what", "-x", "-qv", "--js")


class Captured(Exception):  # noqa: N818  (ends a command with what it was called with)
    def __init__(self, options: Any) -> None:
        self.options = options


class Verb:
    """A verb's own options, and a function that hands them out."""

    NAME = "do"
    HELP = ""
    EXAMPLES = ()

    def __init__(self, module: str) -> None:
        self.Options = importlib.import_module(module).Options

    def run(self, options: Any) -> int:
        raise Captured(options)


def by_the_library(verb: Verb) -> Any:
    app = new_program("program", "A program.")
    add_verb(app, verb, "program")
    # A program with one command would take it for granted.
    app.command("other")(lambda: None)
    command = typer.main.get_command(app)

    def read(words: list[str]) -> Any:
        try:
            command.main(args=["do", *words], prog_name="program", standalone_mode=False)
        except Captured as captured:
            return captured.options
        except Exception as error:  # noqa: BLE001  (any refusal is one)
            return error
        return None

    return read


def some_words(names: list[str], numbers: random.Random) -> list[str]:
    words = []
    for _ in range(numbers.randint(0, 5)):
        kind = numbers.random()
        name, value = numbers.choice(names), numbers.choice(VALUES)
        if kind < 0.6:
            words += [name, value][: numbers.randint(1, 2)]
        elif kind < 0.8:
            words.append(f"{name}={value}")
        else:
            words.append(numbers.choice(LOOSE))
    return words


def plainly(options: Any, words: list[str]) -> Any:
    try:
        return read_plainly(options, words)
    except CommandError as error:
        return error


def same(one: Any, other: Any) -> bool:
    return str(one) == str(other) if isinstance(other, CommandError) else bool(one == other)


@pytest.mark.parametrize("module", MODULES)
def test_what_is_read_plainly_is_what_the_library_reads(module: str, capfd: pytest.CaptureFixture[str]) -> None:
    verb = Verb(module)
    library = by_the_library(verb)
    marks = [typing.get_args(each)[1] for each in typing.get_type_hints(verb.Options, include_extras=True).values()]
    names = [name for mark in marks if not isinstance(mark, Argument) for name in mark.names]
    numbers = random.Random(module)
    plain = 0
    for _ in range(60):
        words = some_words(names, numbers)
        options = plainly(verb.Options, words)
        if options is not None:
            plain += 1
            assert same(library(words), options), words
    assert plain > 5
    capfd.readouterr()


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        ([], {}),
        (["-r", "/r", "--path", "/a", "--path=/b", "-q"], {"repository": "/r", "path": ("/a", "/b"), "quiet": True}),
        (["--reread", "5", "--bandwidth=5=MB"], {"reread": 5, "bandwidth": "5=MB"}),
        (["--stdin", "n", "--", "cat", "--json"], {"stdin": "n", "command": ("cat", "--json")}),
        (["--tag", "-t"], None),
        (["--tag"], None),
        (["--source", "a", "--source", "b"], None),
        (["--json=1"], None),
        (["-r=/r"], None),
        (["-r/r"], None),
        (["--repo", "/r"], None),
        (["--reread", "101"], None),
        (["--reread", "-1"], None),
        (["--reread", "½"], None),
        (["--help"], None),
    ],
)
def test_only_what_is_plain_is_read(words: list[str], wanted: dict[str, Any] | None) -> None:
    options = importlib.import_module("agents.runtime.backup").Options
    assert read_plainly(options, words) == (None if wanted is None else options(**wanted))


def test_an_empty_name_is_refused_in_the_same_words() -> None:
    with pytest.raises(CommandError, match="--tag is empty"):
        read_plainly(importlib.import_module("agents.runtime.backup").Options, ["--tag", ""])


def test_a_plain_command_needs_no_library(tmp_path: Path) -> None:
    words = ["list", str(tmp_path / "none"), "--insecure-no-password"]
    code = f"import sys; from repositories.cli.program import main; main({words!r}); print('typer' in sys.modules)"
    finished = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert finished.stdout == "False\n"

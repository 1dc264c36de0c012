"""The edge of all programs: exit codes, one line per error, exactly one JSON object, signals, broken pipes."""

import json
import os
import signal
import subprocess
import sys
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import pytest
import typer
from typer import Option

from repositories.console import entry, exits
from repositories.console.failures import CommandError, Failure, ReportedFailureError
from repositories.console.options import OutputOptions
from repositories.console.terminal import Terminal, terminal_of
from repositories.console.verbs import add_verb
from repositories.console.version import VERSION
from repositories.engine.errors import IntegrityError, RepositoryLockedError, RepositoryNotFoundError, WrongKeyError
from syncova_project.errors import ConfigurationError

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True, slots=True, kw_only=True)
class DoOptions(OutputOptions):
    word: Annotated[tuple[str, ...], Option("--word")] = ()
    number: Annotated[int, Option("--number")] = 0


class Verb:
    """A verb that does what the test says."""

    NAME = "do"
    HELP = "Do it."
    EXAMPLES = ("do --number 3",)

    def __init__(self, action: Callable[[DoOptions, Terminal], int]) -> None:
        self._action = action

    def run(self, options: DoOptions) -> int:
        return self._action(options, terminal_of(options))

    @property
    def Options(self) -> type[DoOptions]:  # noqa: N802  (stands for a module, whose class has this name)
        return DoOptions


class Other(Verb):
    NAME = "other"


def program(action: Callable[[DoOptions, Terminal], int]) -> typer.Typer:
    app = entry.new_program("program", "A program.")
    add_verb(app, Verb(action), "program")
    add_verb(app, Other(action), "program")
    return app


def raising(error: BaseException) -> Callable[[DoOptions, Terminal], int]:
    def action(_options: DoOptions, _terminal: Terminal) -> int:
        raise error

    return action


def call(action: Callable[[DoOptions, Terminal], int], *words: str) -> int:
    return entry.run(program(action), "program", words)


def test_options_arrive_as_one_typed_value() -> None:
    seen: list[DoOptions] = []

    def action(options: DoOptions, _terminal: Terminal) -> int:
        seen.append(options)
        return 7

    assert call(action, "do", "--word", "a", "--word", "b", "--number", "5", "-q") == 7
    assert seen == [DoOptions(word=("a", "b"), number=5, quiet=True)]


@pytest.mark.parametrize(
    ("error", "code", "exit_code"),
    [
        (RepositoryNotFoundError("nothing there", hint="create it"), "REPOSITORY_NOT_FOUND", exits.NO_REPOSITORY),
        (RepositoryLockedError("busy"), "REPOSITORY_LOCKED", exits.LOCKED),
        (WrongKeyError("no slot opens"), "WRONG_PASSWORD", exits.WRONG_KEY),
        (IntegrityError("damaged"), "INTEGRITY", exits.INTEGRITY),
        (CommandError("make no sense"), "USAGE", exits.USAGE),
        (ConfigurationError("SYNCOVA_X is wrong"), "CONFIGURATION", exits.USAGE),
        (ReportedFailureError(Failure("OTHER", "elsewhere", exit_code=13)), "OTHER", exits.INTEGRITY),
        (RuntimeError("a defect"), "INTERNAL", exits.FAILED),
    ],
)
def test_every_error_is_one_line_one_object_and_one_exit_code(
    error: Exception, code: str, exit_code: int, capfd: pytest.CaptureFixture[str]
) -> None:
    assert call(raising(error), "do", "--json") == exit_code
    out, err = capfd.readouterr()
    assert json.loads(out)["error"]["code"] == code
    assert set(json.loads(out)["error"]) == {"code", "message", "hint"}
    assert err.startswith("error: ")
    assert "Traceback" not in err
    assert call(raising(error), "do") == exit_code
    out, err = capfd.readouterr()
    assert out == ""
    assert err.splitlines()[0].startswith("error: ")


@pytest.mark.parametrize(
    "words", [("nothing", "--json"), ("do", "--json", "--what"), ("--json",), ("do", "--number", "x", "--json")]
)
def test_usage_errors_end_with_2_and_one_object_too(words: tuple[str, ...], capfd: pytest.CaptureFixture[str]) -> None:
    assert call(raising(AssertionError()), *words) == exits.USAGE
    assert json.loads(capfd.readouterr().out)["error"]["code"] == "USAGE"


def test_hostile_words_in_errors_are_escaped(capfd: pytest.CaptureFixture[str]) -> None:
    call(raising(CommandError("bad \x1b[31m\u202ename\n[/b]", hint="\x07")), "do")
    call(raising(AssertionError()), "\x1b[2J")
    err = capfd.readouterr().err
    assert "\x1b" not in err
    assert "\u202e" not in err
    assert "\x07" not in err
    assert r"\x1b[31m\u202ename\x0a[/b]" in err


def test_a_traceback_shows_only_with_v(capfd: pytest.CaptureFixture[str]) -> None:
    call(raising(RuntimeError("a defect")), "do", "-v")
    assert "Traceback" in capfd.readouterr().err


def test_help_shows_examples_and_own_options_first(capfd: pytest.CaptureFixture[str]) -> None:
    assert call(raising(AssertionError()), "do", "--help") == exits.DONE
    out = capfd.readouterr().out
    assert "program do --number 3" in out
    assert out.index("--number") < out.index("--json")


def test_the_version_is_the_projects(capfd: pytest.CaptureFixture[str]) -> None:
    assert call(raising(AssertionError()), "--version") == exits.DONE
    assert capfd.readouterr().out == f"program {VERSION}\n"
    assert tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"] == VERSION


def test_an_unknown_setting_is_named_with_the_nearest(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """design.md 7: a misspelled SYNCOVA_ name is an error."""
    monkeypatch.setenv("SYNCOVA_REPOSITROY", "/x")
    assert call(raising(AssertionError()), "do") == exits.USAGE
    assert "SYNCOVA_REPOSITORY" in capfd.readouterr().err


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, exits.INTERRUPTED), (signal.SIGTERM, exits.TERMINATED)])
def test_signals_end_with_130_and_143(number: signal.Signals, code: int, capfd: pytest.CaptureFixture[str]) -> None:
    def action(_options: DoOptions, _terminal: Terminal) -> int:
        signal.raise_signal(number)
        return 0

    before = signal.getsignal(number)
    assert call(action, "do", "--json") == code
    assert json.loads(capfd.readouterr().out)["error"]["code"] == "INTERRUPTED"
    assert signal.getsignal(number) is before


def test_a_signal_that_the_caller_switched_off_stays_off() -> None:
    """nohup: the program outlives its terminal."""

    def action(_options: DoOptions, _terminal: Terminal) -> int:
        signal.raise_signal(signal.SIGHUP)
        return exits.DONE

    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        assert call(action, "do") == exits.DONE
    finally:
        signal.signal(signal.SIGHUP, before)
    assert call(action, "do") == exits.TERMINATED


def test_a_reader_that_leaves_early_gets_no_traceback() -> None:
    code = """
import sys
from tests.console.test_entry import call
def action(options, terminal):
    for _ in range(100_000):
        terminal.line("x" * 100)
    return 0
sys.exit(call(action, "do"))
"""
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT, env=dict(os.environ)
    ) as process:
        assert process.stdout
        assert process.stderr
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(60) == exits.FAILED


def test_no_color_leaves_no_escape_codes() -> None:
    """NO_COLOR counts on a terminal too."""
    code = "from repositories.console.terminal import Terminal, color_wanted as c; Terminal(color=c()).warning('x')"
    for name, wanted in (("NO_COLOR", b"warning: x\r\n"), ("COLOR", b"\x1b[33mwarning:\x1b[0m x\r\n")):
        screen, stderr = os.openpty()
        subprocess.run([sys.executable, "-c", code], stderr=stderr, cwd=ROOT, env={name: "1"}, check=True)
        os.close(stderr)
        assert os.read(screen, 1024) == wanted
        os.close(screen)

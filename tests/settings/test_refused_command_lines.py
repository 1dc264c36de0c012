"""What is not understood of a command line: with --json one object on stdout and exit code 2, in every program (E8)."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.core.checks import Error
from django.core.management.base import CommandError, SystemCheckError

from syncova_project.manage_program import error_shape_of

ROOT = Path(__file__).resolve().parents[2]
MANAGE = ("manage.py",)
STACK = ("-m", "syncova_project.embedded")
DAY = '{"type": "daily", "time": "02:30"}'


def run(*words: str, **variables: str) -> "subprocess.CompletedProcess[str]":
    command, environment = [sys.executable, *words], os.environ | variables
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)


def refused(*words: str) -> dict[str, Any]:
    done = run(*words)
    assert (done.returncode, done.stdout.count("\n")) == (2, 1)
    error: dict[str, Any] = json.loads(done.stdout)["error"]
    assert error["message"] in " ".join(done.stderr.split()), "people are told the same"
    return error


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((*MANAGE, "preview_schedule", "--json"), "--schedule, --from"),
        ((*MANAGE, "preview_schedule", "--schedule", DAY, "--from", "x", "--json", "--nope"), "--nope"),
        ((*MANAGE, "simulate_schedules", "--json", "--days", "many"), "--days"),
        ((*MANAGE, "show_settings", "--markdown", "--json"), "not allowed with"),
        ((*MANAGE, "migrate", "--json", "--verbosity", "9"), "invalid choice: 9"),
        ((*MANAGE, "token_list", "--json"), "--json"),
        ((*MANAGE, "no_such_command", "--json"), "no_such_command"),
        ((*STACK, "status", "--json", "--nope"), "--nope"),
        ((*STACK, "up", "--json", "--port", "x"), "x"),
        ((*STACK, "nope", "--json"), "nope"),
        (("-m", "syncova_project.demo", "--nope", "--json"), "--nope"),
        (("-m", "jobs.ctl", "run", "show", "--json"), "RUN"),
        (("-m", "jobs.ctl", "run", "list", "--json", "--limit", "0"), "--limit"),
        (("-m", "repositories.cli", "check", "--json", "--nope"), "--nope"),
        (("-m", "agents.runtime", "nope", "--json"), "nope"),
    ],
)
def test_what_is_not_understood_is_told_as_json(words: tuple[str, ...], said: str) -> None:
    error = refused(*words)
    assert (error["code"], set(error)) == ("USAGE", {"code", "message", "hint"})
    assert said in error["message"]
    assert "--help" in error["hint"] or "manage help" in error["hint"]


def test_what_a_command_refuses_has_its_fields() -> None:
    error = refused(*MANAGE, "preview_schedule", "--schedule", DAY, "--from", "x", "--json")
    assert (error["code"], list(error["details"])) == ("VALIDATION_FAILED", ["from"])


@pytest.mark.parametrize(
    "words",
    [
        (*MANAGE, "preview_schedule", "--schedule", DAY),
        (*MANAGE, "no_such_command"),
        (*MANAGE, "preview_schedule", "--", "--json"),
        (*STACK, "status", "--nope"),
    ],
)
def test_without_json_nothing_is_on_standard_output(words: tuple[str, ...]) -> None:
    done = run(*words)
    assert (done.returncode, done.stdout) == (2, "")


# Nothing listens there.
AWAY = {"SYNCOVA_DATABASE_URL": "postgresql://syncova@127.0.0.1:1/syncova"}


@pytest.mark.parametrize("words", [("simulate_schedules",), ("token_list",), ("drain", "--list"), ("migrate",)])
def test_without_its_database_a_command_says_that_and_how_to_start_it(words: tuple[str, ...]) -> None:
    done = run(*MANAGE, *words, **AWAY)
    assert (done.returncode, done.stdout.count("{"), done.stderr.count("\n")) == (1, 0, 2), done.stderr
    assert done.stderr.startswith("error: the database does not answer now: connection to server at")
    assert done.stderr.endswith("hint: ./syncova up -d starts it\n")


@pytest.mark.parametrize(("variables", "code"), [(AWAY, "UNAVAILABLE"), ({}, "CONFIGURATION")])
def test_programs_are_told_that_the_database_is_away(variables: dict[str, str], code: str) -> None:
    done = run(*MANAGE, "simulate_schedules", "--json", **variables)
    error = json.loads(done.stdout)["error"]
    assert (done.returncode, done.stdout.count("\n"), error["code"]) == (1, 1, code)
    assert "./syncova up -d" in error["hint"]
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("count", ["1", "2000"])
def test_a_reader_that_has_gone_is_no_error(count: str) -> None:
    command = [sys.executable, *MANAGE, "preview_schedule", "--schedule", DAY, "--from", "2026-01-01T00:00:00Z"]
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = subprocess.run(
            [*command, "--count", count], cwd=ROOT, stdout=writer, stderr=subprocess.PIPE, text=True, check=False
        )
    finally:
        os.close(writer)
    assert (done.returncode, done.stderr) == (1, "")


def test_a_command_without_a_code_of_its_own_has_one() -> None:
    def told(error: CommandError) -> Any:
        shape: Any = error_shape_of(error)["error"]
        return shape["code"], shape["message"]

    assert told(CommandError("days: must\nbe less", returncode=2)) == ("USAGE", "days: must be less")
    assert told(CommandError("broken")) == ("INTERNAL", "broken")
    assert told(SystemCheckError(str([Error("wrong")])))[0] == "CONFIGURATION"

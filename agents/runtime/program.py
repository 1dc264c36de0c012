"""The program syncova-agent: its verbs in the order in which help lists them. Owns no behaviour."""

from collections.abc import Sequence

import typer

from agents.runtime import backup, explain, restore
from repositories.console.entry import new_program, run
from repositories.console.verbs import add_verb

NAME = "syncova-agent"
VERBS = (backup, restore, explain)


def build() -> typer.Typer:
    """Return the program with all its verbs."""
    app = new_program(NAME, "Back up and restore this machine, with or without a server.")
    for verb in VERBS:
        add_verb(app, verb, NAME)
    return app


def main(arguments: Sequence[str] | None = None) -> int:
    """Run syncova-agent and return its exit code."""
    return run(build(), NAME, arguments)

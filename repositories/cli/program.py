"""The program syncova-repo: its verbs in the order in which help lists them. Owns no behaviour."""

from collections.abc import Sequence

import typer

from repositories.cli import (
    check,
    copy,
    create,
    diff,
    dump,
    find,
    forget,
    hold,
    info,
    list_backups,
    ls,
    show,
    tag,
    undelete,
)
from repositories.console.entry import new_program, run
from repositories.console.verbs import add_verb

NAME = "syncova-repo"
VERBS = (create, info, list_backups, show, ls, find, diff, dump, check, forget, undelete, tag, hold, copy)


def build() -> typer.Typer:
    """Return the program with all its verbs."""
    app = new_program(NAME, "Make and look into a repository. Needs no server and no database.")
    for verb in VERBS:
        add_verb(app, verb, NAME)
    return app


def main(arguments: Sequence[str] | None = None) -> int:
    """Run syncova-repo and return its exit code."""
    return run(build(), NAME, arguments)

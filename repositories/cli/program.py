"""The program syncova-repo: its verbs in the order in which help lists them. Owns no behaviour."""

from collections.abc import Sequence

import typer

from repositories.cli import (
    cache,
    check,
    copy,
    create,
    diff,
    dump,
    find,
    forget,
    hold,
    info,
    key_add,
    key_change,
    key_list,
    key_recovery_code,
    key_remove,
    key_rotate,
    list_backups,
    locks,
    ls,
    prune,
    repair,
    show,
    stats,
    tag,
    undelete,
)
from repositories.console.entry import new_program, run
from repositories.console.verbs import add_verb

NAME = "syncova-repo"
LOOKING = (info, list_backups, show, ls, find, diff, dump, check)
VERBS = (create, *LOOKING, repair, forget, undelete, tag, hold, prune, copy, stats, locks, cache)
KEY_VERBS = (key_list, key_add, key_change, key_remove, key_recovery_code, key_rotate)


def build() -> typer.Typer:
    """Return the program with all its verbs."""
    app = new_program(NAME, "Make and look into a repository. Needs no server and no database.")
    for verb in VERBS:
        add_verb(app, verb, NAME)
    keys = typer.Typer(
        name="key", help="What opens a repository.", rich_markup_mode=None, pretty_exceptions_enable=False
    )
    for verb in KEY_VERBS:
        add_verb(keys, verb, f"{NAME} key")
    app.add_typer(keys)
    return app


def main(arguments: Sequence[str] | None = None) -> int:
    """Run syncova-repo and return its exit code."""
    return run(build(), NAME, arguments)

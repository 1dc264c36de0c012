"""The program syncova-repo: its verbs in the order in which help lists them. Owns no behaviour.

Verbs are named, not imported: a command line needs one of them, and all together take longer than many a command.
"""

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from repositories.console.entry import new_program, run_verb

if TYPE_CHECKING:
    import typer

NAME = "syncova-repo"
VERBS: Final[Mapping[str, str]] = {
    "create": "repositories.cli.create",
    "info": "repositories.cli.info",
    "list": "repositories.cli.list_backups",
    "show": "repositories.cli.show",
    "ls": "repositories.cli.ls",
    "find": "repositories.cli.find",
    "diff": "repositories.cli.diff",
    "dump": "repositories.cli.dump",
    "check": "repositories.cli.check",
    "repair": "repositories.cli.repair",
    "forget": "repositories.cli.forget",
    "undelete": "repositories.cli.undelete",
    "tag": "repositories.cli.tag",
    "hold": "repositories.cli.hold",
    "prune": "repositories.cli.prune",
    "copy": "repositories.cli.copy",
    "stats": "repositories.cli.stats",
    "locks": "repositories.cli.locks",
    "cache": "repositories.cli.cache",
}
KEY: Final = "key"
KEY_VERBS: Final[Mapping[str, str]] = {
    "list": "repositories.cli.key_list",
    "add": "repositories.cli.key_add",
    "change": "repositories.cli.key_change",
    "remove": "repositories.cli.key_remove",
    "recovery-code": "repositories.cli.key_recovery_code",
    "rotate": "repositories.cli.key_rotate",
}


def build(words: Sequence[str] = ()) -> "typer.Typer":
    """Return the program with the verb that the command line `words` begins with, with all where it names none."""
    # Heavy, and not needed for most command lines.
    import typer

    from repositories.console.verbs import add_verbs

    app = new_program(NAME, "Make and look into a repository. Needs no server and no database.")
    first = words[0] if words else ""
    if first != KEY:
        add_verbs(app, VERBS, NAME, words)
    if first not in VERBS:
        keys = typer.Typer(
            name=KEY, help="What opens a repository.", rich_markup_mode=None, pretty_exceptions_enable=False
        )
        add_verbs(keys, KEY_VERBS, f"{NAME} {KEY}", words[1:] if first == KEY else ())
        app.add_typer(keys)
    return app


def main(arguments: Sequence[str] | None = None) -> int:
    """Run syncova-repo and return its exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    return run_verb(NAME, words, _named(words), lambda: build(words))


def _named(words: Sequence[str]) -> tuple[str, Sequence[str]] | None:
    """Return the module of the verb that a command line begins with, and the words behind it; None for no verb."""
    verbs, rest = (KEY_VERBS, words[1:]) if words[:1] == [KEY] else (VERBS, words)
    module = verbs.get(rest[0]) if rest else None
    return None if module is None else (module, rest[1:])

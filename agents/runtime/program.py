"""The program syncova-agent: its verbs in the order in which help lists them. Owns no behaviour.

Verbs are named, not imported: a command line needs one of them.
"""

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from repositories.console.entry import new_program, run_verb

if TYPE_CHECKING:
    import typer

NAME = "syncova-agent"
VERBS: Final[Mapping[str, str]] = {
    "backup": "agents.runtime.backup",
    "restore": "agents.runtime.restore",
    "explain": "agents.runtime.explain",
}


def build(words: Sequence[str] = ()) -> "typer.Typer":
    """Return the program with the verb that the command line `words` begins with, with all where it names none."""
    # Heavy, and not needed for most command lines.
    from repositories.console.verbs import add_verbs

    app = new_program(NAME, "Back up and restore this machine, with or without a server.")
    add_verbs(app, VERBS, NAME, words)
    return app


def main(arguments: Sequence[str] | None = None) -> int:
    """Run syncova-agent and return its exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    module = VERBS.get(words[0]) if words else None
    return run_verb(NAME, words, None if module is None else (module, words[1:]), lambda: build(words))

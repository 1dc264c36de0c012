"""Asking before something is done that a person may regret. Owns the question alone."""

import sys

from repositories.console.failures import ConfirmationMissingError, StoppedError
from repositories.console.terminal import Terminal

_YES = frozenset({"y", "yes"})


def confirm(question: str, terminal: Terminal, *, yes: bool, look: str = "--dry-run to see what would be done") -> None:
    """Return when the answer is yes, or `yes` was given on the command line. `look`: how to see first what it would be.

    Raises StoppedError for any other answer, ConfirmationMissingError where nobody can be asked: off a terminal, and
    with --json.
    """
    if yes:
        return
    if terminal.json or not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise ConfirmationMissingError(
            "nothing is done without a yes, and there is no terminal to ask on",
            hint=f"add --yes to do it, or {look}",
        )
    sys.stderr.write(f"{question} [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in _YES:
        raise StoppedError("nothing is done", hint="answer yes to go on")

"""Questions before something ends: asked on a terminal only, so that a script never hangs."""

import sys

from repositories.console.failures import CommandError


def confirm(question: str, option: str) -> None:
    """Return if a person at the terminal says yes; raise CommandError naming the option that answers it otherwise."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise CommandError("nobody is there to confirm it", hint=f"add {option}")
    sys.stderr.write(f"{question} [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in {"y", "yes"}:
        raise CommandError("not confirmed; nothing was done", hint=f"add {option}, or answer y")

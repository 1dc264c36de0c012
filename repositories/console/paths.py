"""Paths and lists as people type them, as the values that the engine works with. Owns the conversion alone."""

import os
from pathlib import Path

from repositories.console.failures import CommandError, FileUnreadableError
from repositories.engine.display import show_text


def absolute(path: str, what: str) -> bytes:
    """Return a path of this machine as absolute bytes; a link at its end is not followed.

    `what` says in errors which path it is. An empty one is refused: it is an unset variable, and must not mean the
    working directory.
    """
    if not path:
        raise CommandError(f"{what} is empty", hint="give a path; . is the working directory")
    try:
        # The library keeps two leading slashes, which mean nothing else than one here.
        return os.path.abspath(os.fsencode(path)).replace(b"//", b"/", 1)
    except FileNotFoundError:
        raise CommandError(
            f"{what} {show_text(path)} is relative, but the working directory has been removed",
            hint="change into a directory that exists, or give an absolute path",
        ) from None


def exclude_rules(given: tuple[str, ...], files: tuple[str, ...]) -> tuple[str, ...]:
    """Return the rules of --exclude-file (one a line, comments allowed) and then those of --exclude.

    The last rule that matches decides, so that the command line has the last word.
    """
    rules = [line for name in files for line in _lines(name)]
    return (*rules, *(_utf8(rule) for rule in given))


def _lines(name: str) -> list[str]:
    try:
        return Path(name).read_text(encoding="utf-8").split("\n")
    except OSError as error:
        raise FileUnreadableError(
            f"the exclude file {show_text(name)} cannot be read: {error.strerror}", hint="check --exclude-file"
        ) from error
    except UnicodeDecodeError:
        raise FileUnreadableError(
            f"the exclude file {show_text(name)} is not UTF-8", hint="write other bytes with a wildcard"
        ) from None


def _utf8(rule: str) -> str:
    try:
        rule.encode("utf-8")
    except UnicodeEncodeError:
        raise CommandError(
            f"the exclude rule {show_text(rule)} is not UTF-8", hint="write other bytes with a wildcard"
        ) from None
    return rule

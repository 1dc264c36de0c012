"""Whose directory a data directory is: a stamp file says that it is ours, and what is not ours is never touched.

Owns the stamp and the recognition of data directories that were made before there was one. Looking changes nothing;
`claim` makes the directory and puts the stamp, before any other file, mode or owner below it.
"""

import os
from pathlib import Path

from syncova_project.embedded.problems import DataDirectoryError

STAMP = "syncova-data"
_TEXT = "This directory belongs to Syncova; `./syncova up` keeps its modes and owners.\n"
# An empty file system has the one; an operator may write the other before the first start.
_EMPTY = frozenset({"lost+found", "syncova.env"})
# Each of them alone was left by every start that got so far, before there was a stamp.
_SIGNS = ("state/owner.lock", "servers/postgres/PG_VERSION")
_FIRST_DIRECTORIES = ("programs", "secrets", "logs", "state")


def check(root: Path) -> None:
    """Raise DataDirectoryError if `root` is no directory, somebody else's, or holds what Syncova did not put there."""
    try:
        status = root.stat()
    except FileNotFoundError:
        return
    except NotADirectoryError:
        raise _no_directory(root) from None
    if not root.is_dir():
        raise _no_directory(root)
    if status.st_uid != os.geteuid():
        raise DataDirectoryError(
            f"{root} belongs to user id {status.st_uid}, not to you ({os.geteuid()}).",
            hint="Run as its owner, or name a directory of your own with --data.",
        )
    foreign = sorted({entry.name for entry in root.iterdir()} - _EMPTY)
    if foreign and not is_ours(root):
        raise DataDirectoryError(
            f"{root} is not empty and not Syncova's: it holds {foreign[0]}; nothing in it was touched.",
            hint="Name a directory that is empty or does not exist with --data.",
        )


def check_named(root: Path) -> None:
    """Raise DataDirectoryError if what was named for a data directory is something else than a directory."""
    if root.exists() and not root.is_dir():
        raise _no_directory(root)


def claim(root: Path) -> None:
    """Make the directory and mark it as ours; raises DataDirectoryError as `check` does, and OSError."""
    check(root)
    root.mkdir(mode=0o700, parents=True, exist_ok=True)
    stamp = root / STAMP
    if not stamp.exists():
        descriptor = os.open(stamp, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(_TEXT)


def is_ours(root: Path) -> bool:
    """Tell whether a start of Syncova made this directory."""
    if any((root / sign).is_file() for sign in (STAMP, *_SIGNS)):
        return True
    return all((root / name).is_dir() for name in _FIRST_DIRECTORIES)


def _no_directory(root: Path) -> DataDirectoryError:
    return DataDirectoryError(f"{root} is not a directory.", hint="Name another --data.")

"""Looking through one directory of a mounted file system: the files that can be objects, and the directories below.

Owns what counts as one: regular files, links not followed. What goes while it is looked at was not there. Two forms,
since a value for each of a million files takes longer than to look at them.
"""

import contextlib
import os
from collections.abc import Iterator
from typing import Final

from repositories.engine.storage.base import StoredObject

SCRATCH: Final = "tmp"
"""Where objects are while they are written: never looked into."""


def scan(root: str, directory: str) -> tuple[list[StoredObject], list[str]]:
    """Return files and directories in one directory (`a/`, or empty); an absent one is empty. Raises OSError."""
    sizes, deeper = scan_sizes(root, directory)
    return [StoredObject(directory + name, size) for name, size in sizes.items()], deeper


def scan_sizes(root: str, directory: str) -> tuple[dict[str, int], list[str]]:
    """Return the sizes of the files by their names in the directory, and the directories as `scan` does."""
    sizes: dict[str, int] = {}
    deeper: list[str] = []
    with _opened(os.path.join(root, directory)) as descriptor:
        if descriptor is None:
            return sizes, deeper
        # By a descriptor each look begins here, not at the root of the file system.
        with os.scandir(descriptor) as entries:
            for entry in entries:
                if entry.is_file(follow_symlinks=False):
                    try:
                        sizes[entry.name] = entry.stat(follow_symlinks=False).st_size
                    except FileNotFoundError:  # a context manager would cost as much as the call, a million times
                        continue
                elif entry.is_dir(follow_symlinks=False) and directory + entry.name != SCRATCH:
                    deeper.append(f"{directory}{entry.name}/")
    return sizes, deeper


@contextlib.contextmanager
def _opened(path: str) -> Iterator[int | None]:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except FileNotFoundError:
        yield None
        return
    try:
        yield descriptor
    finally:
        os.close(descriptor)

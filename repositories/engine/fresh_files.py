"""New files of this process: private to the user, under a name that nobody else has.

The library's way imports what compresses and copies files and draws numbers, 7 ms at each start.
"""

import os

_FLAGS = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_RANDOM_BYTES = 12


def new_file(directory: str | None, prefix: str) -> tuple[int, str]:
    """Make an empty file in `directory` (None: where temporary files lie) for reading and writing.

    Return its descriptor and its path. Raises OSError.
    """
    if directory is None:
        import tempfile

        directory = tempfile.gettempdir()
    path = os.path.join(directory, f"{prefix}{os.urandom(_RANDOM_BYTES).hex()}")
    return os.open(path, _FLAGS, 0o600), path


def make_private_directories(path: str, most: int) -> None:
    """Make a directory and those above it that are missing, the lowest `most` of them private. Raises OSError."""
    missing = [path]
    while len(missing) < most and (above := os.path.dirname(missing[-1])) not in ("", missing[-1]):
        missing.append(above)
    # Each by itself, since a mode is given to the last one alone.
    for each in reversed(missing):
        os.makedirs(each, 0o700, exist_ok=True)

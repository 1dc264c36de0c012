"""New files of this process: private to the user, under a name that nobody else has, or under none.

The library's way imports what compresses and copies files and draws numbers, 7 ms at each start.
"""

import os

_FLAGS = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_RANDOM_BYTES = 12
_DESCRIPTORS = "/proc/self/fd/"


def new_file(directory: str, prefix: str) -> tuple[int, str]:
    """Make an empty file in `directory` for reading and writing; return its descriptor and its path. Raises OSError."""
    path = os.path.join(directory, f"{prefix}{os.urandom(_RANDOM_BYTES).hex()}")
    return os.open(path, _FLAGS, 0o600), path


def nameless_file(prefix: str) -> tuple[int, str]:
    """Make an empty file where temporary files lie, gone when its descriptor is closed, however the process ends.

    Return its descriptor and a path by which this process opens it anew meanwhile. On systems that know no such paths
    it has a name with `prefix`, which a killed process leaves. Raises OSError.
    """
    import tempfile

    directory = tempfile.gettempdir()
    if not os.path.isdir(_DESCRIPTORS):
        return new_file(directory, prefix)
    try:
        descriptor = os.open(directory, os.O_RDWR | os.O_TMPFILE | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except OSError:
        # Not every file system knows files without a name, and the kernel has several words for that.
        descriptor, path = new_file(directory, prefix)
        os.unlink(path)
    return descriptor, f"{_DESCRIPTORS}{descriptor}"


def remove_file(path: str) -> None:
    """Remove a file that this process made; one without a name goes with its descriptor. Raises OSError."""
    if not path.startswith(_DESCRIPTORS):
        os.unlink(path)


def make_private_directories(path: str, most: int) -> None:
    """Make a directory and those above it that are missing, the lowest `most` of them private. Raises OSError."""
    missing = [path]
    while len(missing) < most and (above := os.path.dirname(missing[-1])) not in ("", missing[-1]):
        missing.append(above)
    # Each by itself, since a mode is given to the last one alone.
    for each in reversed(missing):
        os.makedirs(each, 0o700, exist_ok=True)

"""The order of a manifest: by (directory_key(directory), name), directories depth-first by component bytes.

Owns the comparison and nothing else. Directory paths are relative to the source, "" is its root.
"""


def directory_key(directory: bytes) -> bytes:
    """Return bytes that sort as the tuple of components does: no component holds NUL, and NUL sorts first."""
    return directory.replace(b"/", b"\0")


def join(directory: bytes, name: bytes) -> bytes:
    """Return the path of an entry relative to the source."""
    return directory + b"/" + name if directory else name


def split(path: bytes) -> tuple[bytes, bytes]:
    """Return (directory, name) of a relative path."""
    directory, _, name = path.rpartition(b"/")
    return directory, name


def is_within(directory: bytes, ancestor: bytes) -> bool:
    """Return whether `directory` is `ancestor` or lies below it."""
    return not ancestor or directory == ancestor or directory.startswith(ancestor + b"/")

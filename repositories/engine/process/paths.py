"""Paths inside a backup as people name them. Owns the conversion to the manifest's own form alone."""

import os

from repositories.engine.display import show_path
from repositories.engine.errors import ConfigurationError


def inner_path(path: bytes, source: bytes) -> bytes:
    """Return `path` relative to the source: given either as it was on the source (absolute) or relative to it.

    Raises ConfigurationError when it lies outside the source.
    """
    if path.startswith(b"/"):
        path = _below(os.path.normpath(path), source.rstrip(b"/"))
    parts = [part for part in path.split(b"/") if part not in (b"", b".")]
    if b".." in parts or b"\0" in path:
        raise ConfigurationError(f"{show_path(path)} is no path inside a source", hint="write it without ..")
    return b"/".join(parts)


def _below(path: bytes, root: bytes) -> bytes:
    path = b"/" + path.lstrip(b"/")
    if path in (root, root + b"/"):
        return b""
    if not path.startswith(root + b"/"):
        raise ConfigurationError(
            f"{show_path(path)} lies outside the source {show_path(root or b'/')}",
            hint="give the path as it was on the source, or relative to the source",
        )
    return path[len(root) + 1 :]

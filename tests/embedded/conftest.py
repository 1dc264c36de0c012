"""Directories of these tests: short enough for the servers' sockets, wherever the clone lies."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

# What a session directory may take so that a data directory in one of its own directories still fits.
_ROOM = 55


@pytest.fixture
def tmp_path(session_directory: Path) -> Iterator[Path]:
    """Return a fresh private directory with a short path, removed at the end."""
    place = session_directory if len(os.fsencode(session_directory)) <= _ROOM else Path("/var/tmp")
    directory = Path(tempfile.mkdtemp(prefix="t-", dir=place))
    yield directory
    shutil.rmtree(directory, ignore_errors=True)

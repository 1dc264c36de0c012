"""Directories of these tests: short enough for the servers' sockets, wherever the clone lies."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import private_servers
from tests.canaries_watch import SESSION
from tests.embedded.stack import Bench

# What a session directory may take so that a data directory in one of its own directories still fits.
_ROOM = 55


@pytest.fixture
def tmp_path(session_directory: Path) -> Iterator[Path]:
    """Return a fresh private directory with a short path, removed at the end."""
    place = session_directory if len(os.fsencode(session_directory)) <= _ROOM else Path("/var/tmp")
    directory = Path(tempfile.mkdtemp(prefix="t-", dir=place))
    yield directory
    SESSION.tree(directory)
    shutil.rmtree(directory, ignore_errors=True)


@pytest.fixture(scope="module")
def bench(request: pytest.FixtureRequest, session_directory: Path) -> Iterator[Bench]:
    """Return the stack of the data directory that the test module names; stopped at the end."""
    private_servers.skip_without_a_lasting_place(session_directory)
    made = Bench(session_directory / request.module.DATA)
    yield made
    made.run("down")


@pytest.fixture(scope="module")
def stack(bench: Bench) -> dict[str, Any]:
    """Start the stack; return its status."""
    done = bench.run("up", "-d", "--port", "0")
    assert done.returncode == 0, done.stderr
    password = (bench.layout.secrets / "admin_password").read_text().strip()
    assert password not in done.stdout, "a pipe is not a terminal"
    return bench.status()

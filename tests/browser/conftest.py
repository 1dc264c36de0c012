"""The whole product as `up` starts it, and a window in front of it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import private_servers
from tests.browser.driver import Browser, opened, programs
from tests.embedded.stack import Bench

NOT_HERE = "Debian's chromium and chromium-driver are not installed here: what pages do in a browser was not looked at"


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[Browser]:
    """Open a window; skipped, visibly, where there is no browser."""
    if programs() is None:
        pytest.skip(NOT_HERE)
    with opened(tmp_path) as window:
        yield window


@pytest.fixture
def stack(browser: Browser, session_directory: Path) -> Iterator[tuple[Bench, dict[str, Any]]]:
    """Start everything on a data directory of its own; stopped at the end."""
    private_servers.skip_without_a_lasting_place(session_directory)
    bench = Bench(session_directory / "morning")
    done = bench.run("up", "-d", "--port", "0")
    try:
        assert done.returncode == 0, done.stderr
        yield bench, bench.status()
    finally:
        bench.run("down")

"""Watches a session of pytest for canaries: what programs and tests say, and every file before it is removed.

Owns when is looked. What was found is told at the session's end, which fails by it.
"""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.canaries_sweep import Sweep, hidden

SESSION = Sweep()
# Where a share leaves which rules it met, in its directory for temporary files.
MET = "canaries-met.json"


@pytest.fixture
def tmp_path(tmp_path: Path) -> Iterator[Path]:
    """Look at a test's directory once all that the test started has ended, and before it is removed."""
    yield tmp_path
    SESSION.tree(tmp_path)


@pytest.fixture
def capsys(capsys: pytest.CaptureFixture[str]) -> pytest.CaptureFixture[str]:
    """Look at what a test takes of its own output too: pytest reports only the rest."""
    return _watched(capsys)


@pytest.fixture
def capfd(capfd: pytest.CaptureFixture[str]) -> pytest.CaptureFixture[str]:
    """Look at what a test takes of its own output too: pytest reports only the rest."""
    return _watched(capfd)


def watch_children() -> None:
    """Look at all that child processes say to a test."""
    communicate = subprocess.Popen.communicate

    def watched(self: Any, *arguments: Any, **options: Any) -> Any:
        said = communicate(self, *arguments, **options)
        for text in said:
            if text:
                SESSION.text(f"a child of {_test()}", text)
        return said

    subprocess.Popen.communicate = watched  # type: ignore[method-assign]


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Look at what a test left in its streams and its log, passed or not."""
    for title, text in report.sections:
        SESSION.text(f"{title} of {report.nodeid}", text)


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Look at all that is left, once the servers have ended, and let the session fail by what was found."""
    if directory := os.environ.get("SYNCOVA_DATA_DIR"):
        SESSION.tree(directory)
    base = session.config.getoption("basetemp")
    if base and Path(base).is_dir():
        SESSION.tree(base)
        (Path(base) / MET).write_text(json.dumps(sorted(SESSION.met)))
    if SESSION.found and session.exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Tell where canaries were found."""
    if SESSION.found:
        terminalreporter.section("canaries where none may be", red=True, bold=True)
        for line in dict.fromkeys(SESSION.found):
            terminalreporter.write_line(line)


def _watched(capture: pytest.CaptureFixture[str]) -> pytest.CaptureFixture[str]:
    take = capture.readouterr

    def taken() -> Any:
        result = take()
        SESSION.text(f"stdout taken by {_test()}", result.out)
        SESSION.text(f"stderr taken by {_test()}", result.err)
        return result

    capture.readouterr = taken  # type: ignore[method-assign]
    return capture


def _test() -> str:
    return hidden(os.environ.get("PYTEST_CURRENT_TEST", "the session").partition(" (")[0])

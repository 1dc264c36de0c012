"""The programs with a repository of their own."""

from pathlib import Path

import pytest

from tests.cli.programs import Programs, make_programs


@pytest.fixture
def programs(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> Programs:
    return make_programs(tmp_path, capfd)

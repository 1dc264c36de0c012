"""The programs with a repository of their own."""

from pathlib import Path

import pytest

from tests.cli.programs import Programs, make_programs


@pytest.fixture
def programs(tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Programs:
    monkeypatch.setenv("SYNCOVA_CACHE_DIR", str(tmp_path / "cache"))
    return make_programs(tmp_path, capfd)

"""A repository in memory and a small tree to back up into it.

All of these backups have a process that walks ahead from the first directory on, as others have in large trees.
"""

from pathlib import Path

import pytest

from repositories.engine.repository import Repository
from repositories.engine.source import ahead
from tests.engine.repositories import make_repository


@pytest.fixture(autouse=True)
def _walked_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ahead, "ENOUGH", 0)


@pytest.fixture
def repository() -> Repository:
    return make_repository()


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "tree"
    (root / "sub").mkdir(parents=True)
    (root / "a").write_bytes(b"alpha")
    (root / "sub" / "b").write_bytes(b"beta" * 100)
    return root

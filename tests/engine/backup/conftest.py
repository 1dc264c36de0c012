"""A repository in memory and a small tree to back up into it."""

from pathlib import Path

import pytest

from repositories.engine.repository import Repository
from tests.engine.repositories import make_repository


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

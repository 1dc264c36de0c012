"""Hurt repositories, and no waiting."""

from pathlib import Path

import pytest

from repositories.engine.check import copies as check_copies
from repositories.engine.repair import copies, fences, notes
from repositories.engine.storage.memory import MemoryStorage
from tests.engine.repair.hurting import LARGE, SMALL, make_storage


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (copies, fences, notes):
        monkeypatch.setattr(module, "_SETTLE_SECONDS", 0.0)
    monkeypatch.setattr(check_copies, "_SETTLE_SECONDS", 0.0)


@pytest.fixture
def storage(tmp_path: Path) -> MemoryStorage:
    """Return a repository with two backups of some packs each of data and metadata."""
    return make_storage(tmp_path, LARGE)


@pytest.fixture
def small(tmp_path: Path) -> MemoryStorage:
    """Return the same of small files."""
    return make_storage(tmp_path, SMALL)

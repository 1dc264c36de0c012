"""The repository that these tests write to: in memory, with keys, clock and randomness that repeat."""

import pytest

from repositories.engine.repository import Repository
from repositories.engine.storage.memory import MemoryStorage
from tests.engine.fakes import pinned_repository


@pytest.fixture
def repository() -> Repository:
    return pinned_repository(MemoryStorage()).repository

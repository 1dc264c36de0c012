"""A repository in memory, its storage, and a tree of everything backed up into it."""

from pathlib import Path

import pytest

from repositories.engine.repository import Repository
from repositories.engine.storage.memory import MemoryStorage
from tests.engine.repositories import back_up_tree, make_repository
from tests.engine.trees import Description, build_everything, describe


@pytest.fixture
def storage() -> MemoryStorage:
    return MemoryStorage()


@pytest.fixture
def repository(storage: MemoryStorage) -> Repository:
    return make_repository(storage)


@pytest.fixture
def everything(tmp_path: Path, repository: Repository) -> Description:
    """Back up a tree of everything; return what it was."""
    build_everything(tmp_path / "tree")
    before = describe(tmp_path / "tree")
    back_up_tree(repository, tmp_path / "tree")
    return before

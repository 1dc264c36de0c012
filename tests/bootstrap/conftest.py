"""Clones to try the bootstrap in: a fresh one, and a copy of one that is installed already."""

from pathlib import Path

import pytest

from tests.bootstrap.trial import Trial, make


@pytest.fixture
def trial(tmp_path: Path) -> Trial:
    """Return a clone in which nothing is installed."""
    return make(tmp_path)


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Trial:
    """Return a clone whose every layer is installed; tests share it and leave it as it is."""
    shared = make(tmp_path_factory.mktemp("installed"))
    shared.told("bench")
    return shared

"""Clones to try the bootstrap in: a fresh one, and one that is installed already and shared."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bootstrap import sandbox
from tests.bootstrap.trial import Trial, make


@contextmanager
def made_in(directory: Path) -> Iterator[Trial]:
    """Yield a clone; what root's developer commands put outside of it is removed at the end."""
    trial = make(directory)
    yield trial
    if not trial.clone.exists():
        return  # the test moved it
    place = Path(sandbox._temporary_place(str(trial.clone)))
    if trial.clone not in place.parents:
        shutil.rmtree(place)


@pytest.fixture
def trial(tmp_path: Path) -> Iterator[Trial]:
    """Return a clone in which nothing is installed."""
    with made_in(tmp_path) as fresh:
        yield fresh


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trial]:
    """Return a clone whose every layer is installed; tests share it and leave it as it is."""
    with made_in(tmp_path_factory.mktemp("installed")) as shared:
        shared.told("bench")
        yield shared

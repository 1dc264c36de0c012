"""One stack of real servers for all tests of this directory that need one, and the places of those that need none.

Each test leaves the stack as it found it.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from tests.workers import hook_programs, scenario
from tests.workers.harness import Stack, running_stack
from tests.workers.hook_programs import Told
from tests.workers.scenario import Ground


@pytest.fixture(scope="session")
def shared_stack(django_db_blocker: Any) -> Iterator[Stack]:
    """Start the servers, a control worker and beat on first use; they serve every test."""
    with running_stack() as stack:
        stack.start_control()
        stack.start_beat()
        yield stack


@pytest.fixture
def stack(shared_stack: Stack, django_db_blocker: Any) -> Iterator[Stack]:
    """Give the stack to one test: Django speaks to it meanwhile, and what the test started is ended."""
    with django_db_blocker.unblock(), shared_stack.used_by_django():
        yield shared_stack
        shared_stack.kill_processes(but=("control", "beat"))


@pytest.fixture
def place(tmp_path: Path, settings: Any) -> Ground:
    """Return a registered repository that runs are executed on directly: no worker is asked to look at it."""
    settings.SYNCOVA_INSPECT = ""
    return scenario.ground(tmp_path, "direct")


@pytest.fixture
def tree(place: Ground) -> Path:
    """Return a few files to be backed up."""
    return scenario.small_tree(place.directory)


@pytest.fixture
def told(place: Ground, settings: Any) -> Told:
    """Install the hooks of `hook_programs`; return what reads the journal of their calls."""
    return hook_programs.install(place, settings)


@pytest.fixture
def sequence_as_before() -> Iterator[None]:
    """Sequences know no rollback: later tests of this session count on from where they were."""
    before = scenario.next_fence()
    yield
    with connection.cursor() as cursor:
        cursor.execute("SELECT setval('run_fences', %s)", [before])

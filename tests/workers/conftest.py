"""One stack of real servers for all tests of this directory that need one; each leaves it as it found it."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.workers.harness import Stack, running_stack


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

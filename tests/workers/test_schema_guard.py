"""Programs that are older than their database do not start (H9): a worker, a beat and web, as real processes."""

import subprocess
import sys
from collections.abc import Iterator

import pytest
from django.db import connection

from jobs.models import SchedulerState
from syncova_project.embedded import processes
from syncova_project.schema.record import SchemaState, SchemaVersion, read_standing, write
from syncova_project.schema.versions import STEPS
from tests.workers.harness import PROJECT, Stack, eventually


@pytest.fixture
def newer(stack: Stack) -> Iterator[Stack]:
    """Let the database say for a moment that a newer program has migrated it; what there is has long started."""
    eventually(lambda: SchedulerState.objects.filter(last_pass_at__isnull=False).exists(), what="beat asks for a pass")
    write(connection, SchemaVersion(len(STEPS) + 1, SchemaState.CLEAN, STEPS[-1]))
    yield stack
    write(connection, SchemaVersion(len(STEPS), SchemaState.CLEAN, STEPS[-1]))


def test_they_end_with_a_word_and_what_runs_goes_on(newer: Stack) -> None:
    """What was started before the update may finish: the control worker and beat of the stack are still there."""
    started = {"old-work": newer.start_worker("old-work", group="old"), "old-beat": newer.start_beat("old-beat")}
    web = subprocess.run(
        [sys.executable, "-c", "import syncova_project.wsgi"],
        cwd=PROJECT,
        env=newer.environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (web.returncode, "SCHEMA_NEWER" in web.stderr) == (1, True)
    for name, identity in started.items():
        eventually(lambda identity=identity: not processes.wait_gone([identity], 0), what=f"{name} ends")  # type: ignore[misc]
        assert "SCHEMA_NEWER: The database stands at version" in newer.log(name)
        del newer.running[name]
    assert all(processes.is_alive(newer.running[name]) for name in ("control", "beat"))
    assert read_standing(connection).version is not None

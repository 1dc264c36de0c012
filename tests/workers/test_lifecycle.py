"""What a worker does at its start and end, beside its tasks."""

import pytest

from jobs.models import Runner, WorkerProcess
from syncova_project.embedded import processes
from tests.workers import scenario
from tests.workers.harness import Stack, eventually
from workers.lifecycle import slots_of


@pytest.mark.parametrize(
    ("children", "lookups", "slots"), [(3, True, 2), (2, True, 1), (1, True, 1), (2, False, 2), (9, True, 2)]
)
def test_a_lookup_never_waits_behind_backups(children: int, lookups: bool, slots: int, settings: object) -> None:
    """execution.md, section 3: one child stays free for lookups wherever there are two."""
    settings.SYNCOVA_WORKER_SLOTS = 2  # type: ignore[attr-defined]
    assert slots_of(children, lookups=lookups) == slots


def test_a_worker_tells_its_slots_and_roots(stack: Stack) -> None:
    stack.start_worker("work", group="told", slots=3, SYNCOVA_SOURCE_ROOTS="/srv:/home")
    scenario.serving("told")
    row = WorkerProcess.objects.get(runner__name="told")
    assert (row.slots, row.process_id, row.draining) == (3, stack.running["work"].pid, False)
    assert Runner.objects.get(name="told").source_roots == ["/srv", "/home"]


def test_a_worker_without_key_material_does_not_start(stack: Stack) -> None:
    """A5: refused when it is set up, with a sentence that names the setting."""
    worker = stack.start_worker("keyless", group="keyless", SYNCOVA_SECRET_KEYS="")
    eventually(lambda: not processes.is_alive(worker), what="the worker gives up")
    assert "SYNCOVA_SECRET_KEYS is empty" in stack.log("keyless")
    assert not WorkerProcess.objects.filter(runner__name="keyless").exists()

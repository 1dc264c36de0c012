"""Somebody looks into a backup while the only slot is taken: real broker, worker and engine (execution.md, 3)."""

from pathlib import Path
from typing import Any

from jobs.database_time import database_now
from jobs.models import Run
from jobs.services import run_cancel
from jobs.states import RunState
from repositories.models import Backup
from tests.api.client import Answer, ApiClient
from tests.workers import scenario
from tests.workers.harness import Stack, eventually


def test_no_backup_holds_up_who_looks_into_one(stack: Stack, tmp_path: Path, settings: Any) -> None:
    stack.start_worker("work", group="looks", slots=1)
    place, other = scenario.ground(tmp_path, "looks"), scenario.ground(tmp_path, "looks", name="other")
    tree = scenario.small_tree(tmp_path)
    assert scenario.finished(scenario.request(scenario.job(place, tree))).state == RunState.SUCCEEDED
    slow = scenario.request(scenario.job(other, scenario.large_tree(tmp_path), bandwidth=scenario.SLOW_RATE))
    scenario.running(slow)
    backup, client = Backup.objects.get(repository=place.repository), ApiClient()
    address = f"repositories/{place.repository.id}/backups/{backup.backup_id}"
    listed = answered(client, client.get(f"{address}/files?path=sub"))
    assert [entry["path"] for entry in listed.json["entries"]] == [f"sub/file-{number}" for number in range(5)]
    found = answered(client, client.get(f"{address}/find?pattern=*-3"))
    assert [entry["path"] for entry in found.json["entries"]] == ["sub/file-3"]
    assert Run.objects.get(pk=slow.pk).state == RunState.RUNNING
    run_cancel(run_id=slow.id, actor="test", now=database_now())
    scenario.finished(slow)


def answered(client: ApiClient, answer: Answer) -> Answer:
    """Ask again where the server has said, until it has the answer."""
    place = answer.headers.get("Location")
    if place is not None:
        answer = eventually(lambda: _there(client.get(place)), what="a worker looks into the backup")
    assert answer.status == 200, answer.json
    return answer


def _there(answer: Answer) -> Answer | None:
    return None if answer.status == 202 else answer

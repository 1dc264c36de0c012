"""What hooks say and what sources are called stands where a run's reader looks for it, and nowhere else (7.9)."""

from pathlib import Path
from typing import Any

import pytest

from jobs import run_log, task_runs
from jobs.conclusion import conclude
from jobs.database_time import database_now
from jobs.execution import execution_request
from jobs.models import JobSource, Run, TaskRun
from jobs.run_log import LogLine
from jobs.states import RunState
from syncova_project import clock
from syncova_project.celery import app
from tests import canaries
from tests.api.builders import job_body, start
from tests.api.client import ApiClient
from tests.api.test_canaries import Collected, dump
from tests.workers import scenario
from tests.workers.test_executor import Control, execute
from workers import doorbell

pytestmark = pytest.mark.django_db
SAID, NAMED = canaries.hook_words("speak"), canaries.source_name("run")
HOOKS = """
[hooks.speak]
argv = ["/bin/sh", "{program}"]
exits = {{ 3 = "warn" }}
"""
# The words stand in a file, so that whoever lists processes sees them only if we put them there.
PROGRAM = """cat {words}
for one in /proc/[0-9]*; do tr '\\0' ' ' < $one/cmdline; done >> {seen} 2> {seen}.errors
exit 3
"""


@pytest.fixture
def out(settings: Any) -> Collected:
    settings.SYNCOVA_WAKE = settings.SYNCOVA_DOORBELL = settings.SYNCOVA_INSPECT = ""
    return Collected()


def install(directory: Path, settings: Any) -> Path:
    """Write the hook; return where it notes the processes that it sees."""
    hooks, seen = directory / "hooks", directory / "seen"
    hooks.mkdir(mode=0o755)
    (hooks / "words").write_text(f"{SAID}\n")
    (hooks / "program").write_text(PROGRAM.format(words=hooks / "words", seen=seen))
    (hooks / "hooks.toml").write_text(HOOKS.format(program=hooks / "program"))
    settings.SYNCOVA_HOOKS_FILE = str(hooks / "hooks.toml")
    return seen


def run_it(job_id: str) -> Run:
    """Run the job as its worker would, and write what a worker writes."""
    run = Run.objects.get(pk=ApiClient().post(f"jobs/{job_id}/run").json["id"])
    places = JobSource.objects.filter(job_id=job_id).values_list("source_id", flat=True)
    task_runs.create(run.id, places, now=database_now())
    fence, control = start(run), Control()
    request = execution_request(run.id, fence)
    assert request is not None
    result = execute(request, control)
    lines = [LogLine(clock.now(), *line.split(": ", 1)) for line in control.lines]
    assert run_log.append(run.id, fence, lines, now=database_now())
    assert conclude(run.id, fence, result, now=database_now())
    run.refresh_from_db()
    return run


def refused(out: Collected, client: ApiClient, job_id: str) -> None:
    """Ask what is refused about the job and its run; each answer stands apart."""
    for method, path, body in (
        ("POST", f"jobs/{job_id}/run", {"unknown": 1}),
        ("PATCH", f"jobs/{job_id}", {"name": "x"}),
        ("GET", f"jobs/{job_id}/runs?limit=0", None),
        ("PUT", f"jobs/{job_id}/dependencies", {"depends_on": [job_id]}),
    ):
        answer = client.request(method, path, body)
        assert answer.status >= 400
        out.add("refusals", answer.json, answer.headers)


def test_what_hooks_say_and_sources_are_called_stays_where_it_belongs(
    out: Collected, tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, tree = scenario.ground(tmp_path, "direct"), scenario.small_tree(tmp_path, NAMED)
    seen, client = install(tmp_path, settings), ApiClient()
    hooks = [{"moment": "before_job", "name": "speak"}, {"moment": "after_source", "name": "speak"}]
    sources = [{"type": "filesystem", "id": str(tree)}]
    job_id = client.post("jobs", job_body(place.repository, hooks=hooks, sources=sources)).json["id"]
    run = run_it(job_id)
    assert (run.state, TaskRun.objects.get().state) == (RunState.SUCCEEDED, "succeeded")
    refused(out, client, job_id)
    sent: list[object] = []
    monkeypatch.setattr(app, "send_task", lambda *args, **named: sent.append((args, named)))
    settings.SYNCOVA_BROKER_URL = "memory://"
    assert doorbell.ring(run.id, run.fence or 0, "direct")
    out.add("messages", sent)
    out.add("processes", seen.read_text())
    out.add("log", *(line.message for line in run_log.read(run.id)))
    entries = client.get("audit").json["entries"]
    # What a job is made of is told with it, as a change of it is.
    out.add("made", [one for one in entries if one["action"] == "job.create"])
    out.add("audit", [one for one in entries if one["action"] != "job.create"])
    for path in ("queue", f"runs/{run.id}", f"runs/{run.id}/events", "repositories", f"jobs/{job_id}", "jobs"):
        out.add(path.partition("/")[0], client.get(path).json)
    dump(out)
    assert "sh" in out.texts["processes"]
    assert out.holding(SAID) == ["log"]
    places = set(out.holding(NAMED))
    assert {"log", "jobs", "made", "table sources"} <= places
    assert not places & {"refusals", "messages", "processes", "audit", "queue", "repositories"}, places

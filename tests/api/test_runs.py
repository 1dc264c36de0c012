"""Runs over HTTP: history with delays, cancel, events and log (E1, E2, E4, A11, H6)."""

import datetime as dt

import pytest

from jobs import run_log, transitions
from jobs.conclusion import conclude
from jobs.database_time import database_now
from jobs.executors import ExecutionResult, Failure
from jobs.models import Run
from jobs.run_log import LogLine
from jobs.states import FailureClass
from tests.api.admin_pages import HOSTILE
from tests.api.builders import NOBODY, make_job, make_run, start
from tests.api.client import ApiClient
from tests.repositories.builders import make_repository

pytestmark = pytest.mark.django_db


def failed(run: Run, message: str = "The medium is full.") -> Run:
    """Start the run and let it fail for good."""
    fence = start(run)
    failure = Failure("REPOSITORY_FULL", message, FailureClass.CONFIGURATION, hint="Make room.")
    assert conclude(run.id, fence, ExecutionResult(failure=failure), now=database_now())
    return Run.objects.get(id=run.id)


def test_history_shows_the_delay_between_planned_and_started() -> None:
    """E4."""
    run = make_run()
    start(run, now=run.scheduled_for + dt.timedelta(seconds=90))
    (shown,) = ApiClient().get(f"jobs/{run.job_id}/runs").json["runs"]
    assert (shown["delay_seconds"], shown["postponed_seconds"]) == (90, 0)
    assert shown["started_at"] > shown["scheduled_for"]


def test_a_failed_run_says_why_and_what_to_do() -> None:
    """A11."""
    run = failed(make_run())
    shown = ApiClient().get(f"runs/{run.id}").json
    assert shown["failure"] == {
        "class": "configuration",
        "code": "REPOSITORY_FULL",
        "message": "The medium is full.",
        "hint": "Make room.",
    }
    assert (shown["state"], shown["reason"]) == ("failed", "The medium is full.")
    job = ApiClient().get(f"jobs/{run.job_id}").json
    assert job["last_run"] == {"id": str(run.id), "state": "failed", "finished_at": shown["finished_at"]}
    assert [one["id"] for one in ApiClient().get("jobs?last_state=failed").json["jobs"]] == [str(run.job_id)]


@pytest.mark.parametrize("address", ["runs/{}/cancel", "backup-runs/{}/cancel"])
def test_cancelling_answers_202_and_an_end_is_final(address: str) -> None:
    """E2: repeated while it runs 202, after the end 409."""
    run, client = make_run(), ApiClient()
    start(run)
    for _ in range(2):
        answer = client.post(address.format(run.id))
        assert (answer.status, answer.json["state"], answer.json["cancel"]["origin"]) == (202, "running", "user")
    waiting = make_run()
    answer = client.post(address.format(waiting.id))
    assert (answer.status, answer.json["state"]) == (202, "cancelled")
    error = client.post(address.format(waiting.id)).refused(409, "RUN_FINISHED")
    assert error["details"] == {"state": "cancelled"}
    client.post(address.format(NOBODY)).refused(404, "RUN_NOT_FOUND")


def test_filters_narrow_the_history() -> None:
    one, two = make_repository(), make_repository()
    waiting, ended = make_run(make_job(one)), failed(make_run(make_job(two, name="Needle")))

    def found(query: str) -> list[str]:
        return [run["id"] for run in ApiClient().get(f"runs?{query}").json["runs"]]

    assert found("") == [str(ended.id), str(waiting.id)]
    assert found("ordering=created_at") == [str(waiting.id), str(ended.id)]
    assert found("status=failed") == [str(ended.id)]
    assert found(f"repository={one.id}") == [str(waiting.id)]
    assert found(f"job={ended.job_id}") == [str(ended.id)]
    assert found("kind=restore") == []
    assert found("search=needle") == [str(ended.id)]
    assert found("search=REPOSITORY_FULL") == [str(ended.id)]
    for query in ("status=active", "job=x", "kind=x", "ordering=state", "cursor=x", "x=1", "search=%00"):
        assert ApiClient().get(f"runs?{query}").status == 400


def test_events_tell_every_move_in_order() -> None:
    run = failed(make_run())
    events = ApiClient().get(f"runs/{run.id}/events").json["events"]
    assert [event["code"] for event in events] == ["queued", "admitted", "started", "failed"]
    assert (events[2]["from"], events[2]["to"]) == ("queued", "running")
    rest = ApiClient().get(f"runs/{run.id}/events?after={events[1]['number']}&limit=1").json["events"]
    assert [event["code"] for event in rest] == ["started"]
    ApiClient().get(f"runs/{NOBODY}/events").refused(404, "RUN_NOT_FOUND")


def test_the_log_is_read_in_pages_and_keeps_hostile_lines_whole() -> None:
    """H6."""
    run = make_run()
    fence = start(run)
    lines = [LogLine(database_now(), "info", f"{number} {HOSTILE}") for number in range(25)]
    assert run_log.append(run.id, fence, lines, now=database_now())
    client = ApiClient()
    first = client.get(f"runs/{run.id}/log?limit=20").json
    rest = client.get(f"runs/{run.id}/log?after={first['lines'][-1]['number']}").json
    assert [line["message"] for line in first["lines"] + rest["lines"]] == [line.message for line in lines]
    assert (rest["truncated"], client.get(f"runs/{run.id}/log?after=25").json["lines"]) == (False, [])
    client.get(f"runs/{run.id}/log?after=-1").refused(400, "VALIDATION_FAILED")
    client.get(f"runs/{NOBODY}/log").refused(404, "RUN_NOT_FOUND")


def test_hostile_failure_messages_are_data() -> None:
    run = failed(make_run(make_job(name=HOSTILE)), message=HOSTILE)
    for address in ("runs", f"runs/{run.id}", f"jobs/{run.job_id}/runs"):
        answer = ApiClient().get(address)
        assert answer.status == 200
        assert HOSTILE in str(answer.json) or repr(HOSTILE)[1:-1] in str(answer.json)


def test_a_page_of_runs_is_read_by_key() -> None:
    """Execution.md, section 6: a cursor is the place after the last row, so new rows repeat none."""
    job, client = make_job(), ApiClient()
    made = []
    for _ in range(5):
        run = make_run(job)
        transitions.request_cancel(run.id, "user", "alice", now=database_now())  # type: ignore[arg-type]
        made.append(str(run.id))
    first = client.get("runs?limit=2").json
    newer = make_run(job)
    second = client.get(f"runs?limit=2&cursor={first['next_cursor']}").json
    third = client.get(f"runs?limit=2&cursor={second['next_cursor']}").json
    seen = [run["id"] for page in (first, second, third) for run in page["runs"]]
    assert seen == made[::-1]
    assert str(newer.id) not in seen
    assert third["next_cursor"] is None


def test_a_cursor_of_another_list_is_refused() -> None:
    client = ApiClient()
    for number in range(3):
        make_job(name=f"job {number}")
    page = client.get("jobs?limit=2").json
    cursor = page["next_cursor"]
    assert [job["name"] for job in client.get(f"jobs?limit=2&cursor={cursor}").json["jobs"]] == ["job 2"]
    for query in (f"limit=2&search=job&cursor={cursor}", f"ordering=-name&cursor={cursor}", f"cursor={cursor[:-1]}x"):
        client.get(f"jobs?{query}").refused(400, "CURSOR_REFUSED")
    client.get(f"runs?cursor={cursor}").refused(400, "CURSOR_REFUSED")

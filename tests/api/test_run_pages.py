"""What a run's page says beside its state: when a retry starts, what follows, what was found, silence (A10-A12, C3)."""

import datetime as dt
import re
import uuid
from typing import Any

import pytest
from django.db.models import F

from jobs.conclusion import conclude
from jobs.database_time import database_now
from jobs.executors import ExecutionResult, Failure
from jobs.models import Run
from jobs.states import FailureClass
from repositories.freezing import repository_freeze
from tests.api.builders import make_job, make_run, start
from tests.api.client import ApiClient

pytestmark = pytest.mark.django_db

RETRY = re.compile(r"Waits: attempt 2 of 3 starts at \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC, after SOURCE_MISSING\.")


def fail(run: Run) -> None:
    failure = Failure("SOURCE_MISSING", "/srv/data is missing.", FailureClass.SOURCE)
    assert conclude(run.id, start(run), ExecutionResult(failure=failure), now=database_now())


def page(run_id: Any) -> Any:
    return ApiClient().get(f"runs/{run_id}").json


def test_a_waiting_retry_says_when_and_after_what() -> None:
    """C3, A12: in lists, on its own page, on its job's, and beside the attempt that failed."""
    run = make_run()
    fail(run)
    retry = Run.objects.get(origin_run=run)
    (listed,) = ApiClient().get("runs?status=queued").json["runs"]
    active = ApiClient().get(f"jobs/{run.job_id}").json["active_run"]
    following = page(run.id)["followed_by"]
    for held in (page(retry.id)["held"], listed["held"], active["held"], following["held"]):
        assert (held["code"], held["subject"]) == ("not_before", "SOURCE_MISSING")
        assert RETRY.fullmatch(held["sentence"]), held
        assert f"{retry.not_before:%H:%M:%S}" in held["sentence"]
    assert (following["id"], following["attempt"], following["phase"]) == (str(retry.id), 2, "waiting")
    assert page(retry.id)["followed_by"] is None
    busy = ApiClient().post(f"jobs/{run.job_id}/run").refused(409, "JOB_ACTIVE")
    assert str(retry.id) in busy["message"]
    assert RETRY.search(busy["message"])
    assert RETRY.fullmatch(busy["details"]["reason"])


def test_a_run_that_no_pass_has_seen_says_so_at_once() -> None:
    """C3: no run waits without a reason, not even for a second."""
    run = make_run()
    for held in (page(run.id)["held"], ApiClient().get("runs?status=queued").json["runs"][0]["held"]):
        assert (held["code"], held["sentence"]) == ("next_pass", "Waits for the scheduler's next pass.")


def test_a_retry_whose_time_has_come_waits_for_something_else() -> None:
    run = make_run()
    fail(run)
    Run.objects.filter(origin_run=run).update(not_before=F("scheduled_for"))
    assert page(run.id)["followed_by"]["held"]["code"] == "next_pass"


def test_what_a_run_found_stands_on_its_page_alone() -> None:
    """A10: a swapped repository is recorded and shown with the run that saw it."""
    run, other = make_run(), make_run(make_job())
    reason = "The repository at its location was swapped."
    repository_freeze(repository_id=run.repository_id, reason=reason, run_id=run.id, now=database_now())
    repository_freeze(repository_id=run.repository_id, reason="by hand", run_id=uuid.uuid4(), now=database_now())
    assert [one["sentence"] for one in page(run.id)["findings"]] == [reason]
    assert page(other.id)["findings"] == []


def test_silence_is_told_once_several_signs_of_life_are_missing(settings: Any) -> None:
    settings.SYNCOVA_HEARTBEAT_SECONDS = 10
    run = make_run()
    start(run)
    assert page(run.id)["silent_since"] is None
    last = database_now() - dt.timedelta(seconds=31)
    Run.objects.filter(id=run.id).update(started_at=last, heartbeat_at=last, admitted_at=last, created_at=last)
    job = ApiClient().get(f"jobs/{run.job_id}").json
    shown = page(run.id)["silent_since"]
    assert dt.datetime.fromisoformat(shown) == last
    assert job["active_run"]["silent_since"] == shown

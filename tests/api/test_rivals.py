"""Requests at the same time: one outcome each, never a 500 (E2, E5)."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from jobs.models import Job, Run
from repositories.models import Repository
from tests import canaries
from tests.api.builders import job_body, make_job
from tests.api.client import Answer, ApiClient
from tests.jobs.rivals import at_once
from tests.repositories.builders import make_repository

pytestmark = pytest.mark.django_db(transaction=True)
RIVALS = 8


@pytest.fixture(autouse=True)
def _silent_bells(settings: Any) -> None:
    settings.SYNCOVA_WAKE = settings.SYNCOVA_DOORBELL = ""
    settings.SYNCOVA_INSPECT = "tests.repositories.doorbells.ring"


def eight(ask: Callable[[int], Answer]) -> list[Answer]:
    """Return the answers to eight requests that begin together."""
    return at_once([partial(ask, number) for number in range(RIVALS)])


def test_one_job_is_run_once_whoever_asks() -> None:
    """E2, D1: the others get 409 with the run."""
    job, client = make_job(), ApiClient()
    answers = eight(lambda _: client.post(f"jobs/{job.id}/run"))
    assert sorted(answer.status for answer in answers) == [202] + [409] * (RIVALS - 1)
    (run,) = Run.objects.all()
    for answer in answers:
        if answer.status == 409:
            assert answer.refused(409, "JOB_ACTIVE")["details"]["run_id"] == str(run.id)


def test_one_key_is_one_run_and_one_answer() -> None:
    """E5."""
    job, client = make_job(), ApiClient()
    answers = eight(lambda _: client.post(f"jobs/{job.id}/run", **{"Idempotency-Key": "one"}))
    assert {(answer.status, answer.json["id"]) for answer in answers} == {(202, str(Run.objects.get().id))}


def test_one_name_is_one_job() -> None:
    repository, client = make_repository(), ApiClient()
    body = job_body(repository)
    answers = eight(lambda number: client.post("jobs", {**body, "name": "STRASSE" if number % 2 else "strasse"}))
    assert sorted(answer.status for answer in answers) == [201] + [409] * (RIVALS - 1)
    assert Job.objects.count() == 1


def test_one_location_is_one_repository() -> None:
    client = ApiClient()
    body = {"location": "/srv/vault", "password": canaries.repository_password("registered")}
    answers = eight(lambda number: client.post("repositories", {**body, "name": f"vault {number}"}))
    assert sorted(answer.status for answer in answers) == [202] + [409] * (RIVALS - 1)
    assert Repository.objects.count() == 1


def test_pausing_and_running_at_once_leave_one_story() -> None:
    job, client = make_job(), ApiClient()
    answers = eight(lambda number: client.post(f"jobs/{job.id}/{'pause' if number % 2 else 'run'}"))
    assert {answer.status for answer in answers} <= {200, 202, 409}
    assert client.get(f"jobs/{job.id}").json["status"] == "paused"
    assert not Run.objects.filter(state="queued").exists()


def test_deleting_and_running_at_once_leave_one_story() -> None:
    job, client = make_job(), ApiClient()
    answers = eight(lambda number: client.delete(f"jobs/{job.id}") if number % 2 else client.post(f"jobs/{job.id}/run"))
    assert {answer.status for answer in answers} <= {202, 204, 404, 409}
    assert [answer.status for answer in answers].count(204) == 1
    assert not Run.objects.filter(state="queued").exists()


def test_of_changes_of_one_state_the_first_is_made() -> None:
    """7.15: PATCH/PATCH."""
    job, client = make_job(), ApiClient()
    answers = eight(
        lambda number: client.request("PATCH", f"jobs/{job.id}", {"name": f"job {number}"}, **{"If-Match": '"1"'})
    )
    assert sorted(answer.status for answer in answers) == [200] + [412] * (RIVALS - 1)
    (made,) = [answer.json for answer in answers if answer.status == 200]
    shown = client.get(f"jobs/{job.id}").json
    assert (shown["name"], shown["revision"]) == (made["name"], 2)
    for answer in answers:
        if answer.status == 412:
            assert answer.refused(412, "PRECONDITION_FAILED")["details"] == {"etag": '"2"'}


def test_changing_and_running_at_once_leave_one_story() -> None:
    """7.15: PATCH/run; the one run goes where its job goes, or the job stays where its run is."""
    job, client, other = make_job(), ApiClient(), make_repository()
    body = {"repository_id": str(other.id), "priority": "high"}

    def ask(number: int) -> Answer:
        if number % 2:
            return client.request("PATCH", f"jobs/{job.id}", body, **{"If-Match": "*"})
        return client.post(f"jobs/{job.id}/run")

    answers = eight(ask)
    assert sorted(answer.status for answer in answers) == [200] * 4 + [202] + [409] * 3
    run, kept = Run.objects.get(), Job.objects.get()
    assert (run.repository_id, run.priority, kept.revision_number) == (kept.repository_id, "high", 2)


def test_all_that_can_be_asked_of_a_job_at_once() -> None:
    """7.15: never a 500; what is deleted takes nothing more."""
    job, client = make_job(), ApiClient()
    asks: list[Callable[[], Answer]] = [
        lambda: client.request("PATCH", f"jobs/{job.id}", {"strict": True}, **{"If-Match": "*"}),
        lambda: client.post(f"jobs/{job.id}/run"),
        lambda: client.post(f"jobs/{job.id}/pause"),
        lambda: client.post(f"jobs/{job.id}/resume"),
        lambda: client.request("PATCH", f"jobs/{job.id}", {"schedules": []}, **{"If-Match": "*"}),
        lambda: client.request("PUT", f"jobs/{job.id}/dependencies", {"depends_on": []}),
        lambda: client.delete(f"jobs/{job.id}"),
        lambda: client.post("windows", {"name": "w", "type": "blackout", "start": "00:00", "length_seconds": 60}),
    ]
    answers = eight(lambda number: asks[number]())
    assert {answer.status for answer in answers} <= {200, 201, 202, 204, 404, 409}
    assert client.get(f"jobs/{job.id}").status == 404
    assert not Run.objects.filter(state="queued").exists()

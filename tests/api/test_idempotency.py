"""Every creating POST obeys its Idempotency-Key: one thing, one answer, whoever sends it how often (E5, 7.6, 7.15)."""

import json
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from django.urls import get_resolver

from jobs.models import Job, Run
from syncova_project.access.models import AuditEntry, IdempotencyKey
from tests import canaries
from tests.api.builders import job_body, make_job
from tests.api.client import Answer, ApiClient
from tests.api.test_schema import api_views
from tests.jobs.rivals import at_once
from tests.repositories.builders import make_repository

MANY = 50
ROOT = "/srv/restores"
# Repeating them does no harm, so that they need no key.
REPEATABLE = {"RunCancelView", "RepositoryLookView"}
WINDOW = {"name": "night", "type": "blackout", "days": ["mon"], "start": "01:00", "length_seconds": 60}


def of_repository(action: str, **body: Any) -> Callable[[], tuple[str, dict[str, Any]]]:
    return lambda: (f"repositories/{make_repository().id}/{action}", body)


CREATING: dict[str, Callable[[], tuple[str, dict[str, Any]]]] = {
    "JobsView": lambda: ("jobs", job_body(make_repository())),
    "JobRunView": lambda: (f"jobs/{make_job().id}/run", {}),
    "WindowsView": lambda: ("windows", WINDOW),
    "RepositoriesView": lambda: (
        "repositories",
        {"name": "v", "location": "/srv/v", "password": canaries.repository_password("registered")},
    ),
    "CheckView": of_repository("check"),
    "PruneView": of_repository("prune"),
    "ForgetView": of_repository("forget", keep_last=1),
    "CopyView": lambda: of_repository("copy", from_repository_id=str(make_repository().id))(),
    "RestoreView": of_repository("restore", backup="latest", target=f"{ROOT}/one"),
}


@pytest.fixture(autouse=True)
def _quiet(settings: Any) -> None:
    settings.SYNCOVA_WAKE = settings.SYNCOVA_DOORBELL = ""
    settings.SYNCOVA_INSPECT = "tests.repositories.doorbells.ring"
    settings.SYNCOVA_RESTORE_ROOTS = [ROOT]


def test_every_post_that_creates_is_here() -> None:
    """A token's answer is never kept; tests of tokens hold that."""
    found = {
        view.__name__
        for _, view in api_views(get_resolver().url_patterns)
        if "POST" in view.scopes and view.statuses.get("POST", 200) in {201, 202}
    }
    assert found == {*CREATING, *REPEATABLE, "TokensView"}


@pytest.mark.django_db
@pytest.mark.parametrize("name", CREATING)
def test_the_same_key_is_the_same_thing(name: str) -> None:
    address, body = CREATING[name]()
    client, key = ApiClient(), {"Idempotency-Key": "k-1"}
    first = client.post(address, body, **key)
    assert first.status in {201, 202}, first.json
    written = AuditEntry.objects.count()
    again = client.post(address, body, **key)
    assert (again.status, again.json) == (first.status, first.json)
    assert again.headers["Location"] == first.headers["Location"]
    assert again.headers.get("ETag") == first.headers.get("ETag")
    assert (again.headers["Idempotency-Replayed"], "Idempotency-Replayed" in first.headers) == ("true", False)
    assert AuditEntry.objects.count() == written
    other_bytes = json.dumps(body) + " "
    client.post(address, other_bytes, **key).refused(409, "IDEMPOTENCY_KEY_REUSED")


@pytest.mark.django_db
def test_a_refusal_is_not_kept_and_the_key_stays_free() -> None:
    job, client, key = make_job(), ApiClient(), {"Idempotency-Key": "k"}
    client.post(f"jobs/{job.id}/pause")
    client.post(f"jobs/{job.id}/run", {}, **key).refused(409, "JOB_PAUSED")
    assert not IdempotencyKey.objects.exists()
    client.post(f"jobs/{job.id}/resume")
    assert client.post(f"jobs/{job.id}/run", {}, **key).status == 202


@pytest.mark.django_db
def test_two_callers_with_one_key_are_two_requests() -> None:
    job, key = make_job(), {"Idempotency-Key": "k"}
    assert ApiClient().post(f"jobs/{job.id}/run", {}, **key).status == 202
    ApiClient().post(f"jobs/{job.id}/run", {}, **key).refused(409, "JOB_ACTIVE")


def fifty(ask: Callable[[int], Answer]) -> list[Answer]:
    """Return the answers to fifty requests that begin together."""
    return at_once([partial(ask, number) for number in range(MANY)])


@pytest.mark.django_db(transaction=True)
def test_fifty_requests_with_one_key_are_one_run() -> None:
    """7.15; who waited for five seconds is told so."""
    job, client = make_job(), ApiClient()
    answers = fifty(lambda _: client.post(f"jobs/{job.id}/run", {}, **{"Idempotency-Key": "one"}))
    run = Run.objects.get()
    done = [answer for answer in answers if answer.status == 202]
    assert {answer.json["id"] for answer in done} == {str(run.id)}
    assert sum("Idempotency-Replayed" not in answer.headers for answer in done) == 1
    for answer in answers:
        if answer.status != 202:
            answer.refused(409, "IDEMPOTENCY_IN_PROGRESS")
    assert IdempotencyKey.objects.count() == 1
    assert AuditEntry.objects.filter(action="run.request").count() == 1


@pytest.mark.django_db(transaction=True)
def test_fifty_requests_with_fifty_keys_have_one_outcome_each() -> None:
    """7.15: one run, 49 refusals that name it; asked again, each gets the outcome that is now true."""
    job, client = make_job(), ApiClient()
    answers = fifty(lambda number: client.post(f"jobs/{job.id}/run", {}, **{"Idempotency-Key": str(number)}))
    run = Run.objects.get()
    assert sorted(answer.status for answer in answers) == [202] + [409] * (MANY - 1)
    for answer in answers:
        if answer.status == 409:
            assert answer.refused(409, "JOB_ACTIVE")["details"]["run_id"] == str(run.id)
    assert IdempotencyKey.objects.count() == 1
    assert Job.objects.count() == 1

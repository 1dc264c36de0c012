"""An answer that is given again shows nothing that the caller no longer sees or may no longer do (E5, 7.8)."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User

from repositories.models import Repository
from syncova_project.access.models import SightLimit
from tests import canaries
from tests.api.builders import job_body, make_job
from tests.api.test_idempotency import WINDOW
from tests.api.test_visibility_of_people import api_of, person
from tests.repositories.builders import make_repository

pytestmark = pytest.mark.django_db
KEY = {"Idempotency-Key": "k"}
NEW: dict[str, Callable[[Repository], tuple[str, dict[str, Any]]]] = {
    "jobs": lambda far: ("jobs", job_body(far)),
    "runs": lambda far: (f"jobs/{make_job(far).id}/run", {}),
    "checks": lambda far: (f"repositories/{far.id}/check", {}),
    "windows": lambda far: ("windows", {**WINDOW, "repository_id": str(far.id)}),
    "repositories": lambda _: (
        "repositories",
        {
            "name": "v",
            "location": "/srv/v",
            "password": canaries.repository_password("registered"),
            "worker_group": "beta",
        },
    ),
}


@pytest.fixture(autouse=True)
def _quiet(settings: Any) -> None:
    settings.SYNCOVA_WAKE = settings.SYNCOVA_DOORBELL = ""
    settings.SYNCOVA_INSPECT = "tests.repositories.doorbells.ring"


def limit(user: User) -> None:
    SightLimit.objects.create(user=user, worker_groups=["default"])


@pytest.mark.parametrize("kind", NEW)
def test_what_is_no_longer_seen_is_not_shown_again(kind: str) -> None:
    user = person(name="lim")
    client, (address, body) = api_of(user), NEW[kind](make_repository(worker_group="beta"))
    made = client.post(address, body, **KEY)
    assert made.status in {201, 202}, made.json
    limit(user)
    read = client.get(made.headers["Location"])
    again = client.post(address, body, **KEY)
    # The address of a repository, or of its job, is refused before its key is looked at.
    assert (read.status, again.status) == (404, 404)
    if "/" not in address:
        assert again.json == read.json


def test_a_seen_job_is_not_shown_as_it_was_for_a_wider_sight() -> None:
    user, far = person(name="lim"), make_job(make_repository(worker_group="beta"), name="secret job")
    client, body = api_of(user), job_body(make_repository(), depends_on=[str(far.id)])
    made = client.post("jobs", body, **KEY)
    assert made.status == 201, made.json
    limit(user)
    error = client.post("jobs", body, **KEY).refused(409, "ANSWER_NOT_SHOWN_AGAIN")
    assert error["details"] == {"location": f"/api/v1/jobs/{made.json['id']}"}
    assert client.get(f"jobs/{made.json['id']}").json["unseen_dependencies"] == 1


def test_who_saw_no_more_than_now_gets_the_answer_again() -> None:
    user = person("default", name="lim")
    client, body = api_of(user), job_body(make_repository())
    made = client.post("jobs", body, **KEY)
    SightLimit.objects.all().update(worker_groups=["beta", "default"])
    again = client.post("jobs", body, **KEY)
    assert (again.status, again.json) == (201, made.json)


def test_who_lost_the_right_gets_no_answer_again() -> None:
    user = person(name="lim")
    client, body = api_of(user), job_body(make_repository())
    assert client.post("jobs", body, **KEY).status == 201
    user.groups.clear()
    client.post("jobs", body, **KEY).refused(403, "PERMISSION_DENIED")

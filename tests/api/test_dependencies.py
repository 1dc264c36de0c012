"""Dependencies, deadlines and breakers over HTTP (C4, 6.3)."""

import datetime as dt

import pytest

from jobs.database_time import database_now
from jobs.models import RepositoryBreaker
from syncova_project.access.models import AuditEntry
from tests.api.builders import NOBODY, job_body, make_job
from tests.api.client import ApiClient
from tests.repositories.builders import make_repository

pytestmark = pytest.mark.django_db


def test_a_job_is_made_with_dependencies_and_a_deadline_and_shows_them() -> None:
    client, first = ApiClient(), make_job()
    body = job_body(make_repository()) | {"depends_on": [str(first.id)], "start_deadline_seconds": 7200}
    job = client.post("jobs", body).json
    assert (job["depends_on"], job["start_deadline_seconds"]) == ([{"id": str(first.id), "name": first.name}], 7200)
    assert client.get(f"jobs/{job['id']}").json["depends_on"] == job["depends_on"]


def test_dependencies_are_replaced_as_a_whole() -> None:
    client, first, job = ApiClient(), make_job(), make_job()
    address = f"jobs/{job.id}/dependencies"
    assert client.request("PUT", address, {"depends_on": [str(first.id)]}).json["depends_on"][0]["id"] == str(first.id)
    assert client.request("PUT", address, {"depends_on": []}).json["depends_on"] == []
    assert client.get(f"jobs/{job.id}").json["revision"] == 3


def test_a_cycle_and_what_is_no_job_are_refused() -> None:
    """C4."""
    client, job = ApiClient(), make_job()
    address = f"jobs/{job.id}/dependencies"
    error = client.request("PUT", address, {"depends_on": [str(job.id)]}).refused(409, "DEPENDENCY_CYCLE")
    assert error["details"] == {"jobs": [job.name, job.name]}
    error = client.request("PUT", address, {"depends_on": [NOBODY]}).refused(400, "VALIDATION_FAILED")
    assert list(error["details"]) == ["depends_on.0"]
    client.request("PUT", f"jobs/{NOBODY}/dependencies", {"depends_on": []}).refused(404, "JOB_NOT_FOUND")
    reader = ApiClient("jobs.read", "jobs.run")
    reader.request("PUT", address, {"depends_on": []}).refused(403, "PERMISSION_DENIED")


def test_a_job_that_others_wait_for_is_not_deleted() -> None:
    first, other = make_job(), make_job()
    ApiClient().request("PUT", f"jobs/{other.id}/dependencies", {"depends_on": [str(first.id)]})
    assert ApiClient().delete(f"jobs/{first.id}").refused(409, "JOB_NEEDED")["details"] == {"jobs": [other.name]}


def test_ignoring_dependencies_is_a_right_of_its_own() -> None:
    """execution.md, section 2."""
    job, order = make_job(), {"ignore_dependencies": True}
    ApiClient("jobs.run").post(f"jobs/{job.id}/run", order).refused(403, "PERMISSION_DENIED")
    run = ApiClient("jobs.run", "jobs.write").post(f"jobs/{job.id}/run", order).json
    assert run["ignore_dependencies"] is True
    assert AuditEntry.objects.get(action="run.request").details["ignore_dependencies"] is True


def test_whoever_mended_a_repository_lets_it_be_tried_at_once() -> None:
    repository, now = make_repository(), database_now()
    opened = {"failures": 3, "trips": 1, "open_until": now + dt.timedelta(minutes=5), "error_code": "X"}
    RepositoryBreaker.objects.create(repository=repository, updated_at=now, **opened)
    address = f"repositories/{repository.id}/breaker/reset"
    ApiClient("repositories.read").post(address).refused(403, "PERMISSION_DENIED")
    assert ApiClient().post(address).json["name"] == repository.name
    assert RepositoryBreaker.objects.get().open_until is None
    ApiClient().post(f"repositories/{NOBODY}/breaker/reset").refused(404, "REPOSITORY_UNKNOWN")

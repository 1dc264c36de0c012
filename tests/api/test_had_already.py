"""Readers who say what they have: 304 as long as it holds, by RFC 9110, section 13.1.2; over HTTP too."""

import http.client
from typing import Any
from urllib.parse import urlsplit

import pytest

from jobs.database_time import database_now
from jobs.models import Job
from jobs.services import run_request
from syncova_project.preconditions import etag, has_already
from tests.api.builders import job_body
from tests.api.client import ApiClient
from tests.repositories.builders import make_repository

TAG = '"3-ab"'


@pytest.mark.parametrize(
    ("header", "has"),
    [
        (None, False),
        ("*", True),
        (" * ", True),
        (TAG, True),
        (f"W/{TAG}", True),
        (f'"x", {TAG}', True),
        (f', W/"a,b" ,{TAG},', True),
        ('"3"', False),
        ("3-ab", False),
        ('"3-AB"', False),
        (f"w/{TAG}", False),
        (f"{TAG} x", False),
        (f"*, {TAG}", False),
        ("", False),
        ('"', False),
    ],
)
def test_tags_are_compared_weakly_and_anything_else_names_none(header: str | None, *, has: bool) -> None:
    assert has_already(header, TAG) is has


@pytest.mark.django_db
def test_a_job_is_not_sent_again_until_something_of_it_is_another() -> None:
    """A new run is none of its revisions, yet shown: the copy that somebody has is old then."""
    client = ApiClient()
    made = client.post("jobs", job_body(make_repository()))
    address, tag = f"jobs/{made.json['id']}", str(made.headers["ETag"])
    for header in (tag, f"W/{tag}", "*"):
        again = client.get(address, **{"If-None-Match": header})
        assert (again.status, again.json, again.headers["ETag"]) == (304, None, tag), header
        assert "Content-Type" not in again.headers
    assert client.get(address, **{"If-None-Match": etag(1)}).status == 200
    run_request(job_id=Job.objects.get().id, actor="alice", now=database_now())
    changed = client.get(address, **{"If-None-Match": tag})
    assert (changed.status, changed.json["revision"]) == (200, 1)
    # What it shows is another one, what a change is made for is not.
    assert client.request("PATCH", address, {"strict": True}, **{"If-Match": tag}).json["revision"] == 2
    client.request("PATCH", address, {"strict": False}, **{"If-Match": tag}).refused(412, "PRECONDITION_FAILED")
    client.get("jobs/00000000-0000-0000-0000-000000000000", **{"If-None-Match": "*"}).refused(404, "JOB_NOT_FOUND")
    ApiClient("runs.read").get(address, **{"If-None-Match": "*"}).refused(403, "PERMISSION_DENIED")


@pytest.mark.django_db(transaction=True)
def test_over_http_nothing_follows_it(live_server: Any, settings: Any) -> None:
    settings.SYNCOVA_WAKE = settings.SYNCOVA_DOORBELL = ""
    client = ApiClient()
    made, place = client.post("jobs", job_body(make_repository())), urlsplit(live_server.url)
    connection = http.client.HTTPConnection(str(place.hostname), place.port, timeout=60)
    for _ in range(2):
        headers = {**client.headers, "If-None-Match": str(made.headers["ETag"])}
        connection.request("GET", f"/api/v1/jobs/{made.json['id']}", headers=headers)
        answer = connection.getresponse()
        assert (answer.status, answer.read(), answer.headers["ETag"]) == (304, b"", made.headers["ETag"])
        assert "Content-Length" not in answer.headers
    connection.close()

"""A copy may read from a repository that readers of its run do not see: for them it is "another repository" (7.8)."""

from typing import Any

import pytest
from django.urls import reverse

from syncova_project.access.models import AuditEntry
from tests.api.client import ApiClient
from tests.api.test_visibility_of_people import api_of, pages_of, person
from tests.repositories.builders import make_repository

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _quiet(settings: Any) -> None:
    settings.SYNCOVA_WAKE = settings.SYNCOVA_DOORBELL = ""


def test_only_who_sees_the_origin_reads_its_id() -> None:
    here, far = make_repository(), make_repository(worker_group="beta")
    run = ApiClient().post(f"repositories/{here.id}/copy", {"from_repository_id": str(far.id)}).json["id"]
    limited = person("default", name="lim")
    for client, shown in ((ApiClient(), str(far.id)), (api_of(limited), "another repository")):
        assert client.get(f"runs/{run}").json["parameters"]["from_repository_id"] == shown
        entries = client.get("audit?action=run.request").json["entries"]
        assert [one["details"]["parameters"]["from_repository_id"] for one in entries] == [shown]
    entry = AuditEntry.objects.get(action="run.request")
    pages = pages_of(limited)
    addresses = [
        reverse("admin:jobs_run_change", args=[run]),
        reverse("admin:access_auditentry_change", args=[entry.pk]),
    ]
    for address in addresses:
        page = pages.get(address).content.decode()
        assert ("another repository" in page, str(far.id) in page) == (True, False), address


def test_an_origin_that_is_seen_keeps_its_id() -> None:
    here, there = make_repository(), make_repository()
    client = api_of(person("default", name="lim"))
    run = client.post(f"repositories/{here.id}/copy", {"from_repository_id": str(there.id)}).json["id"]
    assert client.get(f"runs/{run}").json["parameters"]["from_repository_id"] == str(there.id)
    assert str(there.id) in str(client.get("audit?action=run.request").json)

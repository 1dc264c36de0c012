"""Names of new things are seen whole, in one line and one direction; what has another one from before keeps it."""

from typing import Any

import pytest
from django.core.management import CommandError, call_command

from jobs.models import Job, Window
from syncova_project.access.models import ApiToken
from syncova_project.plain_names import is_plain
from tests.api.builders import job_body, make_job
from tests.api.client import ApiClient
from tests.repositories.builders import make_repository

pytestmark = pytest.mark.django_db
BAD = ["a\nb", "a\x1b[31m", "a\u202eb", "a\tb", "a\u2028b", "a\x9bb", "a\u2066b"]
WINDOW = {"type": "blackout", "days": ["mon"], "start": "01:00", "length_seconds": 60}


@pytest.mark.parametrize("name", BAD)
def test_what_is_not_seen_is_in_no_new_name(name: str) -> None:
    client, job = ApiClient(), make_job()
    body = job_body(make_repository(), name=name)
    window: dict[str, Any] = {**WINDOW, "name": name}
    changed = {"name": name}
    for answer in (
        client.post("jobs", body),
        client.request("PATCH", f"jobs/{job.id}", changed, **{"If-Match": "*"}),
        client.post("windows", window),
        client.post("tokens", {"name": name, "scopes": ["jobs.read"]}),
    ):
        assert "one line" in answer.refused(400, "VALIDATION_FAILED")["details"]["name"][0]
    assert list(client.post("jobs/validate", body).json["errors"]) == ["name"]
    with pytest.raises(CommandError, match="one line"):
        call_command("token_create", name)
    assert not Job.objects.filter(name=name).exists()
    assert not Window.objects.exists()
    assert not ApiToken.objects.filter(name=name).exists()


@pytest.mark.parametrize("name", ["Büro (2)", "סוד", "日本", "a\u200db", "😀"])
def test_every_writing_is_plain(name: str) -> None:
    assert is_plain(name)
    assert ApiClient().post("jobs", job_body(make_repository(), name=name)).json["name"] == name


def test_a_job_that_has_such_a_name_is_changed_all_the_same() -> None:
    job = make_job(name=BAD[0])
    changed = ApiClient().request("PATCH", f"jobs/{job.id}", {"name": BAD[0], "priority": "high"}, **{"If-Match": "*"})
    assert (changed.json["name"], changed.json["priority"]) == (BAD[0], "high")

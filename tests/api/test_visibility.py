"""A token that sees one worker group's repositories finds nothing of the others', at any address (7.8)."""

import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from django.urls import get_resolver

from jobs.models import Job, Run, Window
from repositories.freezing import repository_freeze, repository_unfreeze
from repositories.models import Backup, Repository
from syncova_project import clock
from syncova_project.access.models import ApiToken
from syncova_project.access.scopes import ALL_SCOPES
from syncova_project.access.services import token_create
from syncova_project.access.visibility import GUARDS, visible_groups
from tests import canaries
from tests.api.builders import job_body, make_job, make_run
from tests.api.client import ApiClient
from tests.api.test_schema import api_views
from tests.jobs.builders import make_runner
from tests.repositories.builders import NOW, make_backup, make_repository

pytestmark = pytest.mark.django_db
# Their own selectors ask whether the repository is seen.
BY_SELECTOR = {"backup_id", "lookup_id"}
BLACKOUT = {"type": "blackout", "days": ["mon"], "start": "01:00", "length_seconds": 60}


@dataclass(frozen=True, slots=True)
class Side:
    """What one worker group has."""

    repository: Repository
    job: Job
    run: Run
    window: str
    backup: Backup

    def parts(self) -> dict[str, Any]:
        return {
            "repository_id": self.repository.id,
            "job_id": self.job.id,
            "run_id": self.run.id,
            "window_id": self.window,
            "backup_id": self.backup.pk,
            "backup": self.backup.backup_id,
            "lookup_id": uuid.uuid4(),
            "kind": "prune",
        }


@pytest.fixture(autouse=True)
def _quiet(settings: Any) -> Iterator[None]:
    settings.SYNCOVA_WAKE = settings.SYNCOVA_DOORBELL = ""
    settings.SYNCOVA_INSPECT = "tests.repositories.doorbells.ring"
    yield
    assert visible_groups() is None


def side(group: str) -> Side:
    repository = make_repository(name=group, worker_group=group)
    job = make_job(repository, name=f"{group} job")
    window = ApiClient().post("windows", {**BLACKOUT, "name": f"{group} window", "repository_id": str(repository.id)})
    repository_freeze(repository_id=repository.id, reason=f"{group} reason", now=NOW)
    return Side(repository, job, make_run(job), window.json["id"], make_backup(repository))


def client_of(*groups: str) -> ApiClient:
    for group in groups:
        make_runner(group)
    return ApiClient(token=token_create(name="c", scopes=ALL_SCOPES, now=clock.now(), worker_groups=groups)[1])


def addresses() -> Iterator[tuple[str, str]]:
    """Yield (method, pattern) of every address that names something of a repository."""
    for address, view in api_views(get_resolver().url_patterns):
        if "{" in address and "token_id" not in address:
            for method in view.scopes:
                yield method, address


def test_every_part_of_an_address_is_guarded() -> None:
    parts = {part for _, address in addresses() for part in _parts(address)}
    assert parts - {"kind", "backup"} <= set(GUARDS) | BY_SELECTOR


def _parts(address: str) -> list[str]:
    return [word.partition("}")[0] for word in address.split("{")[1:]]


def test_nothing_of_another_group_is_at_any_address() -> None:
    south, client = side("south"), client_of("north")
    counts = (Run.objects.count(), Window.objects.count(), Job.objects.filter(paused_at=None).count())
    answered = {}
    for method, address in addresses():
        answer = client.request(method, address.format(**south.parts()), {}, **{"If-Match": "*"})
        answered[f"{method} {address}"] = answer.status
        assert "south" not in str(answer.json)
    assert len(answered) >= 30
    assert {where: status for where, status in answered.items() if status != 404} == {}
    assert counts == (Run.objects.count(), Window.objects.count(), Job.objects.filter(paused_at=None).count())


def test_ones_own_is_there() -> None:
    north, client = side("north"), client_of("north")
    for address in ("jobs/{job_id}", "runs/{run_id}", "repositories/{repository_id}", "windows/{window_id}"):
        assert client.get(address.format(**north.parts())).status == 200


@pytest.mark.parametrize(
    "address",
    [
        "jobs",
        "runs",
        "queue",
        "repositories",
        "windows",
        "backups",
        "audit",
        "jobs?search=south",
        "runs?search=south",
        "repositories?search=south",
        "audit?action=job.create",
    ],
)
def test_lists_and_searches_hold_ones_own_alone(address: str) -> None:
    side("north")
    south = side("south")
    text = str(client_of("north").get(address).json)
    shown = [str(value) for value in south.parts().values()] + ["south"]
    assert not any(word in text for word in shown if word != "prune")
    everything = str(client_of("north", "south").get(address).json)
    assert any(word in everything for word in shown if word != "prune")


def test_the_queue_counts_what_is_seen() -> None:
    side("north")
    side("south")
    assert (client_of("north").get("queue").json["waiting"], ApiClient().get("queue").json["waiting"]) == (1, 2)


def test_bodies_cannot_name_what_is_not_seen() -> None:
    north, south, client = side("north"), side("south"), client_of("north")
    repository_unfreeze(repository_id=north.repository.id, actor="alice", now=NOW)
    foreign = job_body(south.repository, name="new")
    assert client.post("jobs", foreign).refused(400, "VALIDATION_FAILED")["details"].keys() == {"repository_id"}
    own = job_body(north.repository, name="new", depends_on=[str(south.job.id)])
    client.post("jobs", own).refused(400, "VALIDATION_FAILED")
    address, any_state = f"jobs/{north.job.id}", {"If-Match": "*"}
    client.request("PATCH", address, {"repository_id": str(south.repository.id)}, **any_state).refused(
        400, "VALIDATION_FAILED"
    )
    client.request("PUT", f"{address}/dependencies", {"depends_on": [str(south.job.id)]}).refused(
        400, "VALIDATION_FAILED"
    )
    for level in ({"repository_id": str(south.repository.id)}, {"job_id": str(south.job.id)}):
        client.post("windows", {**BLACKOUT, "name": "w", **level}).refused(400, "VALIDATION_FAILED")
    preview = {"schedule": {"type": "hourly", "minute": 0}, "repository_id": str(south.repository.id)}
    refused = client.post("jobs/preview", preview).refused(400, "VALIDATION_FAILED")
    unknown = client.post("jobs/preview", {**preview, "repository_id": str(uuid.uuid4())})
    assert unknown.refused(400, "VALIDATION_FAILED") == refused
    assert client.post("jobs/preview", {**preview, "repository_id": str(north.repository.id)}).status == 200
    copy = {"from_repository_id": str(south.repository.id)}
    client.post(f"repositories/{north.repository.id}/copy", copy).refused(400, "VALIDATION_FAILED")


def test_what_reaches_everybody_is_for_those_who_see_everybody() -> None:
    client, body = client_of("north"), {**BLACKOUT, "name": "all"}
    client.post("windows", body).refused(403, "PERMISSION_DENIED")
    client.post("windows/preview", body).refused(403, "PERMISSION_DENIED")
    window = ApiClient().post("windows", body).json["id"]
    assert client.get(f"windows/{window}").status == 200
    client.request("PUT", f"windows/{window}", body).refused(403, "PERMISSION_DENIED")
    client.delete(f"windows/{window}").refused(403, "PERMISSION_DENIED")
    new = {
        "name": "v",
        "location": "/srv/v",
        "password": canaries.repository_password("registered"),
        "worker_group": "south",
    }
    client.post("repositories", new).refused(403, "PERMISSION_DENIED")
    assert client.post("repositories", {**new, "worker_group": "north"}).status == 202


def test_a_token_sees_no_more_than_its_maker() -> None:
    client = client_of("north")
    body = {"name": "child", "scopes": ["jobs.read"]}
    made = client.post("tokens", body)
    assert made.json["worker_groups"] == ["north"]
    refused = client.post("tokens", {**body, "worker_groups": ["North", "south"]}).refused(403, "PERMISSION_DENIED")
    assert refused["details"] == {"lacking": ["south"]}
    wide = client_of("north", "south").post("tokens", {**body, "worker_groups": ["South"]})
    assert wide.json["worker_groups"] == ["south"]
    assert ApiToken.objects.get(prefix=wide.json["id"]).worker_groups == ["south"]


def test_a_token_is_not_limited_to_a_group_that_nobody_knows() -> None:
    """By its repositories or its workers; what a slip of the pen would make sees nothing, without a word."""
    make_repository(worker_group="East")
    make_runner("west")
    body, client = {"name": "child", "scopes": ["jobs.read"]}, ApiClient()
    asked = {**body, "worker_groups": ["default", "EAST", "West"]}
    assert client.post("tokens", asked).json["worker_groups"] == ["default", "east", "west"]
    refused = client.post("tokens", {**body, "worker_groups": ["east", "esat"]}).refused(400, "VALIDATION_FAILED")
    assert refused["details"] == {"worker_groups": ["There is no worker group esat."]}
    assert "default, east, west" in refused["hint"]
    client = client_of("west")
    client.post("tokens", {**body, "worker_groups": ["esat"]}).refused(403, "PERMISSION_DENIED")
    assert ApiToken.objects.filter(name="child").count() == 1


def test_sight_ends_with_the_request() -> None:
    south = side("south")
    client_of("north").get(f"jobs/{south.job.id}").refused(404, "JOB_NOT_FOUND")
    assert ApiClient().get(f"jobs/{south.job.id}").status == 200

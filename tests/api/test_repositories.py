"""Repositories over HTTP: listed with what they accept and why not, registered with 202 (E1, E5, E7)."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from repositories.control_plane import reindex_wanted
from repositories.freezing import repository_freeze, repository_unfreeze
from repositories.models import Repository
from repositories.services import observe_repository_id, repository_inspected, repository_inspection_failed
from syncova_project import clock
from syncova_project.access.models import AuditEntry
from tests import canaries
from tests.api.client import ApiClient
from tests.repositories import doorbells
from tests.repositories.builders import NOW, make_repository, new_id, random_hex

pytestmark = pytest.mark.django_db
NOBODY = "repositories/01900000-0000-7000-8000-000000000000"
BODY = {"name": "vault", "location": "/srv/vault", "password": canaries.repository_password("vault")}
HOSTILE = "a\x1b[31m\u202e<script>alert(1)</script>[/b]\n\t'\"\\"


@pytest.fixture(autouse=True)
def _recording_doorbell(settings: Any) -> Iterator[None]:
    settings.SYNCOVA_INSPECT = "tests.repositories.doorbells.ring"
    doorbells.RUNG.clear()
    yield
    doorbells.RUNG.clear()


def test_registering_answers_202_and_rings_after_commit(django_capture_on_commit_callbacks: Any) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        answer = ApiClient().post("repositories", BODY)
    assert answer.status == 202
    repository = Repository.objects.get()
    assert answer.headers["Location"] == f"/api/v1/repositories/{repository.id}"
    assert [(repository.id, "default")] == doorbells.RUNG
    assert "CANARY" not in str(answer.json)
    assert answer.json["state"] == "registering"
    assert (answer.json["accepts_backups"], answer.json["refusal_code"]) == (False, "REPOSITORY_NOT_OPENED")
    shown = ApiClient().get(f"repositories/{repository.id}")
    assert shown.status == 200
    assert shown.json.items() >= answer.json.items()


def test_registering_is_audited_with_the_token_and_the_request() -> None:
    ApiClient().post("repositories", BODY, **{"X-Request-ID": "request-9"})
    entry = AuditEntry.objects.get(action="repository.register")
    assert entry.actor.startswith("token:tester (")
    assert (entry.request_id, entry.address) == ("request-9", "127.0.0.1")
    assert "CANARY" not in str(entry.details)


def test_the_same_key_registers_once() -> None:
    """E5."""
    client, key = ApiClient(), {"Idempotency-Key": "k1"}
    first = client.post("repositories", BODY, **key)
    again = client.post("repositories", BODY, **key)
    assert (again.status, again.json, again.headers["Location"]) == (202, first.json, first.headers["Location"])
    assert again.headers["Idempotency-Replayed"] == "true"
    assert Repository.objects.count() == 1
    client.post("repositories", {**BODY, "name": "other"}, **key).refused(409, "IDEMPOTENCY_KEY_REUSED")
    client.post("repositories", BODY, **{"Idempotency-Key": ""}).refused(400, "VALIDATION_FAILED")


def test_a_refused_registration_keeps_no_key() -> None:
    client, key = ApiClient(), {"Idempotency-Key": "k1"}
    client.post("repositories", {**BODY, "location": "relative"}, **key).refused(400, "VALIDATION_FAILED")
    assert client.post("repositories", BODY, **key).status == 202


@pytest.mark.parametrize(
    ("change", "status", "code"),
    [
        ({"password": ""}, 400, "ENCRYPTION_REQUIRED"),
        ({"location": "relative"}, 400, "VALIDATION_FAILED"),
        ({"location": "b2://bucket"}, 400, "LOCATION_NOT_AVAILABLE"),
        ({"location": "sftp://me:secret@host/x"}, 400, "VALIDATION_FAILED"),
        ({"location": "s3:bucket/x"}, 400, "LOCATION_NOT_AVAILABLE"),
        ({"name": "TAKEN"}, 409, "REPOSITORY_NAME_TAKEN"),
        ({"location": "/srv/taken/"}, 409, "REPOSITORY_ALREADY_REGISTERED"),
        ({"name": "a\0b"}, 400, "VALIDATION_FAILED"),
        ({"name": "\ud800"}, 400, "VALIDATION_FAILED"),
        ({"name": 7.5}, 400, "VALIDATION_FAILED"),
        ({"location": "/\udcff"}, 400, "VALIDATION_FAILED"),
        ({"password": "\udcff"}, 400, "VALIDATION_FAILED"),
        ({"worker_group": "a b"}, 400, "VALIDATION_FAILED"),
        ({"password": {"a": 1}}, 400, "VALIDATION_FAILED"),
    ],
)
def test_what_cannot_be_registered(change: dict[str, Any], status: int, code: str) -> None:
    make_repository(name="taken", location="/srv/taken")
    ApiClient().post("repositories", {**BODY, **change}).refused(status, code)
    assert Repository.objects.count() == 1


def test_the_list_shows_all_with_their_reasons_in_two_queries_more_than_the_token() -> None:
    """E7: those that take nothing are listed with the reason."""
    make_repository(name="b", state="failed", state_code="WRONG_PASSWORD", state_reason="No slot.", repository_id=None)
    frozen = make_repository(name="A")
    repository_freeze(repository_id=frozen.id, reason="lost data", now=NOW)
    make_repository(name="c")
    client = ApiClient()
    client.get("repositories")
    with CaptureQueriesContext(connection) as queries:
        answer = client.get("repositories")
    assert len(queries) == 3
    found = [(row["name"], row["accepts_backups"], row["refusal_code"]) for row in answer.json["repositories"]]
    assert found == [("A", False, "REPOSITORY_FROZEN"), ("b", False, "REPOSITORY_FAILED"), ("c", True, None)]
    assert answer.json["repositories"][0]["freezes"][0]["reason"] == "lost data"
    assert [row["name"] for row in client.get("repositories?search=B").json["repositories"]] == ["b"]


def test_a_swapped_medium_is_shown() -> None:
    """A10."""
    repository = make_repository(observed_repository_id=random_hex(), observed_at=NOW)
    assert ApiClient().get(f"repositories/{repository.id}").json["swapped"] is True


def test_an_unknown_repository_is_404() -> None:
    ApiClient().get("repositories/01900000-0000-7000-8000-000000000000").refused(404, "REPOSITORY_UNKNOWN")


def test_hostile_names_come_back_as_they_were_sent() -> None:
    wanted = {**BODY, "location": "/srv/" + HOSTILE}
    refused = ApiClient().post("repositories", wanted | {"name": HOSTILE}).refused(400, "VALIDATION_FAILED")
    assert "one line" in refused["details"]["name"][0]
    answer = ApiClient().post("repositories", wanted)
    assert answer.status == 202
    # A name from before names were judged.
    Repository.objects.update(name=HOSTILE)
    assert ApiClient().get(f"repositories/{answer.json['id']}").json["name"] == HOSTILE
    assert answer.json["location"] == "/srv/" + HOSTILE


def test_freezing_and_clearing_over_http() -> None:
    """G1, G5: setting twice is harmless, clearing closes all, both are audited."""
    repository, client = make_repository(), ApiClient()
    address = f"repositories/{repository.id}"
    for _ in range(2):
        frozen = client.post(f"{address}/freeze", {"reason": "the disk makes noises"})
    assert (frozen.status, frozen.json["accepts_backups"], len(frozen.json["freezes"])) == (200, False, 1)
    assert frozen.json["freezes"][0]["frozen_by"].startswith("token:tester (")
    for _ in range(2):
        cleared = client.post(f"{address}/unfreeze")
        assert (cleared.status, cleared.json["accepts_backups"]) == (200, True)
    client.post(f"{address}/freeze", {"reason": " "}).refused(400, "VALIDATION_FAILED")
    client.post(f"{address}/freeze", {"reason": "x" * 501}).refused(400, "VALIDATION_FAILED")
    client.post(f"{NOBODY}/freeze", {"reason": "x"}).refused(404, "REPOSITORY_UNKNOWN")
    actions = AuditEntry.objects.filter(subject_id=str(repository.id)).order_by("id").values_list("action", flat=True)
    assert list(actions) == ["repository.freeze", "repository.unfreeze"]


def test_a_freeze_that_waits_for_indexing_is_not_said_to_be_cleared() -> None:
    """G1: of a restored database; what else froze it is cleared, and told to be."""
    repository, client = make_repository(), ApiClient()
    address = f"repositories/{repository.id}"
    reindex_wanted(repository_id=repository.id, reason="restored from a dump", run_id=None, now=NOW)
    error = client.post(f"{address}/unfreeze").refused(409, "REPOSITORY_REINDEX_WANTED")
    assert "restored from a dump" in error["message"]
    assert "./syncova manage reindex_repository " in error["hint"]
    client.post(f"{address}/freeze", {"reason": "the disk makes noises"})
    shown = client.post(f"{address}/unfreeze")
    assert (shown.status, [each["reason"] for each in shown.json["freezes"]]) == (200, ["restored from a dump"])
    assert shown.json["accepts_backups"] is False


def test_the_journal_tells_open_and_cleared_freezes_page_by_page() -> None:
    """G1: append-only; each row says why, which run caused it, and who cleared it."""
    repository, client, run_id = make_repository(), ApiClient(), new_id()
    address = f"repositories/{repository.id}/freezes"
    assert client.get(address).json == {"freezes": []}
    repository_freeze(repository_id=repository.id, reason="lost data", run_id=run_id, now=NOW)
    repository_unfreeze(repository_id=repository.id, actor="bob", now=NOW)
    repository_freeze(repository_id=repository.id, reason="noises", actor="alice", now=NOW)
    newest, oldest = client.get(address).json["freezes"]
    assert (newest["reason"], newest["frozen_by"], newest["cleared_at"]) == ("noises", "alice", None)
    assert (oldest["run"], oldest["cleared_by"]) == (str(run_id), "bob")
    assert client.get(f"{address}?before={newest['number']}&limit=1").json["freezes"] == [oldest]
    client.get(f"{address}?before=x").refused(400, "VALIDATION_FAILED")


def test_limits_are_set_at_once_and_audited() -> None:
    """C2, G3: the serial gate has a switch of its own; saying the same again changes nothing."""
    repository, client = make_repository(), ApiClient()
    wanted = {"max_concurrent_runs": 3, "serial_gate": True}
    for _ in range(2):
        shown = client.request("PUT", f"repositories/{repository.id}/limits", wanted)
        assert (shown.status, {name: shown.json[name] for name in wanted}) == (200, wanted)
    assert AuditEntry.objects.get(action="repository.limit").details == {
        **wanted,
        "before": {"max_concurrent_runs": 1, "serial_gate": False},
    }
    for wrong in ({"max_concurrent_runs": 0, "serial_gate": True}, {"serial_gate": True}):
        client.request("PUT", f"repositories/{repository.id}/limits", wrong).refused(400, "VALIDATION_FAILED")


@pytest.mark.parametrize("adopts", [False, True])
def test_a_swapped_medium_is_adopted_only_by_name(*, adopts: bool) -> None:
    """A10, G5."""
    repository, other = make_repository(fence_intended=7, fence_confirmed=7), random_hex()
    observe_repository_id(repository_id=repository.id, observed_hex=other, run_id=None, now=clock.now())
    shown = ApiClient().post(f"repositories/{repository.id}/unfreeze", {"adopt_observed_id": adopts}).json
    assert (shown["accepts_backups"], shown["swapped"]) == (True, not adopts)
    assert shown["repository_id"] == (other if adopts else repository.repository_id)
    repository.refresh_from_db()
    assert (repository.fence_intended, repository.fence_confirmed) == (7, 0 if adopts else 7)


def test_what_was_seen_some_time_ago_is_not_adopted(django_capture_on_commit_callbacks: Any) -> None:
    """A10: the medium may be another one by now; a worker is asked to look, and its answer is adopted."""
    repository, before, there = make_repository(), random_hex(), random_hex()
    observe_repository_id(repository_id=repository.id, observed_hex=before, run_id=None, now=NOW)
    client, adopt = ApiClient(), {"adopt_observed_id": True}
    client.post(f"repositories/{repository.id}/unfreeze", adopt).refused(409, "REPOSITORY_NOT_LOOKED_AT")
    with django_capture_on_commit_callbacks(execute=True):
        asked = client.post(f"repositories/{repository.id}/look")
    assert (asked.status, asked.json["look_pending"]) == (202, True)
    assert [(repository.id, "default")] == doorbells.RUNG
    client.post(f"repositories/{repository.id}/unfreeze", adopt).refused(409, "REPOSITORY_NOT_LOOKED_AT")
    repository_inspected(repository_id=repository.id, repository_hex=there, now=clock.now())
    assert client.get(f"repositories/{repository.id}").json["look_pending"] is False
    shown = client.post(f"repositories/{repository.id}/unfreeze", adopt).json
    assert (shown["repository_id"], shown["accepts_backups"]) == (there, True)


def test_a_look_that_found_nothing_is_an_answer_too() -> None:
    repository, client = make_repository(), ApiClient()
    client.post(f"repositories/{repository.id}/look")
    repository_inspection_failed(repository_id=repository.id, code="X", message="nothing there", now=clock.now())
    shown = client.get(f"repositories/{repository.id}").json
    assert (shown["look_pending"], shown["state"], shown["trouble"]["reason"]) == (False, "active", "nothing there")
    client.post(f"{NOBODY}/look").refused(404, "REPOSITORY_UNKNOWN")


def test_an_id_that_another_row_adopted_is_not_adopted_again() -> None:
    repository, other = make_repository(), make_repository()
    assert other.repository_id is not None
    observe_repository_id(repository_id=repository.id, observed_hex=other.repository_id, run_id=None, now=clock.now())
    answer = ApiClient().post(f"repositories/{repository.id}/unfreeze", {"adopt_observed_id": True})
    answer.refused(409, "REPOSITORY_ALREADY_REGISTERED")
    assert ApiClient().get(f"repositories/{repository.id}").json["accepts_backups"] is False


@pytest.mark.parametrize(
    ("method", "address", "scope"),
    [
        ("GET", "repositories", "repositories.read"),
        ("GET", "repositories/01900000-0000-7000-8000-000000000000", "repositories.read"),
        ("POST", "repositories", "repositories.write"),
        ("POST", f"{NOBODY}/freeze", "repositories.write"),
        ("POST", f"{NOBODY}/look", "repositories.write"),
        ("POST", f"{NOBODY}/unfreeze", "repositories.write"),
        ("PUT", f"{NOBODY}/limits", "repositories.write"),
        ("GET", f"{NOBODY}/freezes", "repositories.read"),
    ],
)
def test_each_endpoint_asks_for_its_right(method: str, address: str, scope: str) -> None:
    from syncova_project.access.scopes import ALL_SCOPES

    ApiClient(token="").request(method, address, {}).refused(401, "UNAUTHENTICATED")
    others = [other for other in ALL_SCOPES if other != scope]
    ApiClient(*others).request(method, address, {}).refused(403, "PERMISSION_DENIED")
    assert ApiClient(scope).request(method, address, {}).status in {200, 400, 404}

"""Tokens of one's own over the API: shown once, no more rights than their maker, ended with it (7.5)."""

import datetime as dt
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.db import connection
from django.test import Client

from syncova_project import clock
from syncova_project.access.models import ApiToken, AuditEntry, IdempotencyKey
from syncova_project.access.services import token_create
from tests.api.client import Answer, ApiClient

pytestmark = pytest.mark.django_db
BODY = {"name": "report", "scopes": ["jobs.read"]}


def make(client: ApiClient, **fields: Any) -> Answer:
    answer = client.post("tokens", {**BODY, **fields})
    assert answer.status == 201, answer.json
    return answer


def of(answer: Answer) -> ApiClient:
    return ApiClient(token=answer.json["token"])


def person(*rights: str) -> tuple[User, Client]:
    user = User.objects.create_user("bob")
    user.user_permissions.set(Permission.objects.filter(codename__in=rights, content_type__app_label="access"))
    client = Client(raise_request_exception=False)
    client.force_login(user)
    return user, client


def made_by(client: Client, **fields: Any) -> ApiClient:
    answer = client.post("/api/v1/tokens", {**BODY, **fields}, content_type="application/json")
    return ApiClient(token=answer.json()["token"])


def test_a_token_is_shown_once_and_works() -> None:
    maker = ApiClient("jobs.read", "jobs.run")
    answer = make(maker)
    assert answer.headers["Location"] == f"/api/v1/tokens/{answer.json['id']}"
    assert of(answer).get("jobs").status == 200
    of(answer).get("repositories").refused(403, "PERMISSION_DENIED")
    listed = maker.get("tokens").json["tokens"]
    assert [token["name"] for token in listed] == ["report", "tester"]
    secret = answer.json["token"].rpartition("_")[2]
    assert secret not in str(listed)
    with connection.cursor() as cursor:
        cursor.execute("SELECT string_agg(token::text, ' ') FROM api_tokens AS token")
        assert secret not in cursor.fetchone()[0]
    assert secret not in repr(list(AuditEntry.objects.values_list()))


def test_last_use_is_told() -> None:
    maker = ApiClient()
    answer = make(maker)
    assert maker.get("tokens").json["tokens"][0]["last_used_at"] is None
    of(answer).get("jobs")
    assert maker.get("tokens").json["tokens"][0]["last_used_at"] is not None


def test_nobody_gives_rights_that_they_lack() -> None:
    refused = ApiClient("jobs.read").post("tokens", {**BODY, "scopes": ["jobs.read", "audit.read", "jobs.write"]})
    assert refused.refused(403, "PERMISSION_DENIED")["details"] == {"lacking": ["audit.read", "jobs.write"]}
    assert ApiToken.objects.count() == 1


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"name": " "}, "name"),
        ({"scopes": []}, "scopes"),
        ({"scopes": ["root"]}, "scopes.0"),
        ({"expires_at": "2020-01-01T00:00:00Z"}, "expires_at"),
        ({"expires_at": "soon"}, "expires_at"),
        ({"digest": "x"}, "digest"),
    ],
)
def test_what_cannot_be_made_is_named(fields: dict[str, Any], field: str) -> None:
    assert field in ApiClient().post("tokens", {**BODY, **fields}).refused(400, "VALIDATION_FAILED")["details"]


@pytest.mark.parametrize(("asked", "given"), [(None, 60), (30, 30), (90, 60)])
def test_a_token_ends_with_the_one_it_was_made_with(asked: int | None, given: int) -> None:
    now = clock.now()
    ends = now + dt.timedelta(minutes=60)
    maker = ApiClient(token=token_create(name="m", scopes=["jobs.read"], now=now, expires_at=ends)[1])
    wanted = None if asked is None else (now + dt.timedelta(minutes=asked)).isoformat()
    made = make(maker, expires_at=wanted)
    assert dt.datetime.fromisoformat(made.json["expires_at"]) == now + dt.timedelta(minutes=given)


def test_a_revoked_token_takes_along_what_was_made_with_it() -> None:
    maker = ApiClient()
    child = make(maker)
    grandchild = make(of(child))
    assert of(grandchild).get("jobs").status == 200
    assert maker.delete(f"tokens/{child.json['id']}").status == 204
    assert maker.delete(f"tokens/{child.json['id']}").status == 204
    for one in (child, grandchild):
        of(one).get("jobs").refused(401, "UNAUTHENTICATED")
    assert maker.get("jobs").status == 200
    revoked = AuditEntry.objects.filter(action="token.revoke").order_by("id")
    made = AuditEntry.objects.filter(action="token.create").order_by("id")
    assert [one.details for one in revoked] == [one.details for one in made][1:]
    assert [set(one.details) for one in revoked] == [{"name", "scopes", "worker_groups", "expires_at"}] * 2


def test_a_token_can_end_itself() -> None:
    answer = make(ApiClient())
    assert of(answer).delete(f"tokens/{answer.json['id']}").status == 204
    of(answer).get("jobs").refused(401, "UNAUTHENTICATED")


def test_others_tokens_are_not_there() -> None:
    mine, theirs = ApiClient(), make(ApiClient())
    mine.delete(f"tokens/{theirs.json['id']}").refused(404, "TOKEN_NOT_FOUND")
    mine.delete("tokens/%00").refused(404, "TOKEN_NOT_FOUND")
    assert theirs.json["id"] not in str(mine.get("tokens").json)
    assert of(theirs).get("jobs").status == 200


def test_the_answer_with_a_secret_is_never_given_again() -> None:
    """execution.md §6: secrets are never kept."""
    client = ApiClient()
    first = client.post("tokens", BODY, **{"Idempotency-Key": "k"})
    again = client.post("tokens", BODY, **{"Idempotency-Key": "k"}).refused(409, "SECRET_ALREADY_SHOWN")
    assert (first.status, again["details"]) == (201, {"location": first.headers["Location"]})
    client.post("tokens", {**BODY, "name": "other"}, **{"Idempotency-Key": "k"}).refused(409, "IDEMPOTENCY_KEY_REUSED")
    assert ApiToken.objects.filter(name="report").count() == 1
    assert first.json["token"].rpartition("_")[2] not in repr(list(IdempotencyKey.objects.values_list()))


def test_a_persons_tokens_are_theirs_and_may_no_more_than_they() -> None:
    user, client = person("jobs.read", "repositories.read")
    token = made_by(client, scopes=["jobs.read", "repositories.read"])
    assert token.get("repositories").status == 200
    assert len(client.get("/api/v1/tokens").json()["tokens"]) == 1
    user.user_permissions.remove(Permission.objects.get(codename="repositories.read"))
    token.get("repositories").refused(403, "PERMISSION_DENIED")
    assert token.get("jobs").status == 200
    User.objects.update(is_active=False)
    token.get("jobs").refused(401, "UNAUTHENTICATED")


def test_a_persons_narrow_token_does_not_reach_their_others() -> None:
    _, client = person("jobs.read")
    narrow, other = made_by(client), made_by(client, name="other")
    prefix = ApiToken.objects.get(name="other").prefix
    narrow.delete(f"tokens/{prefix}").refused(404, "TOKEN_NOT_FOUND")
    assert [token["name"] for token in narrow.get("tokens").json["tokens"]] == ["report"]
    assert client.delete(f"/api/v1/tokens/{prefix}").status_code == 204
    other.get("jobs").refused(401, "UNAUTHENTICATED")


def test_each_asks_for_a_caller() -> None:
    for method, address in (("GET", "tokens"), ("POST", "tokens"), ("DELETE", "tokens/x")):
        ApiClient(token="").request(method, address).refused(401, "UNAUTHENTICATED")

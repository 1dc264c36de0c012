"""Secrets that clients send stand nowhere that anybody reads: answers, pages, trail, log, tables (7.9)."""

import json
import logging
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.contrib import admin
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.urls import reverse

from repositories import views
from repositories.models import Repository
from syncova_project.access.tokens import make_token
from syncova_project.log import JsonFormatter, TextFormatter
from tests import canaries
from tests.api.builders import make_job, make_run
from tests.api.client import ApiClient

pytestmark = pytest.mark.django_db
PASSWORD = canaries.repository_password("vault")
LOGIN, GUESS = canaries.login_password("alice"), canaries.login_password("guess")
LISTS = ("jobs", "runs", "queue", "repositories", "windows", "backups", "audit", "tokens")
BODY = {"name": "vault", "location": "/srv/vault", "password": PASSWORD}


class Collected:
    """All that came out, by where it did."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}

    def add(self, where: str, *parts: object) -> None:
        self.texts[where] = self.texts.get(where, "") + "\n".join(str(part) for part in parts)

    def holding(self, secret: str) -> list[str]:
        """Return the places that hold the secret, as it is or as a database shows bytes."""
        forms = (secret, secret.encode().hex())
        return [where for where, text in self.texts.items() if any(form in text for form in forms)]


@pytest.fixture
def out(caplog: pytest.LogCaptureFixture, settings: Any) -> Collected:
    settings.SYNCOVA_WAKE = settings.SYNCOVA_DOORBELL = ""
    settings.SYNCOVA_INSPECT = "tests.repositories.doorbells.ring"
    caplog.set_level(logging.DEBUG)
    # Queries with their values are debugging of Django itself, which no setting of ours turns on.
    logging.getLogger("django.db.backends").setLevel(logging.INFO)
    return Collected()


def ask(out: Collected, client: ApiClient, method: str, path: str, body: Any = None, **headers: str) -> Any:
    answer = client.request(method, path, body, **headers)
    out.add(f"{method} {path}", answer.json, answer.headers)
    return answer


def register(out: Collected, client: ApiClient) -> None:
    """Send the password in every way that is refused, and in the one that is taken."""
    wrong: list[Any] = [
        {**BODY, "password": [PASSWORD]},
        {**BODY, "password": {"value": PASSWORD}},
        {"name": "vault", "location": "/srv/vault", "pasword": PASSWORD},
        {**BODY, "location": f"sftp://user:{PASSWORD}@host/srv"},
        {**BODY, "location": f"s3://key:{PASSWORD}@bucket/x?secret={PASSWORD}"},
        {**BODY, "name": ""},
        json.dumps(BODY)[:-1],
        json.dumps(BODY)[:-1] + f', "password": "{PASSWORD}"}}',
        json.dumps([BODY]),
        PASSWORD,
    ]
    for body in wrong:
        assert ask(out, client, "POST", "repositories", body).status == 400
    key = {"Idempotency-Key": "k"}
    for _ in range(2):
        assert ask(out, client, "POST", "repositories", BODY, **key).status == 202
    ask(out, client, "POST", "repositories", {**BODY, "password": PASSWORD + "2"}, **key).refused(
        409, "IDEMPOTENCY_KEY_REUSED"
    )


def fail(out: Collected, client: ApiClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a request with the password end in an unexpected error, whose trace is logged."""

    def broken(**values: Any) -> None:
        raise RuntimeError("broken on purpose")

    with monkeypatch.context() as patch:
        patch.setattr(views, "repository_register", broken)
        ask(out, client, "POST", "repositories", {**BODY, "name": "other"}).refused(500, "INTERNAL")


def log_in(out: Collected) -> Client:
    User.objects.create_superuser("alice", password=LOGIN)
    client = Client(raise_request_exception=False)
    for name, password in (("alice", GUESS), (GUESS, GUESS), *[("alice", GUESS)] * 6, ("alice", LOGIN)):
        answer = client.post("/admin/login/", {"username": name, "password": password}, REMOTE_ADDR="192.0.2.7")
        # The form shows the name again to the one who typed it; the page is theirs alone.
        out.add("login", answer.content.decode().replace(f'value="{GUESS}"', ""), answer.headers)
    assert client.post("/admin/login/", {"username": "alice", "password": LOGIN}).status_code == 302
    return client


def walk(out: Collected, client: Client) -> None:
    """Read every list and one page of each thing in the admin."""
    for model in admin.site._registry:
        name = f"admin:{model._meta.app_label}_{model._meta.model_name}"
        out.add(f"list of {name}", client.get(reverse(f"{name}_changelist")).content.decode())
        first = model._default_manager.first()
        if first is not None:
            page = client.get(reverse(f"{name}_change", args=[first.pk]))
            assert page.status_code == 200, name
            out.add(f"page of {name}", page.content.decode())


def dump(out: Collected) -> None:
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            cursor.execute(f"SELECT coalesce(string_agg(held::text, chr(10)), '') FROM \"{table}\" AS held")
            out.add(f"table {table}", cursor.fetchone()[0])


def test_secrets_stand_nowhere(
    out: Collected, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, guessed = ApiClient(), make_token().text
    make_run(make_job())
    register(out, client)
    fail(out, client, monkeypatch)
    made = client.post("tokens", {"name": "child", "scopes": ["jobs.read"]}, **{"Idempotency-Key": "t"}).json["token"]
    ask(out, client, "POST", "tokens", {"name": "child", "scopes": ["jobs.read"]}, **{"Idempotency-Key": "t"})
    for shown in (guessed, f"x{made}", f"{made} "):
        ask(out, ApiClient(token=shown), "GET", "jobs")
    ask(out, ApiClient(token=""), "GET", f"jobs?token={made}")
    ask(out, ApiClient(token=""), "GET", "jobs", Authorization=f"Basic {made}")
    for name in LISTS:
        ask(out, client, "GET", name)
    ask(out, client, "GET", f"repositories/{Repository.objects.get(name='vault').id}")
    walk(out, log_in(out))
    dump(out)
    for record in caplog.records:
        out.add("log", TextFormatter().format(record), JsonFormatter().format(record))
    assert "broken on purpose" in out.texts["log"]
    token_secrets = [text.rpartition("_")[2] for text in (guessed, made)]
    own = [django_settings.SECRET_KEY, *(key.hex() for key in django_settings.SYNCOVA_SECRET_KEYS)]
    for secret in (PASSWORD, LOGIN, GUESS, *token_secrets, *own):
        assert out.holding(secret) == []


def test_a_canary_that_got_out_would_be_found(out: Collected) -> None:
    out.add("somewhere", {"password": PASSWORD})
    out.add("table x", LOGIN.encode().hex())
    assert (out.holding(PASSWORD), out.holding(LOGIN), out.holding(GUESS)) == (["somewhere"], ["table x"], [])

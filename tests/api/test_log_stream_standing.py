"""A stream of a log outlives neither token nor session, right nor sight of who follows it, over HTTP (7.8)."""

import http.client
import json
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.contrib.auth.models import Group, Permission, User
from django.test import Client

from jobs import log_stream
from jobs.models import Run
from syncova_project import clock
from syncova_project.access import standing
from syncova_project.access.models import SightLimit
from syncova_project.access.principals import Principal
from syncova_project.access.services import token_create, token_revoke
from tests import canaries
from tests.api.builders import make_job, make_run, start
from tests.repositories.builders import make_repository

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _hasty(monkeypatch: pytest.MonkeyPatch, settings: Any) -> None:
    settings.SYNCOVA_WAKE = settings.SYNCOVA_DOORBELL = ""
    for name in ("LOOK_SECONDS", "ALIVE_SECONDS"):
        monkeypatch.setattr(log_stream, name, 0.01)
    monkeypatch.setattr(standing, "ASKED_SECONDS", 0.01)


def person() -> User:
    group, _ = Group.objects.get_or_create(name="readers")
    right, _ = Permission.objects.get_or_create(
        codename="runs.read", content_type__app_label="access", content_type__model="apitoken"
    )
    group.permissions.add(right)
    user = User.objects.create_user("nora", password=canaries.login_password("nora"))
    user.groups.add(group)
    return user


def running() -> Run:
    run = make_run(make_job(make_repository(worker_group="north")))
    start(run)
    return run


def refused_after(server: Any, headers: dict[str, str], act: Callable[[], object]) -> tuple[dict[str, Any], int]:
    """Follow a running run until a sign of life, act, and return what the stream says then, and a new request's status.

    One that went on would be told alive for ten minutes.
    """
    run, place = running(), urlsplit(server.url)
    connection = http.client.HTTPConnection(str(place.hostname), place.port, timeout=60)
    connection.request("GET", f"/api/v1/runs/{run.id}/log?follow=true", headers=headers)
    answer = connection.getresponse()
    assert answer.status == 200
    while answer.readline() != b": alive\n":
        pass
    act()
    rest = answer.read().decode()
    connection.close()
    name, data = rest.rpartition("event: ")[2].strip().split("\n")
    assert name == "refused"
    again = Client(raise_request_exception=False).get(f"/api/v1/runs/{run.id}/log", headers=headers)
    assert again.json()["error"] == json.loads(data.removeprefix("data: "))
    error: dict[str, Any] = again.json()["error"]
    return error, again.status_code


def test_a_revoked_token_ends_it(live_server: Any) -> None:
    token, text = token_create(name="t", scopes=["runs.read"], now=clock.now())
    headers = {"Authorization": f"Bearer {text}"}

    def revoke() -> None:
        token_revoke(prefix=token.prefix, actor="alice", now=clock.now())

    told, status = refused_after(live_server, headers, revoke)
    assert (told["code"], told["message"], status) == ("UNAUTHENTICATED", "The token is not valid.", 401)


@pytest.mark.parametrize(
    ("act", "code", "status"),
    [
        (lambda user: User.objects.filter(pk=user.pk).update(is_active=False), "UNAUTHENTICATED", 401),
        (lambda user: user.groups.clear(), "PERMISSION_DENIED", 403),
        (lambda user: SightLimit.objects.create(user=user, worker_groups=["south"]), "RUN_NOT_FOUND", 404),
    ],
)
@pytest.mark.parametrize("by_session", [False, True])
def test_so_does_the_end_of_a_person_a_right_or_a_sight(
    live_server: Any, act: Callable[[User], object], code: str, status: int, *, by_session: bool
) -> None:
    user = person()
    if by_session:
        client = Client()
        client.force_login(user)
        headers = {"Cookie": f"sessionid={client.cookies['sessionid'].value}"}
    else:
        _, text = token_create(name="t", scopes=["runs.read"], maker=Principal.of_person(user), now=clock.now())
        headers = {"Authorization": f"Bearer {text}"}
    told, answered = refused_after(live_server, headers, lambda: act(user))
    assert (told["code"], answered) == (code, status)


def test_a_logout_ends_it(live_server: Any) -> None:
    client = Client()
    client.force_login(person())
    headers = {"Cookie": f"sessionid={client.cookies['sessionid'].value}"}
    told, status = refused_after(live_server, headers, client.logout)
    assert (told["code"], status) == ("UNAUTHENTICATED", 401)
    # A browser has no token to send.
    assert "Log in again" in told["hint"]

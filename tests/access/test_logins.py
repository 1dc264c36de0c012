"""The audit trail of people: logins, refusals, changes of people and groups; never a password (E3, 7.10)."""

from typing import Any

import pytest
from django.contrib.auth.models import Group, Permission, User
from django.test import Client

from syncova_project.access.models import AuditEntry, SightLimit
from tests import canaries

pytestmark = pytest.mark.django_db
PASSWORD = canaries.login_password("right")
WRONG = canaries.login_password("wrong")
LOGIN = "/admin/login/"


@pytest.fixture
def alice() -> User:
    return User.objects.create_superuser("alice", password=PASSWORD)


def trail() -> list[tuple[str, str, str]]:
    return list(AuditEntry.objects.order_by("id").values_list("actor", "action", "subject_id"))


def log_in(name: str, password: str, **headers: str) -> Client:
    client = Client(raise_request_exception=False)
    client.post(LOGIN, {"username": name, "password": password}, headers=headers)
    return client


def test_who_comes_and_goes_is_told_with_origin(alice: User) -> None:
    client = log_in("alice", PASSWORD, **{"X-Request-ID": "r-1"})
    client.post("/admin/logout/")
    client.post("/admin/logout/")
    assert trail() == [("user:alice", "session.login", "alice"), ("user:alice", "session.logout", "alice")]
    entry = AuditEntry.objects.earliest("id")
    assert (entry.request_id, entry.address) == ("r-1", "127.0.0.1")


@pytest.mark.parametrize(("name", "told"), [("alice", "alice"), (WRONG, "unknown"), ("alice\0", "unknown")])
def test_who_is_turned_away_is_told_but_no_name_that_may_be_a_password(alice: User, name: str, told: str) -> None:
    log_in(name, WRONG)
    refused = [entry for entry in trail() if entry[1] == "session.refuse"]
    assert refused == ([] if "\0" in name else [("nobody", "session.refuse", told)])
    assert "CANARY" not in repr(list(AuditEntry.objects.values_list()))


def edit(client: Client, address: str, **fields: Any) -> None:
    page = client.get(address).context["adminform"].form
    held = {name: value for name, value in page.initial.items() if value not in (None, False)}
    answer = client.post(address, {**held, "date_joined_0": "2026-11-30", "date_joined_1": "02:00", **fields})
    assert answer.status_code == 302, answer.context["adminform"].form.errors


def test_changes_of_people_are_told_before_and_after(alice: User) -> None:
    client = log_in("alice", PASSWORD)
    bob = User.objects.create_user("bob")
    group = Group.objects.create(name="night shift")
    edit(client, f"/admin/auth/user/{bob.pk}/change/", is_staff="on", groups=[group.pk])
    entry = AuditEntry.objects.get(action="user.change")
    assert (entry.actor, entry.subject_type, entry.subject_id) == ("user:alice", "user", "bob")
    assert entry.details["is_staff"] == {"before": False, "after": True}
    assert entry.details["groups"] == {"before": [], "after": ["night shift"]}


def test_people_are_made_and_deleted_and_no_password_is_told(alice: User) -> None:
    client = log_in("alice", PASSWORD)
    new = {"username": "carol", "password1": WRONG, "password2": WRONG, "usable_password": "true"}
    assert client.post("/admin/auth/user/add/", new).status_code == 302
    carol = User.objects.get(username="carol")
    address = f"/admin/auth/user/{carol.pk}"
    assert client.post(f"{address}/password/", {**new, "password1": PASSWORD, "password2": PASSWORD}).status_code == 302
    assert client.post(f"{address}/delete/", {"post": "yes"}).status_code == 302
    assert [entry[1:] for entry in trail()][1:] == [
        ("user.create", "carol"),
        ("user.change", "carol"),
        ("user.delete", "carol"),
    ]
    assert AuditEntry.objects.get(action="user.change").details == {"password": "changed"}
    assert "CANARY" not in repr(list(AuditEntry.objects.values_list()))


def test_groups_are_told_too(alice: User) -> None:
    client = log_in("alice", PASSWORD)
    assert client.post("/admin/auth/group/add/", {"name": "weekend"}).status_code == 302
    assert trail()[-1] == ("user:alice", "group.create", "weekend")
    assert AuditEntry.objects.latest("id").details == {"name": {"before": None, "after": "weekend"}}


def test_what_goes_is_told_with_all_that_it_had(alice: User) -> None:
    """People, groups and limits, alone and several at once: nothing else keeps what they were."""
    client = log_in("alice", PASSWORD)
    right = Permission.objects.get(codename="jobs.read")
    group = Group.objects.create(name="night shift")
    group.permissions.add(right)
    bob, carol = (User.objects.create_user(name, is_staff=True) for name in ("bob", "carol"))
    bob.groups.add(group)
    bob.user_permissions.add(right)
    SightLimit.objects.create(user=bob, worker_groups=["north"])
    limit = SightLimit.objects.create(user=carol, worker_groups=["east", "south"])
    gone = {
        "sight.delete": (f"/admin/access/sightlimit/{limit.pk}/delete/", {}),
        "group.delete": (f"/admin/auth/group/{group.pk}/delete/", {}),
        "user.delete": ("/admin/auth/user/", {"action": "delete_selected", "_selected_action": [carol.pk]}),
    }
    told = {}
    for action, (address, body) in gone.items():
        if action == "group.delete":
            assert client.post(f"/admin/auth/user/{bob.pk}/delete/", {"post": "yes"}).status_code == 302
            told["bob"] = AuditEntry.objects.get(action="user.delete").details
            dave = User.objects.create_user("dave")
            dave.groups.add(group)
        assert client.post(address, {"post": "yes", **body}).status_code == 302
        told[action] = AuditEntry.objects.filter(action=action).latest("id").details
    flags = {"is_active": True, "is_staff": True, "is_superuser": False}
    had = {**flags, "groups": ["night shift"], "rights": ["access.jobs.read"], "worker_groups": ["north"]}
    assert told == {
        "sight.delete": {"before": {"user": "carol", "group": None, "worker_groups": ["east", "south"]}},
        "bob": {"before": had},
        "group.delete": {"before": {"rights": ["access.jobs.read"], "people": ["dave"]}},
        "user.delete": {"before": {**flags, "groups": [], "rights": [], "worker_groups": None}},
    }

"""One list of rights for tokens and people, and three groups that are ready-made of it (E1)."""

import importlib
import re
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.contrib.auth.models import Group, User
from django.test import Client

from syncova_project.access.people import rights_of
from syncova_project.access.scopes import ALL_SCOPES, READY_GROUPS, Scope
from tests import canaries
from tests.api.builders import NOBODY
from tests.api.client import ApiClient

pytestmark = pytest.mark.django_db
MIGRATION = importlib.import_module("syncova_project.access.migrations.0041_ready_groups")
GUIDE = Path(__file__).parents[2] / "docs" / "access.md"
WINDOW = f"windows/{NOBODY}"


def member(group: str, **fields: Any) -> User:
    MIGRATION.make_groups(apps, None)
    user = User.objects.create_user("bob", password=canaries.login_password("bob"), is_staff=True, **fields)
    user.groups.add(Group.objects.get(name=group))
    return user


def client_of(user: User, **options: Any) -> Client:
    client = Client(raise_request_exception=False, **options)
    client.force_login(user)
    return client


def test_the_migration_makes_the_groups_that_the_code_names() -> None:
    assert set(MIGRATION.ALL) == set(ALL_SCOPES)
    assert {name: set(rights) for name, rights in MIGRATION.GROUPS.items()} == {
        name: {str(right) for right in rights} for name, rights in READY_GROUPS.items()
    }


def test_the_guide_tells_what_each_group_may() -> None:
    rows = re.findall(r"^\| `([a-z._]+)` \|[^|]+\|([^|]*)\|([^|]*)\|([^|]*)\|$", GUIDE.read_text(), re.MULTILINE)
    told = {
        group: {right for right, *cells in rows if cells[column].strip() == "yes"}
        for column, group in enumerate(READY_GROUPS)
    }
    assert told == {name: {str(right) for right in rights} for name, rights in READY_GROUPS.items()}
    assert {right for right, *_ in rows} == set(ALL_SCOPES)


@pytest.mark.parametrize("group", READY_GROUPS)
def test_a_member_holds_the_rights_of_the_group(group: str) -> None:
    assert rights_of(member(group)) == frozenset(READY_GROUPS[group])


def test_an_update_gives_a_group_of_the_same_name_nothing() -> None:
    Group.objects.filter(name="administrators").delete()
    Group.objects.create(name="administrators")
    assert rights_of(member("administrators")) == frozenset()


def test_nobody_and_everybody() -> None:
    assert rights_of(User(username="root", is_superuser=True)) == frozenset(Scope)
    assert rights_of(User(username="gone", is_superuser=True, is_active=False)) == frozenset()


@pytest.mark.parametrize(("method", "address"), [("POST", "windows"), ("PUT", WINDOW), ("DELETE", WINDOW)])
def test_windows_have_a_right_of_their_own(method: str, address: str) -> None:
    """7.8."""
    others = [scope for scope in ALL_SCOPES if scope != "windows.write"]
    ApiClient(*others).request(method, address, {}).refused(403, "PERMISSION_DENIED")
    assert ApiClient("windows.write").request(method, address, {}).status in {400, 404}


def test_a_session_is_as_good_as_a_token_with_these_rights() -> None:
    client = client_of(member("viewers"))
    assert client.get("/api/v1/jobs").status_code == 200
    refused = client.post(f"/api/v1/jobs/{NOBODY}/run", {}, content_type="application/json")
    assert (refused.status_code, refused.json()["error"]["code"]) == (403, "PERMISSION_DENIED")


def test_a_session_changes_nothing_without_the_csrf_token() -> None:
    client = client_of(member("operators"), enforce_csrf_checks=True)
    address = f"/api/v1/jobs/{NOBODY}/run"
    assert client.post(address, {}, content_type="application/json").status_code == 403
    token = "x" * 32
    client.cookies["csrftoken"] = token
    answer = client.post(address, {}, content_type="application/json", headers={"X-CSRFToken": token})
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "JOB_NOT_FOUND")


def test_a_wrong_token_is_not_saved_by_a_session() -> None:
    client = client_of(member("viewers"))
    assert client.get("/api/v1/jobs", headers={"Authorization": "Bearer syncova_x"}).status_code == 401


def test_a_user_who_was_switched_off_is_nobody() -> None:
    user = member("viewers")
    client = client_of(user)
    User.objects.filter(pk=user.pk).update(is_active=False)
    assert client.get("/api/v1/jobs").status_code == 401


def test_pages_of_the_admin_are_shown_by_right() -> None:
    client = client_of(member("viewers"))
    assert client.get("/admin/jobs/job/").status_code == 200
    assert client.get("/admin/repositories/repository/").status_code == 200
    assert client.get("/admin/access/auditentry/").status_code == 403
    assert client.get("/admin/auth/user/").status_code == 403

"""Nobody gives a right or a sight that they lack: who manages people, and is no superuser, has bounds (7.8)."""

from typing import Any

import pytest
from django.contrib.auth.models import Group, Permission, User
from django.test import Client

from syncova_project.access.models import AuditEntry, SightLimit
from tests import canaries
from tests.access.test_logins import edit

pytestmark = pytest.mark.django_db
PASSWORD, FIRST = canaries.login_password("new"), canaries.login_password("first")
NEW = {"password1": PASSWORD, "password2": PASSWORD, "usable_password": "true"}
MANAGES = ("add_user", "change_user", "delete_user", "add_group", "change_group", "delete_group", "jobs.read")


def manager(**limit: Any) -> tuple[User, Client]:
    """Return somebody who may change people and groups, and see jobs, but is no superuser."""
    user = User.objects.create_user("umgr", password=FIRST, is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__in=MANAGES))
    if limit:
        SightLimit.objects.create(user=user, **limit)
    client = Client(raise_request_exception=False)
    client.force_login(user)
    return user, client


def page(one: User | Group, verb: str = "change") -> str:
    return f"/admin/auth/{one._meta.model_name}/{one.pk}/{verb}/"


def passwords() -> dict[str, str]:
    return dict(User.objects.values_list("username", "password"))


def test_who_sees_some_repositories_only_changes_no_people_but_their_own_password() -> None:
    root, group = User.objects.create_superuser("root", password=PASSWORD), Group.objects.create(name="weekend")
    user, client = manager(worker_groups=["north"])
    bob, before = User.objects.create_user("bob"), passwords()
    for one in (user, bob, root):
        for verb, body in (
            ("change", {"is_superuser": "on", "is_staff": "on"}),
            ("password", NEW),
            ("delete", {"post": "yes"}),
        ):
            assert client.post(page(one, verb), {"username": one.username, **body}).status_code == 403, (one, verb)
    for verb, body in (("change", {"name": "x"}), ("delete", {"post": "yes"})):
        assert client.post(page(group, verb), body).status_code == 403
    for noun, body in (("user", {"username": "eve", **NEW}), ("group", {"name": "y"})):
        assert client.post(f"/admin/auth/{noun}/add/", body).status_code == 403
        several = {"action": "delete_selected", "_selected_action": [bob.pk], "post": "yes"}
        client.post(f"/admin/auth/{noun}/", several)
    assert (passwords(), Group.objects.filter(name="weekend").count()) == (before, 1)
    own = {"old_password": FIRST, "new_password1": PASSWORD, "new_password2": PASSWORD}
    assert "new_password1" in client.get("/admin/password_change/").content.decode()
    assert client.post("/admin/password_change/", own).status_code == 302
    assert User.objects.get(pk=user.pk).check_password(PASSWORD)
    entry = AuditEntry.objects.get(action="user.change")
    assert (entry.actor, entry.subject_id, entry.details) == ("user:umgr", "umgr", {"password": "changed"})


@pytest.mark.parametrize("active", [True, False])
def test_an_account_that_may_more_is_out_of_reach_even_while_it_is_switched_off(active: bool) -> None:
    _, client = manager()
    root = User.objects.create_superuser("root", password=PASSWORD, is_active=active)
    chief = User.objects.create_user("chief", password=PASSWORD, is_active=active)
    chief.groups.add(Group.objects.get(name="administrators"))
    before = passwords()
    for one in (root, chief):
        for verb, body in (("change", {}), ("password", NEW), ("delete", {"post": "yes"})):
            assert client.post(page(one, verb), {"username": one.username, **body}).status_code == 403, (one, verb)
    several = {"action": "delete_selected", "_selected_action": [root.pk, chief.pk], "post": "yes"}
    told = client.post("/admin/auth/user/", several)
    assert (told.status_code, told.content.decode().count("ask a superuser")) == (200, 2)
    assert passwords() == before


@pytest.mark.parametrize("hold", ["group", "member", "root"])
def test_a_group_that_may_more_or_has_somebody_in_it_who_does_stays_as_it_is(hold: str) -> None:
    """Else whoever manages people would take the rights of those whose accounts are out of their reach."""
    _, client = manager()
    group = Group.objects.create(name="weekend")
    group.permissions.add(Permission.objects.get(codename="jobs.read"))
    if hold == "group":
        group.permissions.add(Permission.objects.get(codename="audit.read"))
    elif hold == "member":
        chief = User.objects.create_user("chief", is_active=False)
        chief.groups.add(group, Group.objects.get(name="administrators"))
    else:
        User.objects.create_superuser("root").groups.add(group)
    before = set(group.permissions.all())
    for verb, body in (("change", {"name": "weekend"}), ("change", {"name": "x"}), ("delete", {"post": "yes"})):
        refused = client.post(page(group, verb), body)
        assert (refused.status_code, "Ask a superuser" in refused.content.decode()) == (403, True), verb
    several = {"action": "delete_selected", "_selected_action": [group.pk], "post": "yes"}
    told = client.post("/admin/auth/group/", several)
    assert (told.status_code, "ask a superuser" in told.content.decode()) == (200, True)
    group.refresh_from_db()
    assert (group.name, set(group.permissions.all())) == ("weekend", before)
    assert not AuditEntry.objects.filter(subject_type="group").exists()


def test_a_group_within_ones_own_rights_is_changed_and_deleted() -> None:
    user, client = manager()
    group = Group.objects.create(name="readers")
    group.permissions.add(Permission.objects.get(codename="jobs.read"))
    group.user_set.add(user, User.objects.create_user("bob"))
    assert client.post(page(group), {"name": "watchers"}).status_code == 302
    group.refresh_from_db()
    assert (group.name, group.permissions.count()) == ("watchers", 0)
    several = {"action": "delete_selected", "_selected_action": [group.pk], "post": "yes"}
    assert client.post("/admin/auth/group/", several).status_code == 302
    assert not Group.objects.filter(pk=group.pk).exists()


def test_nobody_limits_what_those_see_who_may_more() -> None:
    _, client = manager()
    wide, bob = Group.objects.get(name="operators"), User.objects.create_user("bob")
    chief = User.objects.create_user("chief")
    chief.groups.add(wide)
    add, several = "/admin/access/sightlimit/add/", "/admin/access/sightlimit/"
    for whom in ({"user": chief.pk}, {"group": wide.pk}):
        refused = client.post(add, {"user": "", "group": "", **whom, "worker_groups": "default"})
        assert (refused.status_code, "Ask a superuser" in refused.content.decode()) == (200, True), whom
    assert client.post(add, {"user": bob.pk, "group": "", "worker_groups": "default"}).status_code == 302
    own = SightLimit.objects.get()
    moved = {"user": chief.pk, "group": "", "worker_groups": "default"}
    assert client.post(f"{several}{own.pk}/change/", moved).status_code == 200
    limits = [SightLimit.objects.create(worker_groups=["north"], **one) for one in ({"user": chief}, {"group": wide})]
    for limit in limits:
        for verb, body in (("change", moved), ("delete", {"post": "yes"})):
            refused = client.post(f"{several}{limit.pk}/{verb}/", body)
            assert (refused.status_code, "Ask a superuser" in refused.content.decode()) == (403, True), verb
    every = {"action": "delete_selected", "_selected_action": [one.pk for one in (own, *limits)], "post": "yes"}
    assert client.post(several, every).content.decode().count("ask a superuser") == 2
    kept = SightLimit.objects.order_by("id").values_list("user", "group", "worker_groups")
    assert list(kept) == [(bob.pk, None, ["default"]), (chief.pk, None, ["north"]), (None, wide.pk, ["north"])]
    assert client.post(f"{several}{own.pk}/delete/", {"post": "yes"}).status_code == 302


def test_only_what_one_holds_is_given() -> None:
    user, client = manager()
    bob, wide = User.objects.create_user("bob"), Group.objects.get(name="administrators")
    narrow, more = Group.objects.create(name="readers"), Permission.objects.get(codename="audit.read")
    narrow.permissions.add(Permission.objects.get(codename="jobs.read"))
    for one, fields, told in (
        (bob, {"groups": [wide.pk]}, "access.restores.in_place"),
        (bob, {"user_permissions": [more.pk]}, "access.audit.read"),
        (
            user,
            {"user_permissions": [more.pk, *user.user_permissions.values_list("pk", flat=True)]},
            "access.audit.read",
        ),
        (narrow, {"name": "readers", "permissions": [more.pk]}, "access.audit.read"),
    ):
        dates = {"date_joined_0": "2026-11-30", "date_joined_1": "02:00"}
        refused = client.post(page(one), {"username": str(one), **dates, **fields})
        assert (refused.status_code, told in refused.content.decode()) == (200, True), one
    assert not bob.groups.exists()
    assert (set(bob.user_permissions.all()), more in user.user_permissions.all()) == (set(), False)
    edit(client, page(bob), is_staff="on", is_superuser="on", groups=[narrow.pk])
    bob.refresh_from_db()
    assert (bob.is_staff, bob.is_superuser, list(bob.groups.all())) == (True, False, [narrow])
    assert client.post(page(bob, "password"), NEW).status_code == 302
    entries = AuditEntry.objects.filter(action="user.change").order_by("id")
    assert [(one.actor, one.details.get("groups")) for one in entries] == [
        ("user:umgr", {"before": [], "after": ["readers"]}),
        ("user:umgr", None),
    ]


def test_a_superuser_gives_everything() -> None:
    client = Client()
    client.force_login(User.objects.create_superuser("root"))
    bob = User.objects.create_user("bob")
    edit(client, page(bob), is_superuser="on", groups=[Group.objects.get(name="administrators").pk])
    assert User.objects.get(pk=bob.pk).is_superuser

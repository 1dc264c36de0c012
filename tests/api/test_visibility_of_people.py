"""A person who sees one worker group's repositories finds nothing of the others', by the API and in the admin (7.8)."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib import admin
from django.contrib.auth.models import Group, Permission, User
from django.db import IntegrityError, connection, transaction
from django.test import Client
from django.urls import reverse

from repositories.models import Backup, Repository
from syncova_project import clock
from syncova_project.access.models import AuditEntry, SightLimit
from syncova_project.access.people import groups_of
from syncova_project.access.principals import Principal
from syncova_project.access.services import token_create
from syncova_project.access.visibility import SEEN, visible_groups
from syncova_project.admin_pages.pages import PageAdmin
from tests.api.client import ApiClient
from tests.api.test_visibility import Side, addresses, side
from tests.jobs.builders import make_runner

pytestmark = pytest.mark.django_db
# Of no repository: whoever is limited sees none of them.
OF_NOBODY = {"access.apitoken", "access.auditseal"}
EMPTY_GROUPS = """
SET CONSTRAINTS ALL IMMEDIATE; DELETE FROM auth_user_groups; DELETE FROM auth_group_permissions; DELETE FROM auth_group
"""
LISTS = ("jobs", "runs", "queue", "repositories", "windows", "backups", "schedules", "audit", "runs?search=south")


@pytest.fixture(autouse=True)
def _quiet(settings: Any) -> Iterator[None]:
    settings.SYNCOVA_WAKE = settings.SYNCOVA_DOORBELL = ""
    settings.SYNCOVA_INSPECT = "tests.repositories.doorbells.ring"
    yield
    assert visible_groups() is None


def person(*groups: str, name: str = "nora") -> User:
    """Return somebody with every right of ours, who sees these worker groups (none: all)."""
    user = User.objects.create_user(name, is_staff=True)
    user.groups.add(Group.objects.get(name="administrators"))
    if groups:
        SightLimit.objects.create(user=user, worker_groups=list(groups))
    return user


def pages_of(user: User) -> Client:
    client = Client(raise_request_exception=False)
    client.force_login(user)
    return client


def api_of(user: User) -> ApiClient:
    client = ApiClient(token="")
    client.client.force_login(user)
    return client


def admins() -> list[PageAdmin]:
    """Return every page of rows; test_each_page_of_rows_is_limited fails for one of another class."""
    return [page for page in admin.site._registry.values() if isinstance(page, PageAdmin)]


def words_of(one: Side) -> list[str]:
    ids = {str(value) for name, value in one.parts().items() if name != "lookup_id"}
    return [*(ids - {"prune"}), one.repository.name]


def test_nothing_of_another_group_is_at_any_address() -> None:
    south, client = side("south"), api_of(person("north"))
    answered = {}
    for method, address in addresses():
        answer = client.request(method, address.format(**south.parts()), {}, **{"If-Match": "*"})
        answered[f"{method} {address}"] = answer.status
        assert "south" not in str(answer.json)
    assert len(answered) >= 30
    assert {where: status for where, status in answered.items() if status != 404} == {}


def test_lists_hold_ones_own_alone() -> None:
    side("north")
    south = side("south")
    limited, free = api_of(person("north")), api_of(person(name="alice"))
    for address in LISTS:
        text, every = (str(client.get(address).json) for client in (limited, free))
        assert [word for word in words_of(south) if word in text] == [], address
        assert [word for word in words_of(south) if word in every] != [], address


def test_each_page_of_rows_is_limited() -> None:
    """A new page without a word about who sees its rows shows none to whoever is limited: this says which."""
    labels = {page.opts.label_lower for page in admins()}
    everything = {one._meta.label_lower for one in admin.site._registry}
    assert everything - labels == {"auth.user", "auth.group", "access.sightlimit"}
    assert labels - set(SEEN) == OF_NOBODY
    assert set(SEEN) <= labels


def test_no_page_of_the_admin_shows_another_group() -> None:
    south, limited, free = side("south"), pages_of(person("north")), pages_of(person(name="alice"))
    side("north")
    for address in _lists():
        text = limited.get(address).content.decode()
        assert [word for word in words_of(south) if word in text] == [], address
    for name in ("jobs_job", "jobs_run", "repositories_repository", "repositories_backup", "access_auditentry"):
        every = free.get(reverse(f"admin:{name}_changelist")).content.decode()
        assert [word for word in words_of(south) if word in every] != [], name


def _lists() -> list[str]:
    named = [reverse(f"admin:{page.opts.app_label}_{page.opts.model_name}_changelist") for page in admins()]
    return [
        reverse("admin:index"),
        reverse("admin:jobs_run_queue"),
        *named,
        f"{reverse('admin:jobs_run_changelist')}?q=so",
    ]


def test_pages_and_actions_of_another_group_are_not_there() -> None:
    side("south")
    limited, free = pages_of(person("north")), pages_of(person(name="alice"))
    tried = 0
    for page in admins():
        one = page.model._default_manager.first()
        if one is None:
            continue
        address = reverse(f"admin:{page.opts.app_label}_{page.opts.model_name}_change", args=[one.pk])
        assert free.get(address).status_code == 200, address
        beneath = address.removesuffix("change/")
        # Django leads to the first page, and says there that the thing does not exist.
        for gone in (address, f"{beneath}history/"):
            assert limited.get(gone).headers["Location"] == reverse("admin:index")
        for action in page.page_actions:
            assert free.get(f"{beneath}do/{action.name}/").status_code != 404
            assert limited.post(f"{beneath}do/{action.name}/").status_code == 404
        tried += 1
    assert tried >= 8


def test_a_window_of_everything_names_no_job_that_is_not_seen() -> None:
    side("north")
    side("south")
    everything = {"type": "blackout", "days": ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]}
    body = {**everything, "name": "all", "start": "01:00", "length_seconds": 2 * 60 * 60}
    window = ApiClient().post("windows", body).json["id"]
    address = reverse("admin:jobs_window_change", args=[window])
    limited, free = (pages_of(one).get(address).content.decode() for one in (person("north"), person(name="alice")))
    assert ("north job" in limited, "south job" in limited) == (True, False)
    assert "south job" in free


def test_limits_of_a_person_and_of_their_groups_add_up() -> None:
    user = person("north")
    SightLimit.objects.create(group=Group.objects.get(name="administrators"), worker_groups=["east"])
    assert groups_of(user) == frozenset({"north", "east"})
    assert groups_of(person(name="alice")) == frozenset({"east"})
    assert groups_of(User.objects.create_user("bob")) is None
    root = User.objects.create_superuser("root")
    SightLimit.objects.create(user=root, worker_groups=["north"])
    assert groups_of(root) is None


def test_a_token_sees_no_more_than_its_person_now() -> None:
    side("south")
    user = person()
    token, text = token_create(name="t", scopes=["jobs.read"], maker=Principal.of_person(user), now=clock.now())
    assert (token.worker_groups, len(ApiClient(token=text).get("jobs").json["jobs"])) == (None, 1)
    limit = SightLimit.objects.create(user=user, worker_groups=["north"])
    assert ApiClient(token=text).get("jobs").json["jobs"] == []
    made = token_create(name="u", scopes=["jobs.read"], maker=Principal.of_person(user), now=clock.now())[0]
    assert made.worker_groups == ["north"]
    limit.delete()
    made.refresh_from_db()
    assert Principal.of_token(made).groups == frozenset({"north"})


def test_who_manages_people_says_what_they_see() -> None:
    """Audited; who is limited, or manages no people, says nothing."""
    nora, boss = person(), person(name="boss")
    add = reverse("admin:access_sightlimit_add")
    body = {"user": nora.pk, "group": "", "worker_groups": "North, south,NORTH"}
    assert pages_of(boss).post(add, body).status_code == 403
    boss.user_permissions.add(Permission.objects.get(codename="change_user"))
    client = pages_of(boss)
    assert client.post(add, {**body, "user": ""}).status_code == 200
    refused = client.post(add, body)
    assert (refused.status_code, SightLimit.objects.count()) == (200, 0)
    assert "There is no worker group north, south. Known: default." in refused.content.decode()
    for group in ("north", "south"):
        make_runner(group)
    assert client.post(add, body).status_code == 302
    limit = SightLimit.objects.get()
    assert (limit.user, limit.worker_groups) == (nora, ["north", "south"])
    page = reverse("admin:access_sightlimit_change", args=[limit.pk])
    client.post(page, {**body, "worker_groups": "north"})
    entries = AuditEntry.objects.filter(subject_type="sight").order_by("id")
    assert [(one.actor, one.action, one.subject_id) for one in entries] == [
        ("user:boss", "sight.create", "nora"),
        ("user:boss", "sight.change", "nora"),
    ]
    assert entries[1].details == {"worker_groups": {"before": ["north", "south"], "after": ["north"]}}
    SightLimit.objects.create(user=boss, worker_groups=["north"])
    assert (client.get(page).status_code, client.get(add).status_code) == (403, 403)


def test_a_group_of_people_is_not_deleted_while_it_limits_them() -> None:
    """Neither on its page, nor with others, nor in the database: its members would see all."""
    user, group = person(), Group.objects.get(name="administrators")
    limit = SightLimit.objects.create(group=group, worker_groups=["north"])
    boss = pages_of(User.objects.create_superuser("boss"))
    page, several = reverse("admin:auth_group_delete", args=[group.pk]), reverse("admin:auth_group_changelist")
    for address, body in (
        (page, {"post": "yes"}),
        (several, {"action": "delete_selected", "_selected_action": [group.pk], "post": "yes"}),
    ):
        refused = boss.post(address, body)
        assert refused.status_code == 200
        assert "delete this limit first" in refused.content.decode()
    with pytest.raises(IntegrityError), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(EMPTY_GROUPS)
    assert groups_of(user) == frozenset({"north"})
    assert boss.post(reverse("admin:access_sightlimit_delete", args=[limit.pk]), {"post": "yes"}).status_code == 302
    assert boss.post(page, {"post": "yes"}).status_code == 302
    told = AuditEntry.objects.exclude(subject_type="user").order_by("id").values_list("action", flat=True)
    assert list(told) == ["sight.delete", "group.delete"]


def test_the_filter_of_backups_names_what_is_seen() -> None:
    for group in ("north", "east", "south"):
        side(group)
    assert (Backup.objects.count(), Repository.objects.count()) == (3, 3)
    page = pages_of(person("north", "east")).get(reverse("admin:repositories_backup_changelist")).content.decode()
    assert ("north" in page, "east" in page, "south" in page) == (True, True, False)

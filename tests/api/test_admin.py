"""Admin: everything readable and searchable, nothing editable, hostile names harmless, no query per row."""

import pytest
from django.apps import apps
from django.contrib import admin
from django.db import connection
from django.test import Client, RequestFactory
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from repositories.services import repository_freeze
from syncova_project import clock
from syncova_project.access.services import audit_record, token_create
from syncova_project.read_only_admin import ReadOnlyAdmin
from tests.api.admin_pages import HOSTILE, harmless_page, operator
from tests.repositories.builders import NOW, make_backup, make_repository

pytestmark = pytest.mark.django_db
OURS = ("access", "repositories", "jobs", "agents", "workers")
# Kept answers are nobody's business; a job's sources stand on its page, the scheduler's row tells nothing by itself,
# and logs are read over the API, where they are bounded.
HIDDEN = {"IdempotencyKey", "SchedulerState", "RunLogChunk", "JobSource"}


def test_every_model_is_in_the_admin_and_read_only() -> None:
    for model in [model for label in OURS for model in apps.get_app_config(label).get_models()]:
        if model.__name__ in HIDDEN:
            assert not admin.site.is_registered(model)
            continue
        page = admin.site._registry[model]
        assert isinstance(page, ReadOnlyAdmin), model
        request = RequestFactory().get("/admin/")
        assert page.search_fields, model
        assert not page.has_add_permission(request)
        assert not page.has_change_permission(request)
        assert not page.has_delete_permission(request)
        assert page.get_actions(request) == {}


def test_no_page_shows_a_sealed_secret_or_a_digest() -> None:
    for page in admin.site._registry.values():
        names = [*page.list_display, *(page.fields or ())]
        assert not {"sealed_password", "digest", "answer", "fingerprint", "data"} & {str(name) for name in names}


@pytest.fixture
def hostile_rows() -> None:
    for number in range(3):
        repository = make_repository(name=f"{HOSTILE} {number}", location=f"/{HOSTILE}/{number}")
        repository_freeze(repository_id=repository.id, reason=HOSTILE, actor=HOSTILE, now=NOW)
        make_backup(repository, source_name=HOSTILE)
    failed = {"state": "failed", "state_code": "X", "state_reason": HOSTILE, "repository_id": None}
    make_repository(name="failed", **failed)
    token_create(name=HOSTILE, scopes=["jobs.read"], now=clock.now())
    audit_record(
        actor=HOSTILE, action="a.b", subject_type="job", subject_id=HOSTILE, now=NOW, details={HOSTILE: [HOSTILE]}
    )


MODELS = [
    "access_apitoken",
    "access_auditentry",
    "repositories_repository",
    "repositories_repositoryfreeze",
    "repositories_backup",
]


@pytest.mark.usefixtures("hostile_rows")
@pytest.mark.parametrize("model", MODELS)
def test_lists_and_pages_are_harmless_and_searchable(model: str) -> None:
    client = operator()
    address = reverse(f"admin:{model}_changelist")
    harmless_page(client, address)
    for query in ("%3Cscript%3Ealert(1)", "'%22%5c", "01900000-0000-7000-8000-000000000000", "%00"):
        harmless_page(client, f"{address}?q={query}")
    label, name = model.split("_")
    for row in apps.get_model(label, name)._default_manager.all():
        harmless_page(client, reverse(f"admin:{model}_change", args=[row.pk]))
        harmless_page(client, reverse(f"admin:{model}_history", args=[row.pk]))


@pytest.mark.parametrize("model", MODELS)
def test_a_list_costs_the_same_number_of_queries_for_any_length(model: str) -> None:
    client = operator()
    address = reverse(f"admin:{model}_changelist")
    costs = []
    for _ in range(2):
        _more_rows()
        client.get(address)
        with CaptureQueriesContext(connection) as queries:
            assert client.get(address).status_code == 200
        costs.append(len(queries))
    assert costs[0] == costs[1]


def _more_rows() -> None:
    for _ in range(3):
        repository = make_repository()
        repository_freeze(repository_id=repository.id, reason="x", now=NOW)
        make_backup(repository)
        token_create(name="x", scopes=["jobs.read"], now=clock.now())


def test_nothing_is_changed_by_a_form() -> None:
    client, repository = operator(), make_repository(name="before")
    address = reverse("admin:repositories_repository_change", args=[repository.pk])
    assert client.post(address, {"name": "after", "state": "failed"}).status_code == 403
    assert client.get(reverse("admin:repositories_repository_add")).status_code == 403
    assert client.post(reverse("admin:repositories_repository_delete", args=[repository.pk])).status_code == 403
    repository.refresh_from_db()
    assert repository.name == "before"


def test_the_admin_asks_who_is_there() -> None:
    response = Client().get("/admin/repositories/repository/")
    assert (response.status_code, response.headers["Location"].split("?")[0]) == (302, "/admin/login/")
    page = harmless_page(Client(), "/admin/login/")
    assert "password" in page


def test_the_policy_lets_no_page_load_from_elsewhere() -> None:
    policy = operator().get("/admin/").headers["Content-Security-Policy"]
    sources = [part.split()[1:] for part in policy.split("; ")]
    assert {source for part in sources for source in part} <= {"'none'", "'self'", "data:"}

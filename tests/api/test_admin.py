"""Admin: everything readable and searchable, nothing editable, hostile names harmless, no query per row."""

import datetime as dt

import pytest
from django.apps import apps
from django.contrib import admin
from django.db import connection
from django.test import Client, RequestFactory
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from jobs import task_runs
from jobs.conclusion import conclude
from jobs.database_time import database_now
from jobs.executors import ExecutionResult, Failure
from jobs.models import (
    JobDependency,
    JobSource,
    RepositoryBreaker,
    Run,
    RunEvent,
    Schedule,
    ScheduleDecision,
    UpkeepDecision,
    UpkeepPlan,
    Window,
)
from jobs.reconciling import tell_gone
from jobs.services import SourceInput, WorkerInput, worker_seen
from jobs.states import FailureClass
from repositories.freezing import repository_freeze
from syncova_project import clock
from syncova_project.access.services import audit_record, token_create
from syncova_project.read_only_admin import ReadOnlyAdmin
from tests.api.admin_pages import HOSTILE, harmless_page, operator
from tests.api.builders import make_job, make_run, start
from tests.repositories.builders import NOW, make_backup, make_repository, new_id

pytestmark = pytest.mark.django_db
LATER = NOW + dt.timedelta(hours=1)
OURS = ("access", "repositories", "jobs", "agents", "workers")
# Kept answers are nobody's business; a job's sources stand on its page, the scheduler's row tells nothing by itself,
# logs are read over the API, where they are bounded, and what was seen of a repository is the engine's to judge.
HIDDEN = {
    "UnsealedEntry",
    "AuditSealMark",
    "LoginAttempt",
    "DatabaseHome",
    "IdempotencyKey",
    "SchedulerState",
    "RunLogChunk",
    "JobSource",
    "RepositoryMemory",
    "RepositoryLookup",
}
# What people see is said there, by who manages people: test_visibility_of_people.
WRITTEN = {"SightLimit"}


def test_every_model_is_in_the_admin_and_read_only() -> None:
    for model in [model for label in OURS for model in apps.get_app_config(label).get_models()]:
        if model.__name__ in HIDDEN:
            assert not admin.site.is_registered(model)
            continue
        if model.__name__ in WRITTEN:
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
    run = hostile_run()
    RunEvent.objects.create(run=run, at=NOW, code="x", actor=HOSTILE, parameters={HOSTILE: HOSTILE})
    audit_record(
        actor=HOSTILE, action="a.b", subject_type="job", subject_id=HOSTILE, now=NOW, details={HOSTILE: [HOSTILE]}
    )


def hostile_run() -> Run:
    """Return a failed run of a job whose every text is hostile."""
    repository = make_repository(name=f"{HOSTILE} of jobs")
    path = ("/" + HOSTILE).encode() + b"\xff"
    source = SourceInput(path=path, excludes=(HOSTILE.replace("\n", ""),))
    job = make_job(repository, name=HOSTILE, sources=[source])
    run = make_run(job)
    job_sources = JobSource.objects.filter(job=run.job_id).values_list("source_id", flat=True)
    task_runs.create(run.id, job_sources, now=NOW)
    fence = start(run)
    failure = Failure(HOSTILE, HOSTILE, FailureClass.CONFIGURATION, hint=HOSTILE)
    assert conclude(run.id, fence, ExecutionResult(failure=failure), now=database_now())
    schedule = Schedule.objects.get(job=run.job_id)
    ScheduleDecision.objects.create(
        schedule=schedule, first_at=NOW, last_at=NOW, count=1, outcome="skipped", reason_code=HOSTILE, created_at=NOW
    )
    second = make_job(repository, name=f"{HOSTILE} 2")
    JobDependency.objects.create(job=second, predecessor=job, created_at=NOW)
    RepositoryBreaker.objects.create(repository=repository, failures=1, error_code=HOSTILE, updated_at=NOW)
    plan = UpkeepPlan.objects.create(
        id=new_id(),
        repository=repository,
        kind="prune",
        definition={HOSTILE: 1},
        anchor=NOW,
        flag=HOSTILE,
        created_at=NOW,
    )
    UpkeepDecision.objects.create(
        upkeep=plan, first_at=NOW, last_at=NOW, count=1, outcome="skipped", reason_code=HOSTILE, created_at=NOW
    )
    worker_seen(WorkerInput("default", HOSTILE, 1, slots=1, source_roots=[HOSTILE]), now=database_now())
    Window.objects.create(
        id=new_id(), name=HOSTILE, kind="blackout", kinds=["backup"], starts_at=NOW, ends_at=LATER, created_at=NOW
    )
    return Run.objects.get(id=run.id)


MODELS = [
    "access_apitoken",
    "access_auditentry",
    "repositories_repository",
    "repositories_repositoryfreeze",
    "repositories_backup",
    "jobs_job",
    "jobs_jobrevision",
    "jobs_jobdependency",
    "jobs_repositorybreaker",
    "jobs_run",
    "jobs_runevent",
    "jobs_taskrun",
    "jobs_runner",
    "jobs_workerprocess",
    "jobs_source",
    "jobs_schedule",
    "jobs_scheduledecision",
    "jobs_scheduleevent",
    "jobs_window",
    "jobs_upkeepplan",
    "jobs_upkeepdecision",
]


@pytest.mark.usefixtures("hostile_rows")
def test_lists_and_pages_are_harmless_and_searchable() -> None:
    client = operator()
    for model in MODELS:
        label, name = model.split("_")
        address = reverse(f"admin:{model}_changelist")
        harmless_page(client, address)
        for query in ("%3Cscript%3Ealert(1)", "'%22%5c", "01900000-0000-7000-8000-000000000000", "%00"):
            harmless_page(client, f"{address}?q={query}")
        rows = apps.get_model(label, name)._default_manager.all()[:3]
        assert rows, model
        for row in rows:
            harmless_page(client, reverse(f"admin:{model}_change", args=[row.pk]))
            harmless_page(client, reverse(f"admin:{model}_history", args=[row.pk]))


def test_a_list_costs_the_same_number_of_queries_for_any_length() -> None:
    client = operator()
    costs = []
    for _ in range(2):
        _more_rows()
        costs.append([_queries_of(client, reverse(f"admin:{model}_changelist")) for model in MODELS])
    assert costs[0] == costs[1]


def _queries_of(client: Client, address: str) -> int:
    client.get(address)
    with CaptureQueriesContext(connection) as queries:
        assert client.get(address).status_code == 200
    return len(queries)


def _more_rows() -> None:
    for _ in range(3):
        repository = make_repository()
        repository_freeze(repository_id=repository.id, reason="x", now=NOW)
        make_backup(repository)
        token_create(name="x", scopes=["jobs.read"], now=clock.now())
        job = make_job()
        run = make_run(job)
        RunEvent.objects.create(run=run, at=NOW, code="x")
        task_runs.create(run.id, JobSource.objects.filter(job=job).values_list("source_id", flat=True), now=NOW)


@pytest.mark.usefixtures("hostile_rows")
def test_a_runs_page_costs_the_same_for_any_number_of_its_rows() -> None:
    client, run = operator(), Run.objects.get(state="failed")
    address = reverse("admin:jobs_run_change", args=[run.pk])
    costs = []
    for number in range(2):
        RunEvent.objects.create(run=run, at=NOW, code=f"x{number}")
        with CaptureQueriesContext(connection) as queries:
            page = client.get(address).content.decode()
        costs.append(len(queries))
        assert "✗ failed" in page
    assert costs[0] == costs[1]


def test_a_runs_page_tells_which_of_its_backups_is_gone() -> None:
    job = make_job()
    run = make_run(job)
    task_runs.create(run.id, JobSource.objects.filter(job=job).values_list("source_id", flat=True), now=NOW)
    run.task_runs.update(backup_id="b1")
    tell_gone(repository_id=run.repository_id, gone=[("b1", run.id)], now=NOW)
    address = reverse("admin:jobs_run_change", args=[run.pk])
    client = operator()
    assert "b1 (gone)" in client.get(address).content.decode()
    make_backup(run.repository, backup_id="b1", run_id=run.id)
    assert "(gone)" not in client.get(address).content.decode()


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

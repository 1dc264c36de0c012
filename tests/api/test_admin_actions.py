"""What a person does in the admin: the services of the API, with its rights, its trail, and POST alone (7.11)."""

from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.test import Client
from django.urls import reverse

from jobs.database_time import database_now
from jobs.models import Job, Run
from jobs.services import job_pause
from repositories.freezing import repository_freeze
from repositories.models import Repository, RepositoryFreeze
from syncova_project.access.models import AuditEntry
from syncova_project.access.scopes import Scope
from tests.api.admin_actions import act, actions, address, errors_of, form_of, page_of, person
from tests.api.admin_pages import HOSTILE, harmless_page, operator
from tests.api.builders import make_job, make_run, start
from tests.api.client import ApiClient
from tests.api.test_admin import hostile_run
from tests.jobs.builders import make_runner
from tests.repositories.builders import NOW, make_backup, make_repository

pytestmark = pytest.mark.django_db


def test_a_job_is_run_paused_resumed_and_deleted_by_the_services() -> None:
    """E3: each with its entry of the trail, in the person's name."""
    client, job = operator(), make_job()
    started = act(client, job, "run")
    run = Run.objects.get()
    assert started.headers["Location"] == reverse("admin:jobs_run_change", args=[run.pk])
    assert run.requested_by == "user:operator"
    for name in ("pause", "resume", "delete"):
        assert act(client, job, name).status_code == 302
    assert actions()[1:] == ["run.request", "job.pause", "job.resume", "job.delete"]
    assert set(AuditEntry.objects.exclude(actor="alice").values_list("actor", flat=True)) == {"user:operator"}
    assert Job.objects.get().deleted_at is not None
    assert Run.objects.get().state == "cancelled"


def test_what_a_service_refuses_is_told_on_the_page() -> None:
    client, job = operator(), make_job(name=HOSTILE)
    job_pause(job_id=job.id, actor="alice", now=database_now())
    told = client.post(address(job, "run"), follow=True).content.decode()
    assert "is paused" in told
    assert "Resume it first." in told
    assert "<script>alert(1)" not in told
    assert not Run.objects.exists()


def test_what_is_told_on_a_page_is_to_be_done_on_pages() -> None:
    """The API's next step is a command."""
    client, job = operator(), make_job()
    for _ in range(2):
        told = client.post(address(job, "run"), follow=True).content.decode()
    assert ("already has the run" in told, "page leads to the run" in told, "./syncova" in told) == (True, True, False)
    assert "./syncova ctl run show" in ApiClient().post(f"jobs/{job.id}/run").refused(409, "JOB_ACTIVE")["hint"]


def test_a_list_says_that_it_does_nothing_to_several_rows() -> None:
    client, job = operator(), make_job()
    sent = {"action": "delete_selected", "_selected_action": [str(job.pk)], "index": "0"}
    told = client.post(reverse("admin:jobs_job_changelist"), sent, follow=True)
    assert (told.redirect_chain[0][1], "Nothing was done" in told.content.decode()) == (302, True)
    assert (Job.objects.get().deleted_at, actions()) == (None, ["job.create"])
    assert person(Scope.RUNS_READ).post(reverse("admin:jobs_job_changelist"), sent).status_code == 403


def test_nothing_happens_by_a_link_or_without_the_token() -> None:
    job, client = make_job(), operator()
    assert client.get(address(job, "run")).status_code == 405
    strict = Client(enforce_csrf_checks=True)
    strict.cookies = client.cookies
    for name in ("run", "pause", "delete", "change"):
        assert strict.post(address(job, name)).status_code == 403
    assert client.get(address(job, "nothing")).status_code == 404
    assert (actions(), Run.objects.count()) == (["job.create"], 0)


@pytest.mark.parametrize("name", ["cancel", "delete", "unfreeze"])
def test_what_destroys_asks_first(name: str) -> None:
    """A GET of it shows a question, and does nothing."""
    client, run = operator(), make_run()
    repository_freeze(repository_id=run.repository_id, reason=HOSTILE, now=NOW)
    of: Any = {"cancel": run, "delete": run.job, "unfreeze": run.repository}[name]
    page = harmless_page(client, address(of, name))
    assert "syncova-question" in page
    assert f'href="{address(of, name)}"' in page_of(client, of)
    assert (Run.objects.get().state, Job.objects.get().deleted_at) == ("queued", None)
    assert act(client, of, name).status_code == 302
    assert actions()[-1] == {"cancel": "run.cancel", "delete": "job.delete", "unfreeze": "repository.unfreeze"}[name]


def test_rights_decide_what_is_offered_and_what_is_done() -> None:
    """The rights of the API (7.8): who may only read sees no button, and a sent form is refused."""
    job = make_job()
    reader = person(Scope.JOBS_READ, Scope.RUNS_READ, Scope.REPOSITORIES_READ)
    page = page_of(reader, job)
    assert "syncova-actions" not in page
    for of, names in ((job, ("run", "pause", "delete", "change")), (job.repository, ("freeze", "check", "look"))):
        for name in names:
            assert act(reader, of, name, {"reason": "x"}).status_code == 403
    assert (actions(), Run.objects.count()) == (["job.create"], 0)


def test_who_may_run_may_not_change() -> None:
    job, runner = make_job(), person(Scope.JOBS_READ, Scope.JOBS_RUN)
    assert ">Run now<" in page_of(runner, job)
    assert act(runner, job, "run").status_code == 302
    assert act(runner, job, "change").status_code == 403
    assert runner.get(address(job, "change")).status_code == 403


def test_a_list_of_jobs_offers_what_can_be_done_at_once() -> None:
    job, paused = make_job(), make_job()
    job_pause(job_id=paused.id, actor="alice", now=database_now())
    page = harmless_page(person(Scope.JOBS_READ, Scope.JOBS_RUN), "/admin/jobs/job/")
    assert f'formaction="{address(job, "run")}"' in page
    assert f'formaction="{address(paused, "resume")}"' in page
    get_user_model().objects.all().delete()
    assert "formaction" not in harmless_page(person(Scope.JOBS_READ, Scope.JOBS_WRITE), "/admin/jobs/job/")


def test_a_repository_is_frozen_with_a_reason_and_cleared() -> None:
    client, repository = operator(), make_repository()
    assert act(client, repository, "freeze", {"reason": ""}).status_code == 400
    assert act(client, repository, "freeze", {"reason": HOSTILE}).status_code == 302
    assert RepositoryFreeze.objects.get().frozen_by == "user:operator"
    page = page_of(client, repository)
    assert "✗ It is frozen since" in page
    assert act(client, repository, "unfreeze").status_code == 302
    assert RepositoryFreeze.objects.get().cleared_by == "user:operator"
    page = page_of(client, repository)
    assert "Accepts backups: ✓ yes" in page
    assert "✓ cleared" in page


def test_a_swapped_repository_is_adopted_only_when_it_is_said() -> None:
    client = operator()
    repository = make_repository(observed_repository_id="f" * 32, observed_at=NOW)
    repository_freeze(repository_id=repository.id, reason="swapped", now=NOW)
    assert 'name="adopt_observed_id"' in harmless_page(client, address(repository, "unfreeze"))
    assert act(client, repository, "unfreeze").status_code == 302
    assert Repository.objects.get().repository_id != "f" * 32


def test_a_check_is_a_run() -> None:
    client, repository = operator(), make_repository()
    assert act(client, repository, "check", {"read_data": "on"}).status_code == 302
    run = Run.objects.get()
    assert (run.kind, run.parameters["read_data"], run.requested_by) == ("check", True, "user:operator")


def test_a_backup_is_restored_by_a_form(settings: Any, tmp_path: Any) -> None:
    """The target's roots are the service's to judge; its refusal stands beside the field."""
    settings.SYNCOVA_RESTORE_ROOTS = [str(tmp_path)]
    make_runner("default")
    client, backup = operator(), make_backup(make_repository())
    sent = form_of(harmless_page(client, address(backup, "restore")))
    assert sent["target"] == f"{tmp_path}/{backup.backup_id}"
    refused = act(client, backup, "restore", sent | {"target": "/etc"})
    assert refused.status_code >= 400
    assert "id_target_error" in refused.content.decode(), errors_of(refused)
    answer = act(client, backup, "restore", sent | {"paths": "docs/a.txt\r\ndocs/b", "overwrite": "if-newer"})
    run = Run.objects.get()
    assert answer.headers["Location"] == reverse("admin:jobs_run_change", args=[run.pk])
    asked = run.parameters
    assert (asked["backup"], asked["overwrite"], asked["in_place"]) == (backup.backup_id, "if-newer", False)
    assert len(asked["paths_base64"]) == 2


def test_restoring_needs_its_own_right() -> None:
    backup = make_backup(make_repository())
    client = person(Scope.REPOSITORIES_READ, Scope.JOBS_WRITE, Scope.JOBS_RUN, Scope.REPOSITORIES_WRITE)
    assert "Restore" not in page_of(client, backup)[page_of(client, backup).index("<h1>") :].split("</main>")[0]
    assert act(client, backup, "restore", {"target": "/x"}).status_code == 403


def test_replacing_what_is_there_needs_another(settings: Any, tmp_path: Any) -> None:
    settings.SYNCOVA_RESTORE_ROOTS = [str(tmp_path)]
    make_runner("default")
    backup, rights = make_backup(make_repository()), (Scope.REPOSITORIES_READ, Scope.RESTORES_RUN)
    client = person(*rights)
    sent = form_of(harmless_page(client, address(backup, "restore")))
    refused = act(client, backup, "restore", sent | {"overwrite": "always"})
    assert (refused.status_code, Run.objects.count()) == (403, 0)
    assert "needs the right restores.in_place" in str(errors_of(refused))
    assert "id_overwrite_error" in refused.content.decode()
    assert act(client, backup, "restore", sent | {"overwrite": "never"}).status_code == 302


def test_the_first_page_tells_what_needs_somebody() -> None:
    """Jobs whose last run did not succeed, with that run; repositories that take no backups, with the reason."""
    run, client = hostile_run(), operator()
    failed = {"state": "failed", "state_code": "X", "state_reason": HOSTILE, "repository_id": None}
    broken = make_repository(name=HOSTILE, **failed)
    page = harmless_page(client, "/admin/")
    for address_of in (f"jobs/run/{run.pk}", f"jobs/job/{run.job_id}", f"repositories/repository/{broken.pk}"):
        assert f'href="/admin/{address_of}/change/"' in page
    assert "✗ failed" in page
    assert "✗ It could not be opened" in page
    assert "did not succeed" not in harmless_page(person(Scope.AUDIT_READ), "/admin/")


def test_a_calm_first_page_says_so() -> None:
    make_run()
    page = harmless_page(operator(), "/admin/")
    assert "✓ none: the last run of each job succeeded" in page
    assert "✓ none." in page


def test_a_running_run_is_cancelled_once() -> None:
    client, run = operator(), make_run()
    start(run)
    assert act(client, run, "cancel").status_code == 302
    assert Run.objects.get().cancelled_by == "user:operator"
    assert address(run, "cancel") not in page_of(client, run)

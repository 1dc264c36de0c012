"""What a person does in the admin: the services of the API, with its rights, its trail, and POST alone (7.11)."""

import html
import re
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Permission
from django.test import Client
from django.urls import reverse

from jobs.database_time import database_now
from jobs.models import Job, JobRevision, JobSource, Run, Schedule
from jobs.services import SourceInput, job_pause
from repositories.freezing import repository_freeze
from repositories.models import Repository, RepositoryFreeze
from syncova_project.access.models import AuditEntry
from syncova_project.access.scopes import Scope
from tests.api.admin_pages import HOSTILE, harmless_page, operator
from tests.api.builders import BERLIN, make_job, make_run, start
from tests.api.test_admin import hostile_run
from tests.jobs.builders import make_runner
from tests.repositories.builders import NOW, make_backup, make_repository

pytestmark = pytest.mark.django_db
OPTION = re.compile(r'<option value="([^"]*)"')
CHOSEN = re.compile(r'<option value="([^"]*)"[^>]*selected', re.DOTALL)


def act(client: Client, of: Any, action: str, values: dict[str, str] | None = None) -> Any:
    """Post an action to a row."""
    return client.post(address(of, action), values or {})


def address(of: Any, name: str) -> str:
    return reverse(f"admin:{of._meta.label_lower.replace('.', '_')}_do", args=[of.pk, name])


def page_of(client: Client, of: Any) -> str:
    return harmless_page(client, reverse(f"admin:{of._meta.label_lower.replace('.', '_')}_change", args=[of.pk]))


def person(*scopes: Scope, **fields: Any) -> Client:
    """Return somebody of the staff with some rights."""
    user = get_user_model().objects.create_user("person", password="not a secret", is_staff=True, **fields)
    user.user_permissions.set(Permission.objects.filter(codename__in=scopes, content_type__app_label="access"))
    client = Client()
    client.force_login(user)
    return client


def form_of(page: str) -> dict[str, str]:
    """Return what a browser would send of a form that nobody touched."""
    sent: dict[str, str] = {}
    form = page[page.index("syncova-form") :]
    for match in re.finditer(
        r"<(input|textarea|select)([^>]*)>(.*?)(?=<(?:input|textarea|select|/form)|$)", form, re.DOTALL
    ):
        kind, attributes, rest = match.groups()
        name = re.search(r'name="([^"]+)"', attributes)
        if name is None or name[1] == "csrfmiddlewaretoken":
            continue
        if kind == "textarea":
            sent[name[1]] = html.unescape(rest.partition("</textarea>")[0].removeprefix("\n")).replace("\n", "\r\n")
        elif kind == "select":
            options = rest.partition("</select>")[0]
            chosen = CHOSEN.search(options) or OPTION.search(options)
            sent[name[1]] = html.unescape(chosen[1]) if chosen else ""
        elif 'type="checkbox"' in attributes:
            sent |= {name[1]: "on"} if "checked" in attributes else {}
        else:
            value = re.search(r'value="([^"]*)"', attributes)
            sent[name[1]] = html.unescape(value[1]) if value else ""
    return sent


def errors_of(answer: Any) -> list[str]:
    return re.findall(r'<ul class="errorlist[^>]*>.*?</ul>', answer.content.decode(), re.DOTALL)


def actions() -> list[str]:
    """Return what the trail says beside logins, oldest first."""
    entries = AuditEntry.objects.exclude(action__startswith="session.").order_by("id")
    return list(entries.values_list("action", flat=True))


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


def test_a_job_is_changed_by_a_form_as_by_patch() -> None:
    """E6: sources, schedule and priority; the revision and the trail say what was before."""
    client = operator()
    job = make_job(sources=[SourceInput(path=b"/srv/gone", excludes=("*.tmp",))])
    sent = form_of(harmless_page(client, address(job, "change")))
    assert (sent["path_0"], sent["rules_0"]) == ("/srv/gone", "*.tmp")
    assert (sent["kind_0"], sent["value_0"], sent["zone_0"]) == ("daily", "02:00", "Europe/Berlin")
    sent |= {"path_0": "/srv/data", "rules_0": "*.tmp\r\n/cache/", "value_0": "03:30", "priority": "high"}
    sent |= {"path_1": "/srv/more", "kind_1": "weekly", "value_1": "sat,sun@22:00", "rpo_seconds": "604800"}
    assert act(client, job, "change", sent).status_code == 302
    places = JobSource.objects.order_by("position").values_list("source__shown", "excludes")
    assert list(places) == [("/srv/data", ["*.tmp", "/cache/"]), ("/srv/more", [])]
    kept = Schedule.objects.filter(deleted_at__isnull=True).order_by("id")
    assert [one.definition["time"] for one in kept] == ["03:30", "22:00"]
    job.refresh_from_db()
    assert (job.priority, job.rpo_seconds, job.revision_number) == ("high", 604800, 2)
    entry = AuditEntry.objects.get(action="job.change")
    assert entry.details["before"]["priority"] == "normal"
    assert JobRevision.objects.get(number=2).created_by == "user:operator"


def test_a_form_that_nobody_touched_changes_nothing() -> None:
    """Exact bytes of paths and rules stay, also where only an escaped form of them can be shown."""
    client = operator()
    path = ("/" + HOSTILE).encode() + b"\xff"
    excludes = (HOSTILE.replace("\n", ""), "a\\ ")
    schedules = [BERLIN, {"type": "interval", "every_seconds": 21600, "anchor": "2026-01-01T00:30:00Z"}]
    job = make_job(name=HOSTILE, sources=[SourceInput(path=path, excludes=excludes)], schedules=schedules)
    sent = form_of(harmless_page(client, address(job, "change")))
    told = client.post(address(job, "change"), sent, follow=True).content.decode()
    assert "nothing was changed" in told
    assert act(client, job, "change", sent | {"path_1": "/srv/more", "kind_2": "manual"}).status_code == 302
    sources = JobSource.objects.order_by("position")
    assert [bytes(one.source.normalised_id) for one in sources] == [path, b"/srv/more"]
    assert sources[0].excludes == list(excludes)
    kept = {one.kind: one.definition for one in Schedule.objects.filter(job=job, deleted_at__isnull=True)}
    assert kept["daily"] == BERLIN
    assert kept["interval"]["anchor"].startswith("2026-01-01T00:30:00")
    assert kept["manual"] == {"type": "manual"}


@pytest.mark.parametrize(
    ("changed", "beside", "told"),
    [
        ({"path_0": "relative"}, "path_0", "absolute"),
        ({"path_1": "/srv/data"}, "path_1", "named twice"),
        ({"rules_0": "a\r\n["}, "rules_0", ""),
        ({"value_0": "25:99"}, "value_0", ""),
        ({"zone_0": "Nowhere/Land"}, "zone_0", ""),
        ({"kind_0": "weekly", "value_0": "someday"}, "value_0", "sat,sun@22:00"),
        ({"max_attempts": "11"}, "max_attempts", "10"),
        ({"rpo_seconds": "60"}, "rpo_seconds", ""),
        ({"name": " "}, "name", "required"),
    ],
)
def test_a_refusal_stands_beside_its_field(changed: dict[str, str], beside: str, told: str) -> None:
    """Nothing is saved, and the form keeps what was written."""
    client, job = operator(), make_job()
    sent = form_of(harmless_page(client, address(job, "change"))) | changed
    answer = act(client, job, "change", sent)
    page = answer.content.decode()
    assert answer.status_code == 400, errors_of(answer)
    errors = re.search(rf'<ul class="errorlist" id="id_{beside}_error">(.*?)</ul>', page, re.DOTALL)
    assert errors is not None, errors_of(answer)
    assert told in errors[1]
    assert Job.objects.get().revision_number == 1
    assert "job.change" not in actions()


def test_a_change_made_meanwhile_is_not_undone() -> None:
    client, job = operator(), make_job()
    sent = form_of(harmless_page(client, address(job, "change")))
    assert act(client, job, "change", sent | {"priority": "high"}).status_code == 302
    late = act(client, job, "change", sent | {"priority": "low"})
    assert late.status_code == 412
    assert "has been changed meanwhile" in late.content.decode()
    assert Job.objects.get().priority == "high"


def test_a_repository_is_frozen_with_a_reason_and_cleared() -> None:
    client, repository = operator(), make_repository()
    assert act(client, repository, "freeze", {"reason": ""}).status_code == 400
    assert act(client, repository, "freeze", {"reason": HOSTILE}).status_code == 302
    assert RepositoryFreeze.objects.get().frozen_by == "user:operator"
    page = page_of(client, repository)
    assert "✗ It is frozen since" in page
    assert act(client, repository, "unfreeze").status_code == 302
    assert RepositoryFreeze.objects.get().cleared_by == "user:operator"
    assert "Accepts backups: ✓ yes" in page_of(client, repository)


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

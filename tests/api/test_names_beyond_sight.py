"""A job may wait for one in a repository that its readers do not see: everywhere it is then "another job" (7.8, C3)."""

import datetime as dt
from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client
from django.urls import reverse

from jobs.admission import admit_waiting
from jobs.deadlines import expire_late
from jobs.models import Job, JobDependency, JobRevision, Run
from jobs.services import job_change, job_depend
from syncova_project.access.models import AuditEntry, SightLimit
from syncova_project.access.visibility import visible_groups
from syncova_project.preconditions import ANY_STATE
from tests import canaries
from tests.api.client import ApiClient
from tests.api.test_visibility import client_of
from tests.ctl.conftest import Ctl, ctl, plan  # noqa: F401 - fixtures
from tests.jobs.builders import NOW, make_job, make_run
from tests.repositories.builders import make_repository

pytestmark = pytest.mark.django_db
SECRET = canaries.source_name("payroll-of-the-south")
HELD = {
    "dependency": "Waits for another job: its run has not ended.",
    "dependency_paused": "Waits for another job, which is paused.",
    "dependency_never_ran": "Waits for another job, which has never run.",
    "dependency_failed": "Waits for another job, whose last run did not succeed.",
}


@pytest.fixture(autouse=True)
def _quiet(settings: Any) -> Iterator[None]:
    settings.SYNCOVA_WAKE = settings.SYNCOVA_DOORBELL = ""
    yield
    assert visible_groups() is None


def across() -> tuple[Job, Job]:
    """Return a job of the south, and one of the north that waits for it."""
    south = make_job(repository=make_repository(worker_group="south"), name=SECRET)
    north = make_job(repository=make_repository(worker_group="north"), name="north job", start_deadline_seconds=60)
    job_depend(job_id=north.id, depends_on=[south.id], actor="alice", now=NOW)
    return south, north


def waiting(north: Job, code: str, name: str = SECRET) -> Run:
    return make_run(north, "queued", held_code=code, held_subject=name, held_since=NOW)


@pytest.mark.parametrize("code", HELD)
def test_why_a_run_waits_names_no_job_that_is_not_seen(code: str) -> None:
    south, north = across()
    Job.objects.filter(id=south.id).update(last_state="failed", last_run_id=north.id, last_finished_at=NOW)
    run, limited, free = waiting(north, code), client_of("north"), ApiClient()
    for address in ("queue", "runs", f"runs/{run.id}", "jobs", f"jobs/{north.id}", f"jobs/{north.id}/runs"):
        text = str(limited.get(address).json)
        assert (SECRET in text, HELD[code] in text) == (False, True), address
        assert SECRET in str(free.get(address).json), address
        assert "ended as failed" not in text
    assert limited.get(f"runs/{run.id}").json["held"]["subject"] == "another job"
    shown = limited.get(f"jobs/{north.id}").json
    assert (shown["depends_on"], shown["unseen_dependencies"], str(south.id) in str(shown)) == ([], 1, False)
    refused = limited.post(f"jobs/{north.id}/run").refused(409, "JOB_ACTIVE")
    assert (SECRET in str(refused), HELD[code] in refused["message"]) == (False, True)


def test_a_job_that_is_seen_keeps_its_name() -> None:
    north = make_job(repository=make_repository(worker_group="north"), name="first")
    run = waiting(across()[1], "dependency", north.name)
    assert client_of("north").get(f"runs/{run.id}").json["held"]["sentence"].startswith("Waits for the job first")


def test_no_page_of_the_admin_names_it() -> None:
    user = User.objects.create_user("nora", is_staff=True)
    user.groups.add(Group.objects.get(name="administrators"))
    SightLimit.objects.create(user=user, worker_groups=["north"])
    south, north = across()
    run, pages = waiting(north, "dependency"), Client()
    pages.force_login(user)
    addresses = [reverse("admin:jobs_run_queue"), reverse("admin:jobs_run_change", args=[run.pk])]
    addresses += [reverse("admin:jobs_job_change", args=[north.pk]), reverse("admin:jobs_jobdependency_changelist")]
    last = JobRevision.objects.get(job=north, number=2)
    addresses += [reverse("admin:jobs_jobrevision_change", args=[last.pk])]
    addresses += [reverse("admin:access_auditentry_change", args=[AuditEntry.objects.get(action="job.depend").pk])]
    for address in [*addresses, "/admin/", reverse("admin:jobs_job_changelist")]:
        shown = pages.get(address).content.decode()
        assert (SECRET in shown, str(south.pk) in shown) == (False, False), address
    for address in addresses[:2]:
        assert HELD["dependency"] in pages.get(address).content.decode(), address


def test_what_is_kept_for_all_readers_names_it_neither() -> None:
    """The end of a run that waited too long; the audit trail keeps ids, and shows them to whoever sees the job."""
    south, north = across()
    run = make_run(north, "queued")
    admit_waiting(now=NOW)
    assert Run.objects.get(id=run.id).held_subject == SECRET
    assert expire_late(now=NOW + dt.timedelta(seconds=61)) == 1
    assert Run.objects.get(id=run.id).error_message.endswith(HELD["dependency_never_ran"])
    fields = {"depends_on": [], "name": "alone"}
    job_change(job_id=north.id, fields=fields, condition=ANY_STATE, actor="alice", now=NOW)
    job_depend(job_id=north.id, depends_on=[south.id], actor="alice", now=NOW)
    job_change(job_id=north.id, fields={"depends_on": []}, condition=ANY_STATE, actor="alice", now=NOW)
    limited, entries = client_of("north"), f"audit?subject_type=job&subject_id={north.id}"
    for client, other in ((limited, "another job"), (ApiClient(), str(south.id))):
        rows = [row["details"] for row in client.get(entries).json["entries"]]
        assert [row["after"]["depends_on"] for row in rows] == [[], [other], [], [other]]
        assert [row["before"]["depends_on"] for row in rows] == [[other], [], [other], []]
    for address in ("audit", "runs", f"runs/{run.id}/events", f"runs/{run.id}/log", f"jobs/{north.id}/revisions"):
        text = str(limited.get(address).json)
        assert (SECRET in text, str(south.id) in text) == (False, False), address
    told = [row["job"] for row in limited.get(f"jobs/{north.id}/revisions").json["revisions"]]
    assert [(one["depends_on"], one.get("unseen_dependencies")) for one in told[1:3]] == [([], 1), ([], None)]
    assert str(south.id) in str(ApiClient().get(f"jobs/{north.id}/revisions").json)


def test_refusals_name_it_neither() -> None:
    south, north = across()
    of_south, last = client_of("south"), make_job(repository=make_repository(worker_group="south"), name="last")
    refused = of_south.delete(f"jobs/{south.id}").refused(409, "JOB_NEEDED")
    assert (refused["details"]["jobs"], "north" in str(refused)) == (["another job"], False)
    assert "somebody who sees all of them" in refused["hint"]
    JobDependency.objects.create(job=last, predecessor=north, created_at=NOW)
    asked = {"depends_on": [str(last.id)]}
    refused = of_south.request("PUT", f"jobs/{south.id}/dependencies", asked).refused(409, "DEPENDENCY_CYCLE")
    assert refused["details"]["jobs"] == [SECRET, "last", "another job", SECRET]
    assert "north" not in str(refused)


def test_what_is_not_seen_is_neither_named_nor_taken_away() -> None:
    """A change of what is waited for is one of what was shown: nobody left out what they were not shown."""
    (south, north), first = across(), make_job(repository=make_repository(worker_group="north"), name="first")
    limited, address = client_of("north"), f"jobs/{north.id}"
    for ids in ([str(first.id)], []):
        tag = str(limited.get(address).headers["ETag"])
        shown = limited.request("PATCH", address, {"depends_on": ids}, **{"If-Match": tag}).json
        assert ([one["id"] for one in shown["depends_on"]], shown["unseen_dependencies"]) == (ids, 1)
    shown = limited.request("PUT", f"{address}/dependencies", {"depends_on": []}).json
    assert shown["unseen_dependencies"] == 1
    named = {"depends_on": [str(south.id)]}
    limited.request("PUT", f"{address}/dependencies", named).refused(400, "VALIDATION_FAILED")
    assert JobDependency.objects.get().predecessor_id == south.id
    assert ApiClient().request("PUT", f"{address}/dependencies", {"depends_on": []}).json["unseen_dependencies"] == 0
    assert not JobDependency.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_the_command_line_names_it_neither(ctl: Ctl, monkeypatch: Any, tmp_path: Any) -> None:  # noqa: F811
    _, north = across()
    run = waiting(north, "dependency")
    client = client_of("north")
    (tmp_path / "north").write_text(client.headers["Authorization"].partition(" ")[2])
    monkeypatch.setenv("SYNCOVA_TOKEN_FILE", str(tmp_path / "north"))
    for words in (("queue",), ("run", "list"), ("run", "show", str(run.id)), ("job", "show", north.name), ("status",)):
        for form in ((), ("--json",)):
            told = ctl(*words, *form)
            assert (told.code, SECRET in told.out + told.err) == (0, False), told
        shown = "1 that you do not see" if words == ("job", "show", north.name) and not form else "another job"
        assert words[0] == "status" or shown in told.out, told

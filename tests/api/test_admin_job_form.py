"""The form that changes a job: what PATCH does, with its refusals beside the fields, and nothing lost unseen (E6)."""

import pytest

from jobs.models import Job, JobRevision, JobSource, Schedule
from jobs.services import SourceInput
from syncova_project.access.models import AuditEntry
from tests.api.admin_actions import act, actions, address, errors_of, form_of
from tests.api.admin_pages import HOSTILE, harmless_page, operator
from tests.api.builders import BERLIN, make_job

pytestmark = pytest.mark.django_db


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


REFUSED: list[tuple[dict[str, str], str, str]] = [
    ({"path_0": "relative"}, "path_0", "absolute"),
    ({"path_1": "/srv/data"}, "path_1", "named twice"),
    ({"rules_0": "a\r\n["}, "rules_0", "can match nothing"),
    ({"value_0": "25:99"}, "value_0", ""),
    ({"zone_0": "Nowhere/Land"}, "zone_0", ""),
    ({"kind_0": "weekly", "value_0": "someday"}, "value_0", "sat,sun@22:00"),
    ({"max_attempts": "11"}, "max_attempts", "10"),
    ({"rpo_seconds": "60"}, "rpo_seconds", ""),
    ({"name": " "}, "name", "required"),
]


def test_a_refusal_stands_beside_its_field() -> None:
    """Nothing is saved, and the form keeps what was written."""
    client, job = operator(), make_job()
    untouched = form_of(harmless_page(client, address(job, "change")))
    for changed, beside, told in REFUSED:
        answer = act(client, job, "change", untouched | changed)
        assert answer.status_code == 400, (changed, errors_of(answer))
        (errors,) = [one for one in errors_of(answer) if f'id="id_{beside}_error"' in one]
        assert told in errors
    assert Job.objects.get().revision_number == 1
    assert "job.change" not in actions()


def test_a_change_made_meanwhile_is_not_undone() -> None:
    client, job = operator(), make_job()
    sent = form_of(harmless_page(client, address(job, "change")))
    assert act(client, job, "change", sent | {"priority": "high"}).status_code == 302
    late = act(client, job, "change", sent | {"priority": "low"})
    assert late.status_code == 412
    told = late.content.decode()
    assert ("has been changed meanwhile" in told, "in another tab" in told, "ETag" in told) == (True, True, False)
    assert Job.objects.get().priority == "high"

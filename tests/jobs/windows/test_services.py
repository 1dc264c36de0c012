"""Making, changing and deleting windows: names, levels, fields, the trail, and objectives that they break (B9, B10)."""

import datetime as dt
from dataclasses import replace
from typing import Any

import pytest

from jobs.errors import WindowNameTakenError, WindowNotFoundError
from jobs.models import Window
from jobs.services import NewJob, SourceInput, WindowInput, job_create, window_change, window_create, window_delete
from jobs.window_rows import rule_of
from syncova_project.access.models import AuditEntry
from syncova_project.errors import ValidationFailedError
from tests.jobs import bells
from tests.jobs.builders import NOW, make_job, make_schedule, new_id
from tests.jobs.windows.builders import NIGHT, make_window
from tests.repositories.builders import make_repository

pytestmark = pytest.mark.django_db

ONCE = {"type": "allowed", "starts_at": "2026-12-24T00:00:00Z", "ends_at": "2026-12-27T00:00:00Z", "kinds": ["check"]}


def test_a_window_is_kept_as_it_was_meant(django_capture_on_commit_callbacks: Any) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        row = make_window(NIGHT | {"days": ["sat", "mon"], "time_zone": "Europe/Berlin"})
    assert (row.kind, row.kinds, row.days) == ("blackout", ["backup", "prune"], [1, 6])
    assert (row.start_time, row.length_seconds, row.time_zone) == (dt.time(1), 18000, "Europe/Berlin")
    assert bells.woken == [1]
    assert AuditEntry.objects.get().details["name"] == "quiet"


def test_a_change_from_one_shape_to_the_other_leaves_nothing_behind() -> None:
    row = make_window()
    window_change(row.id, WindowInput("Christmas", ONCE), actor="bob", now=NOW)
    row.refresh_from_db()
    assert (row.name, row.kind, row.days, row.start_time, row.time_zone) == ("Christmas", "allowed", None, None, "")
    window_change(row.id, WindowInput("quiet", NIGHT), actor="bob", now=NOW)
    row.refresh_from_db()
    assert (row.starts_at, row.ends_at, row.length_seconds) == (None, None, 18000)
    assert rule_of(row).kind == "blackout"


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"name": " "}, "name"),
        ({"name": "n" * 201}, "name"),
        ({"definition": NIGHT | {"time_zone": "Mars"}}, "time_zone"),
        ({"definition": NIGHT | {"kinds": ["restore"]}}, "kinds"),
        ({"definition": ONCE | {"ends_at": ONCE["starts_at"]}}, "ends_at"),
        ({"repository_id": new_id()}, "repository_id"),
        ({"job_id": new_id()}, "job_id"),
        ({"job_id": new_id(), "repository_id": new_id()}, "job_id"),
    ],
)
def test_what_is_wrong_is_named_by_its_field(fields: dict[str, Any], field: str) -> None:
    values: dict[str, Any] = {"name": "quiet", "definition": NIGHT} | fields
    with pytest.raises(ValidationFailedError) as caught:
        window_create(WindowInput(**values), actor="alice", now=NOW)
    assert list(caught.value.details) == [field]
    assert not Window.objects.exists()


def test_a_name_names_one_window() -> None:
    first, second = make_window(), make_window(name="other")
    with pytest.raises(WindowNameTakenError, match="'quiet'"):
        make_window(name="QUIET")
    with pytest.raises(WindowNameTakenError):
        window_change(second.id, WindowInput("Quiet", NIGHT), actor="alice", now=NOW)
    window_change(first.id, WindowInput("Quiet", NIGHT), actor="alice", now=NOW)


def test_what_is_gone_is_not_found() -> None:
    row = make_window()
    window_delete(row.id, actor="alice", now=NOW)
    with pytest.raises(WindowNotFoundError):
        window_delete(row.id, actor="alice", now=NOW)
    with pytest.raises(WindowNotFoundError):
        window_change(row.id, WindowInput("quiet", NIGHT), actor="alice", now=NOW)


def test_a_window_that_breaks_objectives_is_saved_and_names_them() -> None:
    """B10: only those to which it applies, and only those that it breaks."""
    hourly = {"type": "interval", "every_seconds": 3600}
    vault = make_repository()
    figures = (("tight", 4), ("wide", 6))
    jobs = [make_job(name=name, rpo_seconds=hours * 3600, repository=vault) for name, hours in figures]
    jobs.append(make_job(name="elsewhere", rpo_seconds=3600, repository=make_repository()))
    for job in jobs:
        make_schedule(job, hourly, next_at=NOW)
    new = WindowInput("quiet", NIGHT, repository_id=vault.id)
    saved = window_create(new, actor="alice", now=NOW)
    assert saved.broken == ["tight"]
    assert AuditEntry.objects.get().details["breaks_objectives_of"] == ["tight"]


def test_a_job_cannot_promise_what_windows_prevent() -> None:
    """B10: refused when it is made, with both figures and the window that is in the way."""
    made = make_window()
    new = NewJob(
        name="Nightly",
        repository_id=make_repository().id,
        sources=(SourceInput(b"/home"),),
        schedules=({"type": "interval", "every_seconds": 3600},),
        rpo_seconds=4 * 3600,
    )
    told = rf"6 hours between two runs.* objective of 4 hours\. Without these windows it could: '{made.name}'\."
    with pytest.raises(ValidationFailedError, match=told):
        job_create(new, actor="alice", now=NOW)
    with pytest.raises(ValidationFailedError, match=r"objective of 30 minutes\.$"):
        job_create(replace(new, rpo_seconds=1800), actor="alice", now=NOW)

"""What an operator reads of the calendar in the admin: why a run is postponed, until when, what did not run (5.7)."""

import datetime as dt

import pytest
from django.urls import reverse

from jobs.claims import claim_due
from jobs.database_time import database_now
from jobs.models import Run, Schedule, ScheduleDecision, Window
from jobs.services import WindowInput, window_create
from tests.api.admin_pages import HOSTILE, harmless_page, operator
from tests.api.builders import make_job

pytestmark = pytest.mark.django_db


def test_a_postponed_run_says_until_when_and_by_which_window() -> None:
    """B7, C3: in words, and the name of the window does no harm."""
    job, now = make_job(), database_now()
    edges = {"starts_at": "2020-01-01T00:00:00Z", "ends_at": now.replace(microsecond=0).isoformat()}
    window = window_create(
        WindowInput(HOSTILE, {"type": "blackout", **edges}, job_id=job.id), actor="a", now=now
    ).window
    until = now.replace(microsecond=0) + dt.timedelta(days=3)
    Window.objects.filter(id=window.id).update(ends_at=until)
    Schedule.objects.update(next_at=now)
    claim_due(now=now)
    run, client = Run.objects.get(), operator()
    page = harmless_page(client, reverse("admin:jobs_run_change", args=[run.id]))
    assert f"Waits until {run.not_before:%Y-%m-%d %H:%M:%S} UTC: the blackout a" in page
    told = harmless_page(client, reverse("admin:jobs_scheduledecision_changelist"))
    assert ScheduleDecision.objects.get().outcome == "postponed"
    assert "1 planned run postponed to" in told

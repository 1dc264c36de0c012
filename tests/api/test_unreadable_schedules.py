"""Rows whose stored schedule is no schedule: lists and pages show them as flagged and go on (5.6)."""

from typing import Any

import pytest
from django.db import connection
from django.urls import reverse

from jobs.claims import claim_due
from jobs.database_time import database_now
from jobs.models import Schedule, UpkeepPlan
from tests.api.admin_pages import harmless_page, operator
from tests.api.builders import BERLIN, make_job
from tests.api.client import ApiClient

pytestmark = pytest.mark.django_db

STORED = ["null", '"daily"', "7", "true", "[1]", '[[{"type": "daily"}]]', '{"type": {"a": 1}}', '{"id": 1, "type": []}']


def spoil(table: str, stored: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"UPDATE {table} SET definition = %s::jsonb", [stored])


@pytest.mark.parametrize("stored", STORED)
def test_a_job_is_listed_and_shown_as_flagged_before_and_after_the_pass_that_flags_it(stored: str) -> None:
    client, job, schedule = ApiClient(), make_job(), Schedule.objects.get()
    spoil("schedules", stored)
    healthy = make_job()
    for due_at in (schedule.next_at, database_now()):
        Schedule.objects.filter(id=schedule.id).update(next_at=due_at)
        claim_due(now=database_now())
        shown = {one["id"]: one for one in client.get("jobs").json["jobs"]}
        (told,) = shown[str(job.id)]["schedules"]
        assert (told["id"], told["state"], told["next_run_at"]) == (str(schedule.id), "flagged", None)
        assert told["description"].startswith("cannot be planned: ")
        assert told["state_reason"].startswith("Cannot be planned: ")
        assert shown[str(healthy.id)]["schedules"][0]["state"] == "active"
        assert client.get(f"jobs/{job.id}").json["schedules"] == [told]
        preview = {"descriptions": [told["description"]], "instants": [], "paused": False}
        assert client.get(f"jobs/{job.id}/preview").json == preview
    assert Schedule.objects.get(id=schedule.id).state == "flagged"


@pytest.mark.parametrize("stored", STORED)
def test_admin_pages_show_it(stored: str) -> None:
    job, schedule, client = make_job(), Schedule.objects.get(), operator()
    spoil("schedules", stored)
    harmless_page(client, reverse("admin:jobs_job_changelist"))
    harmless_page(client, reverse("admin:jobs_job_change", args=[job.id]))
    harmless_page(client, reverse("admin:jobs_schedule_changelist"))
    harmless_page(client, reverse("admin:jobs_schedule_change", args=[schedule.id]))


@pytest.mark.parametrize("stored", STORED)
def test_a_plan_of_upkeep_is_listed(stored: str) -> None:
    address = f"repositories/{make_job().repository_id}/upkeep"
    assert ApiClient().request("PUT", f"{address}/prune", {"schedule": BERLIN}).status == 200
    spoil(UpkeepPlan._meta.db_table, stored)
    (told,) = ApiClient().get(address).json["upkeep"]
    assert told["description"].startswith("cannot be planned: ")


@pytest.mark.parametrize("stored", STORED)
def test_another_schedule_mends_it(stored: str) -> None:
    job, schedule = make_job(), Schedule.objects.get()
    spoil("schedules", stored)
    body: dict[str, Any] = {"schedule": BERLIN}
    changed = ApiClient().request("PATCH", f"jobs/{job.id}", body, **{"If-Match": '"1"'})
    assert (changed.status, changed.json["schedules"][0]["state"]) == (200, "active")
    assert changed.json["schedules"][0]["id"] == str(schedule.id)

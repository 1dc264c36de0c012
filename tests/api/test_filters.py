"""Lists of jobs and schedules: closed orderings, each answered by its index, and their filters (7.1, 7.5)."""

from functools import partial
from typing import Any

import pytest

from jobs.listing import JOB_ORDERINGS
from jobs.models import Schedule
from jobs.serializers import JobFilter
from tests.api.client import ApiClient
from tests.api.test_history_indexes import COUNTING, asked, plan_of
from tests.jobs.builders import DAILY, make_job, make_run, make_schedule

pytestmark = pytest.mark.django_db
INDEX = {"name": "jobs_name_is_unique_while_kept", "created_at": "jobs_pkey"}
EVERY = {"type": "interval", "every_seconds": 3600}


def names(query: str) -> list[str]:
    return [one["name"] for one in ApiClient().get(f"jobs?{query}").json["jobs"]]


@pytest.mark.parametrize("ordering", JOB_ORDERINGS)
def test_each_page_of_jobs_begins_in_the_index_of_its_order(ordering: str) -> None:
    """Also the second one; no schedule of a job that is not shown is read."""
    for number in range(4):
        make_job(name=f"job {number}", schedule=DAILY)
    first = f"jobs?limit=2&ordering={ordering}"
    cursor = ApiClient().get(first).json["next_cursor"]
    for page in (first, f"{first}&cursor={cursor}"):
        (listed,) = [one for one in asked(partial(ApiClient().get, page), "jobs") if "LIMIT 3" in one]
        assert COUNTING.search(listed) is None
        assert "GROUP BY" not in listed.rpartition(" FROM ")[2]
        plan = plan_of(listed, without=("seqscan", "sort", "bitmapscan"))
        assert f"using {INDEX[ordering.removeprefix('-')]} on jobs" in plan, plan


def test_the_orderings_are_a_closed_list() -> None:
    ordering: Any = JobFilter().fields["ordering"]
    assert set(ordering.choices) == set(JOB_ORDERINGS)
    for other in ("priority", "next_run_at", "id", "repository__name", "name,created_at", "?"):
        ApiClient().get(f"jobs?ordering={other}").refused(400, "VALIDATION_FAILED")


def test_the_last_result_is_an_end_or_none() -> None:
    states = {"succeeded": "a", "partial_failure": "b", "failed": "c", "cancelled": "d", "none": "e"}
    for state, name in states.items():
        job = make_job(name=name)
        if state != "none":
            run = make_run(job, state)
            type(job).objects.filter(id=job.id).update(
                last_state=state, last_run_id=run.id, last_finished_at=run.finished_at
            )
    assert {state: names(f"last_state={state}") for state in states} == {
        state: [name] for state, name in states.items()
    }
    for other in ("queued", "running", "Failed"):
        ApiClient().get(f"jobs?last_state={other}").refused(400, "VALIDATION_FAILED")


def test_schedules_of_all_jobs_by_state_kind_job_and_repository(django_assert_max_num_queries: Any) -> None:
    home, other = make_job(name="home", schedule=DAILY), make_job(name="other")
    flagged = make_schedule(other, EVERY, state="flagged", state_code="SCHEDULE_INVALID")
    make_schedule(make_job(name="gone"), deleted_at=home.created_at, next_at=None)
    client = ApiClient()

    def found(query: str) -> list[str]:
        return [one["job"]["name"] for one in client.get(f"schedules?{query}").json["schedules"]]

    with django_assert_max_num_queries(4):
        assert sorted(found("")) == ["home", "other"]
    assert found("state=flagged") == found("type=interval") == found(f"job={other.id}") == ["other"]
    assert found(f"repository={home.repository_id}&state=active") == ["home"]
    (shown,) = client.get("schedules?state=flagged").json["schedules"]
    assert (shown["id"], shown["job"]["status"], shown["every_seconds"]) == (str(flagged.id), "active", 3600)
    page = client.get("schedules?limit=1").json
    rest = client.get(f"schedules?limit=1&cursor={page['next_cursor']}").json
    assert (len(page["schedules"]), rest["next_cursor"]) == (1, None)
    assert sorted(one["job"]["name"] for one in page["schedules"] + rest["schedules"]) == ["home", "other"]
    for query in ("state=x", "type=x", "job=x", "search=a", "ordering=id"):
        client.get(f"schedules?{query}").refused(400, "VALIDATION_FAILED")
    assert Schedule.objects.count() == 3


def test_what_nothing_reads_is_refused_and_not_passed_over() -> None:
    """At the address of a single thing as in lists: a misspelled parameter, and a body of a deletion."""
    client, job = ApiClient(), make_job()
    address = f"jobs/{job.id}"
    error = client.get(f"{address}?verbose=1").refused(400, "VALIDATION_FAILED")
    assert error["details"] == {"verbose": ["There is no such field."]}
    client.request("HEAD", f"{address}?verbose=1")
    client.post(f"{address}/pause?force=1").refused(400, "VALIDATION_FAILED")
    client.request("DELETE", f"{address}?force=1").refused(400, "VALIDATION_FAILED")
    client.request("DELETE", address, "garbage").refused(400, "MALFORMED_REQUEST")
    client.request("DELETE", address, {"force": True}).refused(400, "VALIDATION_FAILED")
    assert client.get(address).json["status"] == "active"
    assert client.request("DELETE", address, {}).status == 204

"""GET /queue: what waits, in the order in which admission looks at it, each with its reason (7.2, C1, C3)."""

import datetime as dt
import random
from typing import Any

import pytest

from jobs.admission import admit_waiting
from jobs.candidates import waiting_rows
from jobs.models import Run
from jobs.states import HeldCode, Priority
from repositories.freezing import repository_freeze
from tests.api.client import ApiClient
from tests.jobs.builders import NOW, make_job, make_run
from tests.repositories.builders import make_repository

pytestmark = pytest.mark.django_db
HOUR = dt.timedelta(hours=1)


@pytest.fixture(autouse=True)
def at_now(monkeypatch: Any) -> None:
    monkeypatch.setattr("jobs.queue_views.database_now", lambda: NOW)


def waiting(priority: str = "normal", *, since: dt.timedelta = dt.timedelta(0), **fields: Any) -> Run:
    moment = NOW - since
    return make_run(
        make_job(priority=priority),
        priority=priority,
        **({"created_at": moment, "scheduled_for": moment, "not_before": moment} | fields),
    )


def crowd() -> list[str]:
    """Make runs of all classes and ages; return their ids as the queue has to show them (50 points an hour)."""
    low, normal, high, critical = (waiting(priority) for priority in Priority.values)
    waited = {hours: waiting("normal", since=hours * HOUR) for hours in (1, 3)}
    older, patient = waiting("normal", since=4 * HOUR), waiting("low", since=2 * HOUR)
    postponed = [waiting("critical", not_before=NOW + hours * HOUR) for hours in (1, 2)]
    # Of equal points the higher class comes first, then who has waited longer.
    ordered = [critical, high, older, waited[3], waited[1], normal, patient, low, *postponed]
    return [str(run.id) for run in ordered]


def test_the_order_is_that_of_admission_and_postponed_runs_come_last() -> None:
    """C1: the queue that is shown is the queue that is worked through."""
    expected = crowd()
    assert len(set(expected)) == 10
    answer = ApiClient().get("queue").json
    assert [one["id"] for one in answer["queue"]] == expected
    assert [one["position"] for one in answer["queue"]] == list(range(1, 11))
    assert (answer["waiting"], answer["next_cursor"]) == (10, None)


def test_what_has_been_admitted_or_runs_or_ended_waits_no_more() -> None:
    for state, admitted in (("queued", True), ("running", False), ("succeeded", False)):
        make_run(make_job(), state, admitted=admitted)
    assert ApiClient().get("queue").json == {"queue": [], "waiting": 0, "next_cursor": None}


def test_each_says_why_it_waits() -> None:
    """C3."""
    frozen = make_repository(name="vault")
    held = make_run(make_job(repository=frozen))
    repository_freeze(repository_id=frozen.id, reason="moved", actor="alice", now=NOW)
    admit_waiting(now=NOW)
    unseen, postponed = waiting(), waiting(not_before=NOW + dt.timedelta(days=9999))
    told = {one["id"]: one["held"] for one in ApiClient().get("queue").json["queue"]}
    assert told[str(held.id)]["sentence"] == "Waits because the repository vault is frozen: moved"
    assert (told[str(held.id)]["code"], told[str(held.id)]["subject"]) == (HeldCode.FROZEN, "vault")
    assert told[str(unseen.id)]["sentence"] == "Waits for the scheduler's next pass."
    assert told[str(postponed.id)]["sentence"].startswith("Waits for its time: 2054-")


@pytest.mark.parametrize("limit", [1, 3, 10])
def test_pages_show_each_run_once_though_the_queue_moves(limit: int, monkeypatch: Any) -> None:
    """The order is that of the first page's moment, whatever has aged, ended or come since."""
    expected, client, seen, cursor = crowd(), ApiClient(), [], ""
    for number in range(20):
        page = client.get(f"queue?limit={limit}&cursor={cursor}" if cursor else f"queue?limit={limit}").json
        seen += [one["id"] for one in page["queue"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
        monkeypatch.setattr("jobs.queue_views.database_now", lambda hours=number: NOW + (hours + 1) * HOUR)
        # The last one shown leaves the queue: its place is in the cursor, not its row.
        Run.objects.filter(id=seen[-1]).update(admitted_at=NOW, fence=10_000 + number, revision=make_revision(seen[-1]))
    assert seen == expected


def make_revision(run_id: str) -> Any:
    run = Run.objects.select_related("job").get(id=run_id)
    assert run.job is not None
    return run.job.revisions.get()


def test_filters_choose_and_positions_stay_those_of_the_whole_queue() -> None:
    waiting("critical")
    one = waiting("low", since=HOUR)
    admit_waiting(now=NOW)
    client = ApiClient()
    filters = (f"repository={one.repository_id}", f"job={one.job_id}", "priority=low", f"job={one.job_id}&kind=backup")
    for query in filters:
        (shown,) = client.get(f"queue?{query}").json["queue"]
        assert (shown["id"], shown["position"]) == (str(one.id), 2)
    assert len(client.get("queue?held=no_worker").json["queue"]) == 2
    assert client.get("queue?kind=restore").json["queue"] == []
    for query in ("held=x", "kind=x", "priority=x", "job=x", "ordering=name", "status=queued", "limit=0"):
        client.get(f"queue?{query}").refused(400, "VALIDATION_FAILED")


def walked(query: str, limit: int) -> list[tuple[int, str]]:
    """Return place and id of all that the pages of one query show, and check that each page says how many wait."""
    client, cursor, seen = ApiClient(), "", []
    while cursor is not None:
        page = client.get(f"queue?limit={limit}{query}" + (f"&cursor={cursor}" if cursor else "")).json
        assert page["waiting"] == Run.objects.count()
        seen += [(one["position"], one["id"]) for one in page["queue"]]
        cursor = page["next_cursor"]
    return seen


def test_places_are_those_in_which_admission_looks_with_filters_and_without() -> None:
    """C1: however a page is put together, it shows one order, of what waits as long, has all points or is to come."""
    chance, hours = random.Random(7), (0, 0.5, 1, 1.99999, 2, 2.00001, 3, 100)
    for _ in range(30):
        waiting(chance.choice(Priority.values), since=chance.choice(hours) * HOUR)
    for ahead in (2, 1):
        waiting("critical", since=HOUR, not_before=NOW + ahead * HOUR)
    expected = [row.run_id for row in waiting_rows(NOW)]
    postponed = Run.objects.filter(not_before__gt=NOW).order_by("not_before").values_list("id", flat=True)
    placed = list(enumerate([*expected, *map(str, postponed)], start=1))
    assert (len(expected), len(placed)) == (30, 32)
    assert walked("", 7) == walked("", 200) == walked("&kind=backup", 5) == placed
    for priority in Priority.values:
        chosen = {str(run.id) for run in Run.objects.filter(priority=priority)}
        assert walked(f"&priority={priority}", 2) == [one for one in placed if one[1] in chosen]


def test_a_cursor_of_another_list_or_of_other_filters_is_refused() -> None:
    crowd()
    client = ApiClient()
    cursor = client.get("queue?limit=2").json["next_cursor"]
    for query in (f"queue?priority=low&cursor={cursor}", f"runs?cursor={cursor}", f"queue?cursor={cursor}x"):
        client.get(query).refused(400, "CURSOR_REFUSED")
    runs = client.get("runs?limit=2").json["next_cursor"]
    client.get(f"queue?cursor={runs}").refused(400, "CURSOR_REFUSED")


def test_a_page_costs_the_same_queries_however_many_wait(django_assert_max_num_queries: Any) -> None:
    crowd()
    client = ApiClient()
    with django_assert_max_num_queries(8):
        client.get("queue")

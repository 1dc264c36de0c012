"""`manage simulate_schedules` on real rows: durations of the past, windows, jobs that do not exist yet (5.10)."""

import datetime as dt
import io
import json
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from jobs.database_time import database_now
from jobs.models import Run
from jobs.services.simulations import Assumptions, forecast
from tests.jobs.builders import NOW, make_job, make_run, make_schedule
from tests.jobs.windows.builders import make_window
from tests.repositories.builders import make_repository

pytestmark = pytest.mark.django_db

HOUR = dt.timedelta(hours=1)
AT_TEN: dict[str, Any] = {"type": "daily", "time": "22:00"}
NIGHT = {"type": "allowed", "start": "22:00", "length_seconds": 3 * 3600}


def command(*words: str) -> str:
    out = io.StringIO()
    call_command("simulate_schedules", *words, stdout=out)
    return out.getvalue()


def ran(job: Any, hours: float, state: str = "succeeded") -> None:
    start = NOW - Run.objects.count() * 24 * HOUR
    end = start + hours * HOUR
    make_run(job, state, created_at=start, admitted_at=start, started_at=start, heartbeat_at=start, finished_at=end)


def test_durations_are_the_longest_of_the_last_ten_that_made_a_backup() -> None:
    job = make_job(schedule=AT_TEN)
    for hours in [1, 2, 3, *([1] * 7), 9]:
        ran(job, hours)
    ran(job, 20, "failed")
    played = forecast(1, Assumptions(), now=NOW)
    run = played.simulation.runs[0]
    assert (run.starts_at, run.ends_at) == (NOW.replace(hour=22), NOW.replace(hour=22) + 3 * HOUR)
    assert played.guessed == []


def test_what_is_paused_deleted_or_flagged_is_not_played() -> None:
    make_job(schedule=AT_TEN, paused_at=NOW)
    make_job(schedule=AT_TEN, deleted_at=NOW)
    make_schedule(state="flagged", state_code="unplannable")
    assert forecast(2, Assumptions(), now=NOW).simulation.runs == []


def test_the_words_of_a_night_that_does_not_fit() -> None:
    vault = make_repository(name="vault")
    for name in ("photos", "videos"):
        ran(make_job(name=name, repository=vault, schedule=AT_TEN), 2)
    make_window(NIGHT, name="night")
    told = command("--days", "1")
    assert "Runs within 1 day: 2." in told
    assert "Runs that do not fit their windows: 1." in told
    assert "it runs on 1 hour after its window has shut" in told
    assert "2 hours for limit of the repository vault" in told
    found = json.loads(command("--days", "1", "--json"))
    assert [one["over_seconds"] for one in found["misfits"]] == [3600]
    assert (found["guessed_durations"], found["is_cut"]) == ([], False)


def test_a_job_is_tried_before_it_is_made() -> None:
    """Which nights won't fit, if I add this?"""
    vault = make_repository(name="vault")
    ran(make_job(name="photos", repository=vault, schedule=AT_TEN), 2)
    make_window(NIGHT, name="night")
    assert "fit their windows: none." in command("--days", "1")
    added = {"name": "videos", "repository": "VAULT", "schedule": AT_TEN, "duration_seconds": 7200}
    assert "fit their windows: 1." in command("--days", "1", "--add", json.dumps(added))


def test_jobs_that_never_ran_are_named_as_guesses() -> None:
    make_job(name="new", schedule=AT_TEN)
    make_job(name="by hand")
    assert "Never run, so taken to last 30 minutes: new." in command("--unknown-minutes", "30")


def test_instants_without_a_free_start_have_a_heading_of_their_own() -> None:
    """B8: they are no runs, so that they are none that miss their windows."""
    make_window({"type": "blackout", "start": "00:00", "length_seconds": 86400}, name="always")
    make_job(name="stuck", schedule=AT_TEN)
    told = command("--days", "2").splitlines()
    assert told[:2] == ["Runs within 2 days: none.", "Runs that do not fit their windows: none."]
    assert told[2] == "Instants for which windows leave no free start within 31 days: 2."
    assert [line.partition(",")[0] for line in told[3:5]] == ["  stuck"] * 2
    assert told[5:] == ["Runs that wait: none."]


def test_a_job_of_many_waits_is_told_by_its_first_and_their_number() -> None:
    """All are in the JSON."""
    vault = make_repository(name="vault")
    for name in ("one", "two"):
        ran(make_job(name=name, repository=vault, schedule={"type": "interval", "every_seconds": 3600}), 0.5)
    waiting = [one for one in json.loads(command("--days", "1", "--json"))["runs"] if one["waits"]]
    told = command("--days", "1").splitlines()
    heading = told.index(f"Runs that wait: {len(waiting)}.")
    assert len(waiting) > 20
    assert told[-1] == f"  {waiting[-1]['job']}: {len(waiting) - 10} more, all with --json"
    assert len(told) == heading + 1 + 10 + 1


@pytest.mark.parametrize(
    ("words", "field"),
    [
        (["--days", "0"], "days"),
        (["--slots", "0"], "slots"),
        (["--add", "{"], "add"),
        (["--add", "{}"], "add"),
        (
            ["--add", json.dumps({"name": "x", "repository": "no", "schedule": AT_TEN, "duration_seconds": 1})],
            "reposit",
        ),
    ],
)
def test_bad_input_names_its_field(words: list[str], field: str) -> None:
    with pytest.raises(CommandError, match=field) as caught:
        command(*words)
    assert caught.value.returncode == 2


@pytest.mark.parametrize("text", ["[]", "{}"])
def test_a_refused_addition_is_named_once(text: str) -> None:
    with pytest.raises(CommandError, match=r"^add: must be a JSON object"):
        command("--add", text)


def test_an_addition_with_a_key_that_there_is_not_names_it() -> None:
    added = {"name": "x", "repository": "no", "schedule": AT_TEN, "duration_seconds": 1, "prioritty": "high"}
    with pytest.raises(CommandError, match=r"^add: prioritty is nothing that it has: duration_seconds, name, "):
        command("--add", json.dumps(added))


def test_it_changes_nothing_and_needs_no_worker() -> None:
    make_job(schedule=AT_TEN)
    assert len(forecast(3, Assumptions(slots=1), now=database_now()).simulation.runs) == 3
    assert not Run.objects.exists()

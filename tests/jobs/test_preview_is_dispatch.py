"""What a preview shows is what dispatch does: instants, windows and merges, over a change of the clocks (B6, A14)."""

import datetime as dt
from collections import Counter
from random import Random
from typing import Any

import pytest

from jobs import calendar
from jobs.admission import admit_waiting
from jobs.claims import Claimed, claim_due
from jobs.job_preview import job_preview
from jobs.models import Job, Run, ScheduleDecision, WorkerProcess
from tests.jobs.builders import make_job, make_run, make_schedule, make_worker
from tests.jobs.calendar.generated import KINDS as GENERATED
from tests.jobs.calendar.generated import schedule as generated
from tests.jobs.windows.builders import make_window

pytestmark = pytest.mark.django_db

# The evening before the clocks of Berlin go back.
START = dt.datetime(2026, 10, 24, 18, 0, tzinfo=dt.UTC)
KINDS = [
    {"type": "interval", "every_seconds": 5400},
    {"type": "hourly", "minute": 30, "time_zone": "Europe/Berlin"},
    {"type": "daily", "time": "02:30", "time_zone": "Europe/Berlin"},
    {"type": "weekly", "days": ["sun", "tue"], "time": "02:30", "time_zone": "Europe/Berlin"},
    {"type": "monthly", "days": [25, -1], "time": "02:30", "time_zone": "Europe/Berlin"},
    {"type": "cron", "expression": "*/30 2,3 * * *", "time_zone": "Europe/Berlin"},
    {"type": "cron", "expression": "15,45 1-3 * * sat-mon", "time_zone": "Europe/Berlin"},
]


@pytest.mark.parametrize("definition", KINDS)
def test_each_previewed_instant_is_claimed_at_its_time(definition: dict[str, Any]) -> None:
    plan = calendar.parse(definition, anchor=START)
    shown = [one.instant for one in calendar.preview(plan, START, 8)]
    schedule = make_schedule(definition=definition, anchor=START, next_at=shown[0])
    for instant in shown:
        assert claim_due(now=instant - dt.timedelta(seconds=1)) == Claimed()
        assert claim_due(now=instant) == Claimed(queued=1)
        Run.objects.filter(state="queued").update(state="cancelled", finished_at=instant, cancel_origin="user")
    schedule.refresh_from_db()
    assert schedule.next_at == calendar.preview(plan, START, 9)[-1].instant
    assert list(Run.objects.order_by("scheduled_for").values_list("scheduled_for", flat=True)) == shown


@pytest.mark.parametrize("seed", range(12))
def test_what_is_held_and_what_merges_is_shown_before_it_happens(seed: int) -> None:
    """B6, B7, D1: of any schedules and windows, each run with its start, and what it stands for."""
    job = random_job(Random(seed))
    shown = job_preview(job, start=START, count=30, now=START)
    assert not any("no_free_instant" in one["notes"] for one in shown)
    moments = {moment(one["utc"]) for one in shown}
    opened = {moment(one["starts_at"]) for one in shown if "starts_at" in one}
    for at in sorted(moments | opened):
        if at <= max(moments):
            one_pass(at)
    starts = {one["utc"]: one.get("starts_at", one["utc"]) for one in shown if "merges_into" not in one}
    planned = {moment(utc): moment(starts_at) for utc, starts_at in starts.items()}
    assert dict(Run.objects.values_list("scheduled_for", "not_before")) == planned
    assert merged_by_dispatch() == Counter(moment(one["merges_into"]) for one in shown if "merges_into" in one)


@pytest.mark.parametrize("ignored", [False, True])
def test_a_run_that_waits_already_stands_for_what_comes_before_it_starts(ignored: bool) -> None:
    """B6, D1: asked in the middle of a blackout, the first instant is not what the next ones merge into."""
    day = START.replace(hour=0)
    job = make_job(schedule={"type": "hourly", "minute": 0})
    make_window({"type": "blackout", "start": "08:00", "length_seconds": 10 * 3600})
    planned, now = day.replace(hour=8), day.replace(hour=15, minute=30)
    run = make_run(job, scheduled_for=planned, not_before=day.replace(hour=18), ignore_windows=ignored)
    shown = job_preview(job, start=now, count=4, now=now)
    into = [one.get("merges_into") for one in shown]
    assert [one["utc"][11:13] for one in shown] == ["16", "17", "18", "19"]
    assert into == ["2026-10-24T08:00:00Z"] * 3 + [None]
    assert {one["starts_at"] for one in shown[:3]} == {"2026-10-24T18:00:00Z"}
    # A back-off holds it as long as it says; windows hold it as they are now.
    Run.objects.filter(id=run.id).update(not_before=now)
    into = [one.get("merges_into") for one in job_preview(job, start=now, count=4, now=now)]
    held = ["2026-10-24T16:00:00Z"] * 2
    assert into == ([None, *held, None] if ignored else ["2026-10-24T08:00:00Z"] * 3 + [None])
    # What is asked about a time before it knows no such run.
    early = job_preview(job, start=day, count=1, now=now)
    assert "merges_into" not in early[0]


def random_job(random: Random) -> Job:
    """Return a job with up to three schedules, of which some coincide, behind windows that always open again."""
    job = make_job()
    make_worker(job.runner, started_at=START, last_seen=START)
    definitions = [generated(random.choice(GENERATED[:3]), "Europe/Berlin", random)[0] for _ in range(2)]
    definitions.append({"type": "interval", "every_seconds": random.choice([1800, 3600, 5 * 3600])})
    for definition in definitions[random.randrange(3) :]:
        plan = calendar.parse(definition, anchor=START)
        following = plan.next_after(START)
        assert following is not None
        make_schedule(job, definition, anchor=START, next_at=following.instant, missed="once")
    length = random.randint(1, 23) * 3600
    make_window({"type": "blackout", "start": f"{random.randrange(24):02d}:30", "length_seconds": length}, "quiet")
    if random.randrange(2):
        allowed = {"type": "allowed", "start": "00:15", "length_seconds": 20 * 3600, "time_zone": "Asia/Tokyo"}
        make_window(allowed, "open", job_id=job.id)
    return job


def one_pass(now: dt.datetime) -> None:
    """Claim and admit as the scheduler does, with a free slot; what is admitted ends at once."""
    WorkerProcess.objects.update(last_seen=now)
    claim_due(now=now)
    admit_waiting(now=now)
    admitted = Run.objects.filter(state="queued", admitted_at__isnull=False)
    admitted.update(state="cancelled", finished_at=now, cancel_origin="user")


def merged_by_dispatch() -> Counter[dt.datetime]:
    """Return of each run's planned instant how many others merged into it."""
    found: Counter[dt.datetime] = Counter()
    planned = dict(Run.objects.values_list("id", "scheduled_for"))
    for decision in ScheduleDecision.objects.filter(outcome="coalesced", run_id__isnull=False):
        assert decision.run_id is not None
        found[planned[decision.run_id]] += decision.count
    return found


def moment(text: str) -> dt.datetime:
    return dt.datetime.fromisoformat(text)

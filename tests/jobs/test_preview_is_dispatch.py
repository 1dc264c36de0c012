"""What a preview shows is claimed, instant by instant, for every kind and over a change of the clocks (B6, A14)."""

import datetime as dt
from typing import Any

import pytest

from jobs import calendar
from jobs.claims import Claimed, claim_due
from jobs.models import Run
from tests.jobs.builders import make_schedule

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

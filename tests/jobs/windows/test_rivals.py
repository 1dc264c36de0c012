"""Claims, admissions and changes of windows at the same moment: no deadlock, and nothing planned by what is gone."""

import datetime as dt
from functools import partial
from typing import Any

import pytest

from jobs.admission import admit_waiting
from jobs.claims import claim_due
from jobs.models import Run, Schedule
from jobs.services import WindowInput, window_change, window_delete
from tests.jobs.builders import NOW, make_schedule, make_worker
from tests.jobs.rivals import at_once
from tests.jobs.windows.builders import DAWN, NIGHT, make_window

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_window_that_changes_while_it_is_planned_by() -> None:
    """Whoever comes first: the runs wait for what the window says in the end."""
    make_worker(slots=1)
    for number in range(3):
        Run.objects.all().update(state="cancelled", finished_at=NOW, cancel_origin="user")
        Schedule.objects.update(next_at=NOW + dt.timedelta(days=number))
        [make_schedule(next_at=NOW) for _ in range(4 if number == 0 else 0)]
        now = NOW + dt.timedelta(days=number)
        window = make_window(name=f"quiet {number}")
        longer = WindowInput(window.name, NIGHT | {"length_seconds": 7 * 3600})
        rivals: list[Any] = [
            partial(claim_due, now=now),
            partial(window_change, window.id, longer, actor="alice", now=now),
            partial(admit_waiting, now=now),
            partial(claim_due, now=now),
        ]
        done = at_once(rivals)
        assert not [one for one in done if isinstance(one, Exception)]
        waiting = Run.objects.filter(state="queued")
        assert set(waiting.values_list("not_before", flat=True)) == {DAWN + dt.timedelta(days=number, hours=2)}
        assert waiting.count() == 4
        window_delete(window.id, actor="alice", now=now)

"""Four schedulers over a narrow queue: limits from the events, order, nothing lost (6.10; tests/long has more)."""

import random
from typing import Any

import pytest

from jobs.models import Run
from tests.jobs.queue_under_fire import Fire, Scale, jobs_of, make_queue, rage
from tests.jobs.queue_verdicts import exceeded, lost_or_doubled, out_of_order, stays

SMALL = Scale(runs=40, repositories=4, slots=16, workers=2)


def judged(scale: Scale, settings: Any) -> Fire:
    """Make the queue, let it rage, and judge all of it; a failing seed is told."""
    settings.SYNCOVA_TICK_SECONDS = 0
    settings.SYNCOVA_GLOBAL_LIMIT = max(3, scale.slots // 2)
    settings.SYNCOVA_RETRY_SECONDS = 30
    waiting = make_queue(scale, random.Random(scale.seed))
    fire = rage(scale)
    runs = list(Run.objects.all())
    sources = jobs_of(runs)
    told = f"seed {scale.seed}"
    assert (lost_or_doubled(runs), told) == ([], told)
    assert (exceeded({run.id: run for run in runs}, sources), told) == ([], told)
    assert (fire.excesses, told) == ([], told)
    assert (out_of_order(waiting, sources), told) == ([], told)
    assert fire.looks > 0
    return fire


@pytest.mark.django_db(transaction=True)
def test_four_schedulers_exceed_no_limit_and_keep_the_order(settings: Any) -> None:
    """C1, C2, D1."""
    judged(SMALL, settings)
    runs = list(Run.objects.all())
    assert len(stays()) >= len(runs) >= SMALL.runs
    # The fire was one: some were tried again, and limits were reached.
    assert {"retry", "manual"} <= {run.trigger for run in runs}

"""Whatever waits and whatever runs: a pass through the queue exceeds no limit and holds nothing that could go (C2)."""

import datetime as dt
import uuid
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from jobs.admission import choose
from jobs.candidates import Candidate, SourceLimit
from jobs.gates import held_by
from jobs.occupancy import Occupancy
from jobs.queue import order_key
from jobs.states import Priority, RunKind, Trigger

NOW = dt.datetime(2026, 11, 30, 2, tzinfo=dt.UTC)
REPOSITORIES = {uuid.UUID(int=100 + n): limit for n, limit in enumerate((1, 2, 5))}
SOURCES = [SourceLimit(uuid.UUID(int=200 + n), f"/srv/{n}", limit) for n, limit in enumerate((1, 1, 2))]
RUNNERS = {uuid.UUID(int=300): 1, uuid.UUID(int=301): 4, uuid.UUID(int=302): 9}
GLOBAL_LIMIT = 16


@st.composite
def candidates(draw: st.DrawFn) -> list[Candidate]:
    count = draw(st.integers(0, 25))
    drawn = [_candidate(draw, uuid.UUID(int=1000 + n)) for n in range(count)]
    return sorted(drawn, key=lambda one: order_key(one.priority, one.waiting_since, one.run_id, NOW))


def _candidate(draw: st.DrawFn, run_id: uuid.UUID) -> Candidate:
    kind = draw(st.sampled_from([RunKind.BACKUP, RunKind.BACKUP, RunKind.RESTORE, RunKind.CHECK, RunKind.PRUNE]))
    repository = draw(st.sampled_from(sorted(REPOSITORIES)))
    runner = draw(st.sampled_from(sorted(RUNNERS)))
    sources = draw(st.lists(st.sampled_from(SOURCES), unique=True, max_size=3)) if kind is RunKind.BACKUP else []
    return Candidate(
        run_id=run_id,
        kind=kind,
        trigger=draw(st.sampled_from([Trigger.SCHEDULE, Trigger.MANUAL, Trigger.RETRY])),
        priority=draw(st.sampled_from(Priority.values)),
        waiting_since=NOW - dt.timedelta(minutes=draw(st.integers(0, 300))),
        job_id=None,
        job_paused=False,
        schedule_id=None,
        repository_id=repository,
        repository_name="vault",
        repository_ready=True,
        repository_limit=REPOSITORIES[repository],
        serial_gate=False,
        runner_id=runner,
        group="default",
        root_run_id=None,
        held_code="",
        held_subject="",
        sources=tuple(sources),
    )


@given(waiting=candidates(), frozen=st.sets(st.sampled_from(sorted(REPOSITORIES)), max_size=1))
def test_no_limit_is_exceeded_and_nothing_waits_in_vain(waiting: list[Candidate], frozen: set[uuid.UUID]) -> None:
    """C2, C3."""
    occupancy = Occupancy(slots=dict(RUNNERS), frozen=frozenset(frozen))
    passed, held = choose(waiting, occupancy, NOW)
    assert Counter(one.run_id for one in passed) + Counter(one.run_id for one, _ in held) == Counter(
        one.run_id for one in waiting
    )
    counted = [one for one in passed if one.kind in (RunKind.BACKUP, RunKind.PRUNE)]
    for repository, limit in REPOSITORIES.items():
        assert sum(one.repository_id == repository for one in counted) <= limit
    for source in SOURCES:
        assert sum(source in one.sources for one in passed) <= source.limit
    assert sum(one.kind is not RunKind.RESTORE for one in passed) <= GLOBAL_LIMIT
    for runner, slots in RUNNERS.items():
        there = [one for one in passed if one.runner_id == runner]
        others = sum(one.kind is not RunKind.RESTORE for one in there)
        assert len(there) <= slots
        assert slots < 2 or others <= slots - 1
    assert not any(one.repository_id in frozen for one in counted)
    # Places only fill up during a pass: what was held is still held by something at its end.
    assert all(held_by(one.column, one.situation(occupancy)) is not None for one, _ in held)

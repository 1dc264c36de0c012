"""Whatever waits and whatever runs: a pass through the queue exceeds no limit and holds nothing that could go (C2)."""

import datetime as dt
import uuid
from collections import Counter
from collections.abc import Collection
from dataclasses import replace
from operator import itemgetter

from hypothesis import given
from hypothesis import strategies as st

from jobs.admission import choose
from jobs.candidates import RESERVE_AFTER, Candidate, Likeness, Place, SourceLimit
from jobs.gates import Held, held_by
from jobs.occupancy import Occupancy
from jobs.queue import OrderKey, order_key
from jobs.states import Priority, RunKind, Trigger

NOW = dt.datetime(2026, 11, 30, 2, tzinfo=dt.UTC)
REPOSITORIES = {uuid.UUID(int=100 + n): limit for n, limit in enumerate((1, 2, 5))}
SOURCES = [SourceLimit(uuid.UUID(int=200 + n), f"/srv/{n}", limit) for n, limit in enumerate((1, 1, 2))]
RUNNERS = {uuid.UUID(int=300): 1, uuid.UUID(int=301): 4, uuid.UUID(int=302): 9}
GLOBAL_LIMIT = 16


@st.composite
def candidates(draw: st.DrawFn) -> list[Candidate]:
    count = draw(st.integers(0, 25))
    likenesses = [_likeness(draw) for _ in range(draw(st.integers(1, 8)))]
    drawn = [_candidate(draw, uuid.UUID(int=1000 + n), likenesses) for n in range(count)]
    return [candidate for _, candidate in sorted(drawn, key=itemgetter(0))]


def _candidate(draw: st.DrawFn, run_id: uuid.UUID, likenesses: list[Likeness]) -> tuple[OrderKey, Candidate]:
    waited = dt.timedelta(minutes=draw(st.integers(0, 300)))
    likeness = draw(st.sampled_from(likenesses))
    key = order_key(draw(st.sampled_from(Priority.values)), NOW - waited, run_id, NOW)
    return key, Candidate(str(run_id), likeness, waited >= RESERVE_AFTER)


def _likeness(draw: st.DrawFn) -> Likeness:
    kind = draw(st.sampled_from([RunKind.BACKUP, RunKind.BACKUP, RunKind.RESTORE, RunKind.CHECK, RunKind.PRUNE]))
    repository = draw(st.sampled_from(sorted(REPOSITORIES)))
    runner = draw(st.sampled_from(sorted(RUNNERS)))
    sources = draw(st.lists(st.sampled_from(SOURCES), unique=True, max_size=3)) if kind is RunKind.BACKUP else []
    return Likeness(
        kind=kind,
        trigger=draw(st.sampled_from([Trigger.SCHEDULE, Trigger.MANUAL, Trigger.RETRY])),
        repository=Place(repository, "vault", REPOSITORIES[repository]),
        runner_id=runner,
        group="default",
        sources=tuple(sources),
    )


@given(waiting=candidates(), frozen=st.sets(st.sampled_from(sorted(REPOSITORIES)), max_size=1))
def test_no_limit_is_exceeded_and_nothing_waits_in_vain(waiting: list[Candidate], frozen: set[uuid.UUID]) -> None:
    """C2, C3."""
    occupancy = Occupancy(slots=dict(RUNNERS), frozen=frozenset(frozen))
    passed, held = choose(waiting, occupancy)
    assert Counter(one.run_id for one in passed) + Counter(one.run_id for one, _ in held) == Counter(
        one.run_id for one in waiting
    )
    went = [one.likeness for one in passed]
    counted = [one for one in went if one.kind in (RunKind.BACKUP, RunKind.PRUNE)]
    for repository, limit in REPOSITORIES.items():
        assert sum(one.repository.id == repository for one in counted) <= limit
    for source in SOURCES:
        assert sum(source in one.sources for one in went) <= source.limit
    assert sum(one.kind is not RunKind.RESTORE for one in went) <= GLOBAL_LIMIT
    for runner, slots in RUNNERS.items():
        there = [one for one in went if one.runner_id == runner]
        others = sum(one.kind is not RunKind.RESTORE for one in there)
        assert len(there) <= slots
        assert slots < 2 or others <= slots - 1
    assert not any(one.repository.id in frozen for one in counted)
    # Places only fill up during a pass: what was held is still held by something at its end.
    assert all(held_by(one.likeness.column, one.likeness.situation(occupancy)) for one, _ in held)


def outcome(waiting: list[Candidate], taken: Counter[uuid.UUID]) -> tuple[list[str], list[tuple[str, Held]]]:
    passed, held = choose(waiting, Occupancy(slots=dict(RUNNERS), sources=Counter(taken), now=NOW))
    return [one.run_id for one in passed], [(one.run_id, reason) for one, reason in held]


def with_sources(one: Candidate, kept: Collection[uuid.UUID]) -> Candidate:
    sources = tuple(source for source in one.likeness.sources if source.id in kept)
    return replace(one, likeness=replace(one.likeness, sources=sources))


@given(waiting=candidates(), taken=st.lists(st.sampled_from(SOURCES), max_size=2))
def test_what_admission_saves_changes_nothing(waiting: list[Candidate], taken: list[SourceLimit]) -> None:
    """C2, C3: runs that are alike are asked about once, and sources that one waiting run alone reads not at all."""
    active = Counter(source.id for source in taken)
    readers = Counter(source.id for one in waiting for source in one.likeness.sources)
    contended = {source.id for source in SOURCES if readers[source.id] > 1 or source.id in active}
    each_alone = [with_sources(one, readers) for one in waiting]
    assert outcome(waiting, active) == outcome(each_alone, active)
    assert outcome([with_sources(one, contended) for one in waiting], active) == outcome(each_alone, active)

"""Freeze and serial gate under faults: what fails open, what fails closed, the switches, and the race (G1-G4)."""

import logging
import threading
import uuid
from collections.abc import Callable, Collection
from functools import partial
from typing import Any

import pytest
from django.db import DatabaseError, InterfaceError, connection

from jobs import frozen, occupancy, transitions
from jobs.admission import Admitted, admit_waiting
from jobs.gates import TABLE, Gate, Rule, column_of
from jobs.models import Run, RunEvent
from jobs.sentences import held_sentence
from jobs.states import RunKind, Trigger
from jobs.unanswered import ring_or_withdraw
from repositories import selectors
from repositories.freezing import repository_freeze, repository_unfreeze
from repositories.models import Repository
from syncova_project import clock
from tests.jobs.builders import NOW, make_job, make_run, make_worker
from tests.jobs.rivals import at_once
from tests.repositories.builders import make_repository

pytestmark = pytest.mark.django_db
ROUNDS = 5


def freeze(repository: Repository, reason: str = "3 chunks are lost") -> None:
    repository_freeze(repository_id=repository.id, reason=reason, now=NOW)


def state_of(run: Run) -> tuple[str, bool, str]:
    run.refresh_from_db()
    return run.state, run.admitted_at is not None, run.held_code


def frozen_run(**fields: Any) -> Run:
    """Return a run of a frozen repository whose group has free slots."""
    make_worker()
    run = make_run(**fields)
    freeze(run.repository)
    return run


def hide_journal() -> None:
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE repository_freezes RENAME TO hidden")


def test_the_statement_lets_the_same_kinds_pass_as_the_table() -> None:
    """G2: one table; the condition in SQL is made from it."""
    free = [kind for kind in RunKind if TABLE[Gate.FREEZE][column_of(kind, Trigger.SCHEDULE)] is Rule.FREE]
    assert list(frozen.FREE_OF_FREEZE) == free == [RunKind.RESTORE, RunKind.CHECK, RunKind.DRILL]


def test_an_admission_that_reads_no_freeze_still_admits_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """G2 (a), closed: the pass was told that nothing is frozen; the statement that admits asks again."""
    run = frozen_run()
    monkeypatch.setattr(occupancy, "frozen_repositories", frozenset)
    assert admit_waiting(now=NOW).admitted == 0
    assert state_of(run)[:2] == ("queued", False)


def test_a_start_under_a_freeze_that_came_after_the_admission_is_refused() -> None:
    """G2 (a), closed: with its fence, by the worker that was rung."""
    run = frozen_run(admitted=True)
    assert not transitions.start(run.id, run.fence or 0, "alpha:7", now=NOW)
    assert state_of(run)[0] == "queued"


@pytest.mark.parametrize("act", ["admit", "start"])
def test_a_journal_that_cannot_be_read_starts_nothing(act: str) -> None:
    """G2 (d), closed: the statement fails as a whole."""
    make_worker()
    run = make_run(admitted=act == "start")
    hide_journal()
    doing: dict[str, Callable[[], object]] = {
        "admit": partial(admit_waiting, now=NOW),
        "start": partial(transitions.start, run.id, run.fence or 0, "alpha:7", now=NOW),
    }
    with pytest.raises(DatabaseError):
        doing[act]()
    connection.needs_rollback = False


@pytest.mark.parametrize("fault", ["database", "defect"])
def test_asking_fails_closed_whatever_goes_wrong(monkeypatch: pytest.MonkeyPatch, fault: str) -> None:
    """G2 (c)."""
    repository = make_repository()
    assert not selectors.is_repository_frozen(repository.id)
    if fault == "database":
        hide_journal()
    else:
        monkeypatch.setattr(selectors, "RepositoryFreeze", None)
    assert selectors.is_repository_frozen(repository.id)


def serial_chain() -> tuple[Run, Run]:
    """Return a pending retry of a serial repository, whose time has not come, and a first run of another job."""
    make_worker(slots=8)
    repository = make_repository(serial_gate=True, max_concurrent_runs=5)
    first, second = make_job(repository=repository), make_job(repository=repository)
    root = make_run(first, "failed")
    later = NOW.replace(hour=23)
    retry = make_run(first, trigger="retry", attempt=2, origin_run=root, root_run=root, not_before=later)
    return retry, make_run(second)


def broken() -> dict[uuid.UUID, set[uuid.UUID]]:
    raise KeyError("a defect")


def test_a_serial_gate_that_cannot_be_built_is_left_open_and_logged(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """G2 (b), open: backups side by side harm less than none; but the limit of one at a time holds all the same."""
    _, other = serial_chain()
    third = make_run(make_job(repository=other.repository))
    admit_waiting(now=NOW)
    assert state_of(other)[1:] == (False, "serial_gate")
    monkeypatch.setattr(occupancy, "_started_chains", broken)
    with caplog.at_level(logging.ERROR):
        assert admit_waiting(now=NOW).admitted == 1
    assert "serial gate could not be built" in caplog.text
    assert sorted([state_of(other)[1], state_of(third)[1]]) == [False, True]


def test_a_fault_in_the_serial_gate_opens_no_freeze(monkeypatch: pytest.MonkeyPatch) -> None:
    """G2: a freeze that is really set still blocks through the SQL."""
    _, other = serial_chain()
    freeze(other.repository)
    monkeypatch.setattr(occupancy, "_started_chains", broken)
    monkeypatch.setattr(occupancy, "frozen_repositories", frozenset)
    assert admit_waiting(now=NOW).admitted == 0
    assert state_of(other)[1] is False


@pytest.mark.parametrize("kind", [DatabaseError, InterfaceError])
def test_a_database_error_in_the_serial_gate_admits_nothing(
    monkeypatch: pytest.MonkeyPatch, kind: type[Exception]
) -> None:
    """G2 (d): no answer is no answer, not an open gate."""
    _, other = serial_chain()

    def fails() -> dict[uuid.UUID, set[uuid.UUID]]:
        raise kind("gone")

    monkeypatch.setattr(occupancy, "_started_chains", fails)
    with pytest.raises(kind):
        admit_waiting(now=NOW)
    assert state_of(other)[1] is False


def test_with_the_switch_off_the_journal_holds_nothing(settings: Any) -> None:
    """G4: rows are kept and shown, nothing else changes; on again, the same rows hold again."""
    run = frozen_run()
    settings.SYNCOVA_FREEZES = False
    assert (selectors.is_repository_frozen(run.repository_id), selectors.refusal(run.repository)) == (False, None)
    assert admit_waiting(now=NOW) == Admitted(admitted=1)
    run.refresh_from_db()
    assert transitions.start(run.id, run.fence or 0, "alpha:7", now=NOW)
    assert [row.reason for row in selectors.open_freezes(run.repository)] == ["3 chunks are lost"]
    settings.SYNCOVA_FREEZES = True
    after = make_run(make_job(repository=run.repository))
    admit_waiting(now=NOW)
    assert state_of(after)[2] == "frozen"


def test_what_was_admitted_gives_its_slot_back_and_says_why() -> None:
    """C3, G2: not after a minute in vain, and not as a run that no worker took."""
    run, check = frozen_run(admitted=True), make_run(kind="check", admitted=True)
    freeze(check.repository)
    assert ring_or_withdraw(now=NOW).withdrawn == 1
    assert state_of(run) == ("queued", False, "frozen")
    assert held_sentence(run).endswith(f"{run.repository.name} is frozen: 3 chunks are lost")
    assert RunEvent.objects.get(run=run, code="withdrawn").parameters == {"held": "frozen"}
    assert state_of(check)[1] is True
    repository_unfreeze(repository_id=run.repository_id, actor="bob", now=NOW)
    assert admit_waiting(now=NOW).admitted == 1


@pytest.mark.django_db(transaction=True)
def test_nothing_starts_under_a_freeze_that_was_there() -> None:
    """G1, G2: workers start, schedulers admit, and an operator freezes and clears again and again."""
    make_worker(slots=64)
    vault = make_repository(max_concurrent_runs=60)
    for _ in range(4 * ROUNDS):
        make_run(make_job(repository=vault))
    tried: list[None] = []
    over = threading.Event()
    results = at_once([partial(freeze_and_clear, vault, tried, over), *[partial(start_what_may, tried, over)] * 3])
    assert [result for result in results if isinstance(result, Exception)] == []
    assert [answered for answered, _ in results[0]] == [later for _, later in results[0]]


def running() -> set[Any]:
    return set(Run.objects.filter(state="running").values_list("id", flat=True))


def freeze_and_clear(vault: Repository, tried: list[None], over: threading.Event) -> list[tuple[set[Any], set[Any]]]:
    """Return what ran when each freeze had answered, and after the others had tried to start more."""
    seen = []
    try:
        for number in range(ROUNDS):
            # The race is real: something starts before each freeze, and while it is there others try to.
            wait_until(partial(is_longer, running, number))
            freeze(vault, f"freeze {number}")
            answered = running()
            wait_until(partial(is_longer, lambda: tried, len(tried) + 6))
            seen.append((answered, running()))
            repository_unfreeze(repository_id=vault.id, actor="bob", now=NOW)
    finally:
        over.set()
    return seen


def is_longer(what: Callable[[], Collection[Any]], number: int) -> bool:
    return len(what()) > number


def start_what_may(tried: list[None], over: threading.Event) -> None:
    while not over.is_set():
        admit_waiting(now=NOW)
        admitted = Run.objects.filter(state="queued", admitted_at__isnull=False).order_by("?")
        for run_id, fence in admitted.values_list("id", "fence")[:1]:
            transitions.start(run_id, fence or 0, "alpha:7", now=NOW)
        tried.append(None)


def wait_until(question: Callable[[], bool]) -> None:
    for _ in range(3000):
        if question():
            return
        clock.sleep(0.01)
    pytest.fail("it never came to that")


def test_of_several_freezes_the_oldest_is_told_everywhere() -> None:
    """What waits says what the list says: it is what has to be seen to first."""
    run = frozen_run()
    freeze(run.repository, "the disk makes noises")
    admit_waiting(now=NOW)
    assert state_of(run)[2] == "frozen"
    refused = selectors.refusal(selectors.repository_get(run.repository_id))
    assert refused is not None
    for sentence in (held_sentence(run), refused.reason):
        assert sentence.endswith(": 3 chunks are lost")

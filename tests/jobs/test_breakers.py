"""The circuit breaker of a repository: what counts, how long it is open, and who tries it first (trap 29)."""

import datetime as dt
from functools import partial

import pytest

from jobs import transitions
from jobs.admission import admit_waiting
from jobs.breakers import Breaker, after_failure, works
from jobs.executors import Failure
from jobs.models import RepositoryBreaker, Run
from jobs.sentences import held_sentence
from jobs.services import breaker_reset
from jobs.states import CancelOrigin, FailureClass, RunState
from jobs.verdict import Verdict
from repositories.models import Repository
from syncova_project import clock
from syncova_project.access.models import AuditEntry
from tests.jobs.builders import NOW, make_job, make_run, make_worker
from tests.jobs.moves import again, codes, fence_of
from tests.jobs.rivals import at_once
from tests.repositories.builders import make_repository

MINUTE = dt.timedelta(minutes=1)
SECOND = dt.timedelta(seconds=1)
# Of a worker that no pass of a test finds silent.
ALWAYS = dt.datetime(2100, 1, 1, tzinfo=dt.UTC)
SUCCESS = Verdict(RunState.SUCCEEDED, "completed")


def failed(failure_class: FailureClass = FailureClass.REPOSITORY, code: str = "NO_SPACE") -> Verdict:
    return Verdict(RunState.FAILED, "executor_failed", failure=Failure(code, "x", failure_class))


def test_three_failures_open_it_and_each_failed_try_doubles_the_pause_to_an_hour() -> None:
    """execution.md, section 2: 5 min, doubling to 1 h."""
    breaker, now, pauses = Breaker(), NOW, []
    for _ in range(30):
        before, breaker = breaker, after_failure(breaker, admitted_at=now, now=now)
        assert breaker.failures == before.failures + 1
        if breaker.open_until is not None:
            pauses.append((breaker.open_until - now) // MINUTE)
            now = breaker.open_until
    assert pauses == [5, 10, 20, 40] + [60] * 24


def test_failures_of_runs_that_were_already_going_lengthen_nothing() -> None:
    """Ten at once tell of one outage."""
    opened = Breaker(3, 1, NOW + 5 * MINUTE)
    assert after_failure(opened, admitted_at=NOW, now=NOW + MINUTE) == opened
    assert after_failure(opened, admitted_at=NOW, now=NOW + 9 * MINUTE) == opened


@pytest.mark.parametrize(
    ("verdict", "answer"),
    [
        (SUCCESS, True),
        (Verdict(RunState.PARTIAL_FAILURE, "objects_skipped"), True),
        # It was another repository that took the backup.
        (Verdict(RunState.PARTIAL_FAILURE, "repository_swapped"), None),
        (Verdict(RunState.CANCELLED, "cancelled_user", cancel_origin=CancelOrigin.USER), None),
        (failed(FailureClass.REPOSITORY), False),
        (failed(FailureClass.NETWORK), False),
        *((failed(one), None) for one in FailureClass if one not in (FailureClass.REPOSITORY, FailureClass.NETWORK)),
    ],
)
def test_what_an_end_says_of_its_repository(verdict: Verdict, answer: bool | None) -> None:
    assert works(verdict) is answer


def end(repository: Repository, verdict: Verdict, *, now: dt.datetime = NOW, kind: str = "backup") -> Run:
    """Let a run of the repository, admitted at `now`, end so."""
    job = make_job(repository=repository, max_attempts=1) if kind == "backup" else None
    run = make_run(job, "running", kind=kind, repository=repository, admitted_at=now, started_at=now)
    assert transitions.finish(run.id, fence_of(run), verdict, now=now)
    return run


def opened(repository: Repository, now: dt.datetime = NOW) -> None:
    for _ in range(3):
        end(repository, failed(), now=now)


def waiting(repository: Repository, count: int) -> list[Run]:
    """Return waiting runs, the first in order first."""
    return [make_run(make_job(repository=repository), created_at=NOW + n * SECOND) for n in range(count)]


@pytest.mark.django_db
def test_the_third_failure_in_a_row_opens_it_with_an_event() -> None:
    repository = make_repository(name="vault")
    first, second = end(repository, failed()), end(repository, failed())
    assert RepositoryBreaker.objects.get().open_until is None
    third = end(repository, failed(FailureClass.NETWORK, "NO_ROUTE"))
    breaker = RepositoryBreaker.objects.get()
    assert (breaker.failures, breaker.trips, breaker.open_until) == (3, 1, NOW + 5 * MINUTE)
    assert breaker.error_code == "NO_ROUTE"
    assert [codes(run) for run in (first, second, third)] == [["failed"], ["failed"], ["failed", "breaker_opened"]]


@pytest.mark.django_db
def test_a_success_in_between_begins_anew_and_other_failures_do_not() -> None:
    repository = make_repository()
    end(repository, failed())
    end(repository, failed())
    end(repository, failed(FailureClass.SOURCE))
    assert RepositoryBreaker.objects.get().failures == 2
    end(repository, SUCCESS)
    assert (RepositoryBreaker.objects.get().failures, RepositoryBreaker.objects.get().error_code) == (0, "")


@pytest.mark.django_db
def test_restores_neither_count_nor_wait() -> None:
    make_worker(slots=8, last_seen=ALWAYS)
    repository = make_repository()
    for _ in range(3):
        end(repository, failed(), kind="restore")
    assert not RepositoryBreaker.objects.exists()
    opened(repository)
    restore = make_run(kind="restore", repository=repository)
    check = make_run(kind="check", repository=repository)
    admit_waiting(now=NOW + MINUTE)
    assert again(restore).admitted_at == NOW + MINUTE
    assert again(check).held_code == "breaker"
    end(repository, SUCCESS, kind="restore")
    assert RepositoryBreaker.objects.get().trips == 1


@pytest.mark.django_db
def test_an_open_breaker_holds_its_repository_alone_and_says_until_when() -> None:
    """Trap 29: one dead target takes no slot from the others."""
    make_worker(slots=8, last_seen=ALWAYS)
    dead = make_repository(name="vault")
    now = clock.now()
    opened(dead, now)
    (run,), other = waiting(dead, 1), make_run()
    admit_waiting(now=now + MINUTE)
    assert (again(run).held_code, run.held_subject) == ("breaker", "vault")
    until = f"{now + 5 * MINUTE:%Y-%m-%d %H:%M:%S} UTC"
    assert held_sentence(run) == (
        f"Waits until {until}: the repository vault failed 3 times in a row, last with NO_SPACE."
    )
    assert again(other).admitted_at == now + MINUTE


@pytest.mark.django_db
def test_after_the_pause_one_run_tries_it_and_a_failure_doubles_the_pause() -> None:
    make_worker(slots=8, last_seen=ALWAYS)
    repository = make_repository(name="vault", max_concurrent_runs=5)
    opened(repository)
    runs = waiting(repository, 3)
    over = NOW + 5 * MINUTE
    admit_waiting(now=over)
    tried = [run for run in runs if again(run).admitted_at]
    assert tried == [runs[0]]
    assert held_sentence(again(runs[1])) == (
        "Waits while a run tries the repository vault, which failed 3 times: NO_SPACE."
    )
    admit_waiting(now=over + MINUTE)
    assert again(runs[1]).admitted_at is None
    assert transitions.start(runs[0].id, fence_of(again(runs[0])), "alpha:1", now=over + MINUTE)
    assert transitions.finish(runs[0].id, fence_of(runs[0]), failed(), now=over + MINUTE)
    breaker = RepositoryBreaker.objects.get()
    assert (breaker.failures, breaker.trips, breaker.open_until) == (4, 2, over + 11 * MINUTE)


@pytest.mark.django_db
def test_a_try_that_succeeds_lets_all_others_go() -> None:
    make_worker(slots=8, last_seen=ALWAYS)
    repository = make_repository(max_concurrent_runs=5)
    opened(repository)
    runs, over = waiting(repository, 3), NOW + 5 * MINUTE
    admit_waiting(now=over)
    assert transitions.start(runs[0].id, fence_of(again(runs[0])), "alpha:1", now=over)
    assert transitions.finish(runs[0].id, fence_of(runs[0]), SUCCESS, now=over)
    assert codes(runs[0])[-1] == "breaker_closed"
    admit_waiting(now=over)
    assert all(again(run).admitted_at for run in runs)


@pytest.mark.django_db
def test_a_try_that_says_nothing_is_followed_by_the_next() -> None:
    """A missing source proves nothing of the repository; neither does a run that nobody took."""
    make_worker(slots=8, last_seen=ALWAYS)
    repository = make_repository()
    opened(repository)
    first, second, third = waiting(repository, 3)
    over = NOW + 5 * MINUTE
    admit_waiting(now=over)
    transitions.request_cancel(first.id, CancelOrigin.USER, "alice", now=over)
    admit_waiting(now=over)
    assert again(second).admitted_at == over
    assert transitions.withdraw(second.id, fence_of(second), now=over)
    admit_waiting(now=over)
    assert [again(run).admitted_at for run in (second, third)] == [over, None]


@pytest.mark.django_db
def test_who_mended_it_need_not_wait() -> None:
    make_worker(slots=8, last_seen=ALWAYS)
    repository = make_repository(name="vault")
    opened(repository)
    (run,) = waiting(repository, 1)
    breaker_reset(repository_id=repository.id, actor="alice", now=NOW)
    breaker_reset(repository_id=repository.id, actor="alice", now=NOW)
    admit_waiting(now=NOW)
    assert again(run).admitted_at == NOW
    assert AuditEntry.objects.get(action="breaker.reset").details == {"name": "vault"}


@pytest.mark.django_db(transaction=True)
def test_failures_at_the_same_moment_are_all_counted() -> None:
    """Also the first two, which both find no row."""
    repository = make_repository(max_concurrent_runs=9)
    runs = [make_run(make_job(repository=repository, max_attempts=1), "running") for _ in range(3)]
    ends = [partial(transitions.finish, run.id, fence_of(run), failed(), now=NOW) for run in runs]
    assert at_once(ends) == [True, True, True]
    assert (RepositoryBreaker.objects.get().failures, RepositoryBreaker.objects.get().trips) == (3, 1)


@pytest.mark.django_db(transaction=True)
def test_of_passes_at_once_one_lets_one_run_try() -> None:
    make_worker(slots=8, last_seen=ALWAYS)
    repository = make_repository(max_concurrent_runs=5)
    opened(repository)
    waiting(repository, 4)
    at_once([partial(admit_waiting, now=NOW + 5 * MINUTE)] * 4)
    assert Run.objects.filter(state="queued", admitted_at__isnull=False).count() == 1

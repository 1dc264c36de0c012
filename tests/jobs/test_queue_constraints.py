"""PostgreSQL refuses bad rows of breakers, and dependencies that lead back to where they began (D2, C4)."""

from functools import partial
from typing import Any

import pytest
from django.db import IntegrityError

from jobs.models import Job, JobDependency, RepositoryBreaker
from tests.jobs.builders import NOW, make_job
from tests.jobs.rivals import at_once
from tests.refusals import refused_by
from tests.repositories.builders import make_repository

LIMIT = {"failures": 3, "error_code": "NO_ROUTE"}


def depends(job: Job, predecessor: Job) -> JobDependency:
    return JobDependency.objects.create(job=job, predecessor=predecessor, created_at=NOW)


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("constraint", "fields"),
    [
        ("repository_breakers_open_has_an_end", LIMIT | {"trips": 1}),
        ("repository_breakers_open_has_an_end", LIMIT | {"open_until": NOW}),
        ("repository_breakers_opens_after_failures", LIMIT | {"failures": 2, "trips": 1, "open_until": NOW}),
        ("repository_breakers_names_its_failure", {"failures": 1}),
        ("repository_breakers_names_its_failure", {"error_code": "NO_ROUTE"}),
    ],
)
def test_a_bad_breaker_is_refused(constraint: str, fields: dict[str, Any]) -> None:
    with refused_by(constraint):
        RepositoryBreaker.objects.create(repository=make_repository(), updated_at=NOW, **fields)


@pytest.mark.django_db
def test_a_good_breaker_is_kept() -> None:
    opened = LIMIT | {"trips": 1, "open_until": NOW}
    for fields in ({}, {"failures": 2, "error_code": "X"}, opened):
        RepositoryBreaker.objects.create(repository=make_repository(), updated_at=NOW, **fields)
    assert RepositoryBreaker.objects.count() == 3


@pytest.mark.django_db
def test_no_cycle_whoever_writes() -> None:
    """C4: also for who goes past the services, by an insert or by a change of a row."""
    first, second, third, fourth = (make_job() for _ in range(4))
    depends(second, first)
    depends(third, second)
    row = depends(third, fourth)
    with refused_by("job_dependencies_have_no_cycle"):
        depends(first, third)
    with refused_by("job_dependencies_have_no_cycle"):
        JobDependency.objects.filter(id=row.id).update(job=first, predecessor=third)
    assert JobDependency.objects.count() == 3


@pytest.mark.django_db
def test_two_ways_to_one_job_are_no_cycle() -> None:
    first, left, right, last = (make_job() for _ in range(4))
    for job, predecessor in ((left, first), (right, first), (last, left), (last, right)):
        depends(job, predecessor)
    assert JobDependency.objects.count() == 4


@pytest.mark.django_db(transaction=True)
def test_two_rows_at_once_close_no_ring() -> None:
    """C4: past the services, each alone is fine; PostgreSQL lets the second wait and then sees the first."""
    for _ in range(5):
        first, second = make_job(), make_job()
        results = at_once([partial(depends, first, second), partial(depends, second, first)])
        assert sum(isinstance(result, IntegrityError) for result in results) == 1
    assert JobDependency.objects.count() == 5

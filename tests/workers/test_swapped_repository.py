"""Runs whose repository is not there, or is another one: what they record, and what they never claim (A10)."""

from dataclasses import replace
from pathlib import Path

import pytest

from jobs.retries import is_retryable
from jobs.states import FailureClass, RunKind, TaskState
from jobs.verdict import decide
from repositories.models import Backup, Repository, RepositoryFreeze
from tests.workers import scenario
from tests.workers.scenario import Ground
from tests.workers.test_executor import Control, execute, request_for

pytestmark = pytest.mark.django_db


def test_a_swapped_repository_is_recorded_and_the_run_goes_on(place: Ground) -> None:
    """A10: the mismatch is kept and shown, and the repository frozen for the runs after this one."""
    Path(place.location).rename(place.directory / "moved")
    other = scenario.new_repository(Path(place.location))
    control = Control()
    result = execute(request_for(place, scenario.small_tree(place.directory)), control)
    assert result.sources[0].state is TaskState.SUCCEEDED
    row = Repository.objects.get(pk=place.repository.pk)
    assert (row.observed_repository_id, row.repository_id) == (other, place.repository.repository_id)
    assert RepositoryFreeze.objects.filter(repository=row, cleared_at=None).count() == 1
    assert any("swapped" in line for line in control.lines)
    # What lies in another repository is no backup in the registered one.
    assert result.elsewhere == other
    assert not Backup.objects.exists()
    verdict = decide(result, [source.task_run_id for source in result.sources])
    assert (verdict.state, verdict.reason_code) == ("partial_failure", "repository_swapped")


@pytest.mark.parametrize("empty", [False, True])
@pytest.mark.parametrize("kind", [RunKind.BACKUP, RunKind.CHECK])
def test_a_repository_that_was_there_before_is_waited_for(place: Ground, kind: RunKind, *, empty: bool) -> None:
    """A medium that is not mounted may come back; making a new one in its place would hide it."""
    Path(place.location).rename(place.directory / "moved")
    if empty:
        Path(place.location).mkdir()
    result = execute(replace(request_for(place, scenario.small_tree(place.directory)), kind=kind))
    assert result.failure is not None
    assert (result.failure.code, result.failure.failure_class) == ("REPOSITORY_NOT_FOUND", FailureClass.REPOSITORY)
    assert is_retryable(result.failure.failure_class)
    assert result.failure.hint == "It was opened before: is its medium mounted?"


def test_a_check_of_a_swapped_repository_is_no_check_of_the_registered_one(place: Ground) -> None:
    Path(place.location).rename(place.directory / "moved")
    other = scenario.new_repository(Path(place.location))
    result = execute(replace(request_for(place, scenario.small_tree(place.directory)), kind=RunKind.CHECK))
    assert (result.failure, result.elsewhere) == (None, other)
    assert decide(result, []).state == "partial_failure"

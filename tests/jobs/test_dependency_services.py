"""Saying which jobs a job waits for: no cycle, also by two edits at once, and a revision for each change (C4)."""

import uuid
from functools import partial
from typing import Any

import pytest

from jobs.errors import DependencyCycleError, JobNeededError, JobNotFoundError
from jobs.models import Job, JobDependency, JobRevision
from jobs.services import NewJob, SourceInput, job_create, job_delete, job_depend
from syncova_project.access.models import AuditEntry
from syncova_project.errors import ValidationFailedError
from tests.jobs import bells
from tests.jobs.builders import NOW, make_job, new_id
from tests.jobs.rivals import at_once
from tests.repositories.builders import make_repository


def depend(job: Job, *predecessors: Job) -> Job:
    return job_depend(job_id=job.id, depends_on=[one.id for one in predecessors], actor="alice", now=NOW)


def edges() -> set[tuple[uuid.UUID, uuid.UUID]]:
    return set(JobDependency.objects.values_list("job_id", "predecessor_id"))


@pytest.mark.django_db
def test_a_change_replaces_all_makes_a_revision_and_is_audited() -> None:
    first, second, job = make_job(name="database"), make_job(name="files"), make_job()
    depend(job, first, second, first)
    assert edges() == {(job.id, first.id), (job.id, second.id)}
    depend(job, second)
    assert edges() == {(job.id, second.id)}
    revision = JobRevision.objects.get(job=job, number=3)
    assert revision.snapshot["depends_on"] == [str(second.id)]
    entries = AuditEntry.objects.filter(action="job.depend").order_by("id")
    both = {"depends_on": sorted([str(first.id), str(second.id)])}
    told = [(entry.details["before"], entry.details["after"], entry.details["revision"]) for entry in entries]
    assert told == [({"depends_on": []}, both, 2), (both, {"depends_on": [str(second.id)]}, 3)]


@pytest.mark.django_db
def test_the_same_again_changes_nothing() -> None:
    first, job = make_job(), make_job()
    depend(job, first)
    depend(job, first)
    job.refresh_from_db()
    assert job.revision_number == 2
    assert AuditEntry.objects.filter(action="job.depend").count() == 1


@pytest.mark.django_db
def test_a_change_asks_for_a_pass(django_capture_on_commit_callbacks: Any) -> None:
    first, job = make_job(), make_job()
    with django_capture_on_commit_callbacks(execute=True):
        depend(job, first)
    assert bells.woken == [1]


@pytest.mark.django_db
def test_a_cycle_is_refused_with_the_way_round() -> None:
    """C4: the job itself, and others in between."""
    first, second, third = make_job(name="a"), make_job(name="b"), make_job(name="c")
    depend(second, first)
    depend(third, second)
    with pytest.raises(DependencyCycleError, match="The job a would wait for itself: a → c → b → a") as caught:
        depend(first, third)
    assert caught.value.details == {"jobs": ["a", "c", "b", "a"]}
    with pytest.raises(DependencyCycleError, match="a → a"):
        depend(first, first)
    assert len(edges()) == 2
    # Turned round in two steps: what a job waits for now does not stand in the way of its own mending.
    depend(second)
    depend(first, second)
    assert edges() == {(third.id, second.id), (first.id, second.id)}


@pytest.mark.django_db
def test_what_is_no_job_is_refused() -> None:
    job, gone = make_job(), make_job(deleted_at=NOW)
    for wrong in (new_id(), gone.id):
        with pytest.raises(ValidationFailedError, match=r"depends_on\.0: there is no job"):
            job_depend(job_id=job.id, depends_on=[wrong], actor="alice", now=NOW)
    with pytest.raises(ValidationFailedError, match="at most 100"):
        job_depend(job_id=job.id, depends_on=[job.id] * 101, actor="alice", now=NOW)
    with pytest.raises(JobNotFoundError):
        job_depend(job_id=gone.id, depends_on=[], actor="alice", now=NOW)
    assert not edges()


@pytest.mark.django_db
def test_a_job_is_made_with_what_it_waits_for() -> None:
    first = make_job()
    new = NewJob(
        name="offsite",
        repository_id=make_repository().id,
        sources=[SourceInput(path=b"/srv/data")],
        start_deadline_seconds=3600,
        depends_on=[first.id],
    )
    job = job_create(new, actor="alice", now=NOW)
    assert edges() == {(job.id, first.id)}
    assert job.revisions.get().snapshot["depends_on"] == [str(first.id)]
    assert job.start_deadline_seconds == 3600


@pytest.mark.django_db(transaction=True)
def test_two_edits_at_once_close_no_cycle_between_them() -> None:
    """C4: each alone is fine; of both, one is refused, whichever was second."""
    for _ in range(5):
        first, second = make_job(), make_job()
        results = at_once([partial(depend, first, second), partial(depend, second, first)])
        assert sorted(type(result).__name__ for result in results) == ["DependencyCycleError", "Job"]
    assert len(edges()) == 5


@pytest.mark.django_db(transaction=True)
def test_a_ring_of_five_edits_at_once_stays_open() -> None:
    jobs = [make_job() for _ in range(5)]
    ring = [partial(depend, job, jobs[number - 1]) for number, job in enumerate(jobs)]
    results = at_once(ring)
    assert sum(isinstance(result, DependencyCycleError) for result in results) == 1
    assert len(edges()) == 4


@pytest.mark.django_db(transaction=True)
def test_a_job_is_not_deleted_while_another_begins_to_wait_for_it() -> None:
    """Either the edit finds no such job, or the deletion finds who waits for it."""
    for _ in range(5):
        first, job = make_job(), make_job()
        deletion = partial(job_delete, job_id=first.id, actor="alice", now=NOW)
        refused = [one for one in at_once([deletion, partial(depend, job, first)]) if isinstance(one, Exception)]
        assert len(refused) == 1
        assert isinstance(refused[0], (JobNeededError, ValidationFailedError))
        first.refresh_from_db()
        assert (first.deleted_at is None) == ((job.id, first.id) in edges())

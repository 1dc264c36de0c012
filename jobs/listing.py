"""What lists and pages of jobs and runs load with their rows, so that no row costs a query of its own.

Owns prefetching and filtering for the API. Which rows are visible at all is jobs.selectors'.
"""

import uuid
from collections.abc import Mapping
from typing import Any, Final

from django.db.models import Prefetch, Q, QuerySet
from django.db.models.functions import Lower

from jobs.errors import no_such_job
from jobs.job_names import held_subject
from jobs.models import Job, JobDependency, JobSource, Run, Schedule
from jobs.selectors import jobs_visible, missing_job, runs_visible
from jobs.sentences import held_sentence, is_postponed, postponed_sentence
from jobs.states import ACTIVE_STATES
from syncova_project import clock
from syncova_project.paging import Ordering

JOB_ORDERINGS: Final[Mapping[str, Ordering]] = {
    "name": Ordering("name", "name_key"),
    "-name": Ordering("-name", "name_key", descending=True),
    "created_at": Ordering("created_at"),
    "-created_at": Ordering("-created_at", descending=True),
}
RUN_ORDERINGS: Final[Mapping[str, Ordering]] = {
    "created_at": Ordering("created_at", "created_at"),
    "-created_at": Ordering("-created_at", "created_at", descending=True),
}
# What a list of jobs tells of other rows, and no more: to name, send and read each column takes longer than the rest.
_SOURCES: Final = JobSource.objects.select_related("source").order_by("position")
_SCHEDULES: Final = Schedule.objects.filter(deleted_at__isnull=True).order_by("id")
_DEPENDENCIES: Final = (
    JobDependency.objects.select_related("predecessor__repository")
    .only("job", "predecessor__name", "predecessor__repository__worker_group")
    .order_by("predecessor__name", "id")
)
# A job has one at most, so they need no order.
_ACTIVE: Final = (
    Run.objects.filter(state__in=ACTIVE_STATES)
    .select_related("repository", "origin_run")
    .only(
        *("job", "repository", "runner", "kind", "trigger", "attempt", "state"),
        *("created_at", "not_before", "admitted_at", "started_at", "heartbeat_at", "progress_at"),
        *("held_code", "held_subject", "held_since"),
        *("repository__name", "repository__max_concurrent_runs", "origin_run__error_code"),
    )
    .order_by()
)


class HeldSentences:
    """Why runs wait, in words, for one answer: runs held by the same thing share one count."""

    def __init__(self) -> None:
        self._known: dict[tuple[object, ...], str] = {}
        self._subjects: dict[tuple[str, str], str] = {}
        self.now = clock.now()

    def of(self, run: Run) -> str:
        """Return the sentence of one run, "" when it does not wait."""
        if is_postponed(run, self.now):
            return postponed_sentence(run)
        key = (run.state, run.admitted_at is None, run.held_code, run.held_subject, run.repository_id, run.runner_id)
        if key not in self._known:
            self._known[key] = held_sentence(run)
        return self._known[key]

    def subject_of(self, run: Run) -> str:
        """Return what a run waits for by its name, as the caller may know it."""
        key = (run.held_code, run.held_subject)
        if key not in self._subjects:
            self._subjects[key] = held_subject(run)
        return self._subjects[key]


def jobs_listed() -> QuerySet[Job]:
    """Return visible jobs with sources, schedules, dependencies and active run: five queries whatever their number."""
    return (
        jobs_visible()
        .annotate(name_key=Lower("name"))
        .prefetch_related(
            Prefetch("job_sources", queryset=_SOURCES.all(), to_attr="listed_sources"),
            Prefetch("schedules", queryset=_SCHEDULES.all(), to_attr="listed_schedules"),
            Prefetch("dependencies", queryset=_DEPENDENCIES.all(), to_attr="listed_dependencies"),
            Prefetch("runs", queryset=_ACTIVE.all(), to_attr="listed_runs"),
        )
    )


def job_listed(job_id: uuid.UUID) -> Job:
    """Return one visible job with all that its page shows; raises JobNotFoundError."""
    job = jobs_listed().filter(id=job_id).first()
    if job is None:
        raise missing_job(job_id)
    return job


def job_remembered(job_id: uuid.UUID) -> Job:
    """Return one job, be it deleted: what became of its instants stays to be read (H7); raises JobNotFoundError."""
    job = Job.objects.filter(id=job_id).first()
    if job is None:
        raise no_such_job(job_id)
    return job


def jobs_matching(filters: Mapping[str, Any]) -> QuerySet[Job]:
    """Return the jobs that all given filters take (serializers.JobFilter has their names)."""
    conditions = {
        "active": Q(paused_at__isnull=True),
        "paused": Q(paused_at__isnull=False),
    }
    matching = jobs_listed()
    if "status" in filters:
        matching = matching.filter(conditions[filters["status"]])
    if "search" in filters:
        matching = matching.filter(name__icontains=filters["search"])
    if "last_state" in filters:
        # A job no run of which has ended has none.
        matching = matching.filter(last_state="" if filters["last_state"] == "none" else filters["last_state"])
    exact = {"repository": "repository_id", "priority": "priority"}
    return matching.filter(**{column: filters[name] for name, column in exact.items() if name in filters})


def runs_matching(filters: Mapping[str, Any]) -> QuerySet[Run]:
    """Return the runs that all given filters take (serializers.RunFilter has their names)."""
    matching = runs_visible()
    if "search" in filters:
        text = filters["search"]
        matching = matching.filter(
            Q(job__name__icontains=text) | Q(error_code__icontains=text) | Q(error_message__icontains=text)
        )
    exact = {"status": "state", "repository": "repository_id", "job": "job_id", "kind": "kind"}
    return matching.filter(**{column: filters[name] for name, column in exact.items() if name in filters})

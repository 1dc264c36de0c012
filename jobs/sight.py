"""Which jobs, runs and windows a caller sees, and rows beneath them: those of the repositories that they see (7.8).

Owns these answers for addresses, the audit trail's entries and pages. Windows that hold for all are seen by all.
"""

import uuid

from django.db.models import Q, QuerySet

from jobs.copy_origins import origins_shown
from jobs.errors import no_such_job, no_such_window
from jobs.job_names import shown_details
from jobs.models import Job, JobDependency, JobSource, Run, Runner, Source, Window
from jobs.selectors import run_get
from jobs.states import RunnerKind
from syncova_project.access.visibility import (
    GROUPS,
    GUARDS,
    MASKS,
    SEEN,
    entries_seen,
    model_seen,
    visible_groups,
    within_sight,
)


def windows_visible() -> QuerySet[Window]:
    """Return the windows of everything, and those of what the caller sees."""
    groups = visible_groups()
    if groups is None:
        return Window.objects.all()
    of_all = Q(repository__isnull=True, job__isnull=True)
    return Window.objects.filter(
        of_all | Q(repository__worker_group__in=groups) | Q(job__repository__worker_group__in=groups)
    )


def _check_job(job_id: uuid.UUID) -> None:
    if not within_sight(Job.objects.filter(id=job_id), "repository__worker_group").exists():
        raise no_such_job(job_id)


def _check_window(window_id: uuid.UUID) -> None:
    if not windows_visible().filter(id=window_id).exists():
        raise no_such_window(window_id)


def _windows_seen(rows: QuerySet[Window]) -> QuerySet[Window]:
    return rows.filter(pk__in=windows_visible().values("pk"))


def _sources_seen(rows: QuerySet[Source]) -> QuerySet[Source]:
    places = within_sight(JobSource.objects.all(), "job__repository__worker_group")
    return rows.filter(pk__in=places.values("source_id"))


def _dependencies_seen(rows: QuerySet[JobDependency]) -> QuerySet[JobDependency]:
    return within_sight(within_sight(rows, "job__repository__worker_group"), "predecessor__repository__worker_group")


# A group is known, too, whose workers have come before its first repository.
GROUPS.append(lambda: Runner.objects.filter(kind=RunnerKind.GROUP).values_list("name", flat=True))
GUARDS["job_id"] = _check_job
GUARDS["run_id"] = run_get
GUARDS["window_id"] = _check_window
MASKS["job"] = shown_details
MASKS["run"] = origins_shown
entries_seen("job", Job.objects.all, "repository__worker_group")
entries_seen("run", Run.objects.all, "repository__worker_group")
entries_seen("window", Window.objects.all, "repository__worker_group")
for _label, _path in (
    ("job", "repository"),
    ("jobrevision", "job__repository"),
    ("run", "repository"),
    ("taskrun", "run__repository"),
    ("runevent", "run__repository"),
    ("schedule", "job__repository"),
    ("scheduledecision", "schedule__job__repository"),
    ("scheduleevent", "schedule__job__repository"),
    ("upkeepplan", "repository"),
    ("upkeepdecision", "upkeep__repository"),
    ("repositorybreaker", "repository"),
):
    model_seen(f"jobs.{_label}", f"{_path}__worker_group")
model_seen("jobs.runner", "name")
model_seen("jobs.workerprocess", "runner__name")
SEEN["jobs.window"] = _windows_seen
SEEN["jobs.source"] = _sources_seen
SEEN["jobs.jobdependency"] = _dependencies_seen

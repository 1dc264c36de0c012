"""Which jobs, runs and windows a caller sees: those of the repositories that they see (7.8).

Owns these answers for addresses and for the audit trail's entries. Windows that hold for all are seen by all.
"""

import uuid

from django.db.models import Q, QuerySet

from jobs.errors import no_such_job, no_such_window
from jobs.models import Job, Run, Window
from jobs.selectors import run_get
from syncova_project.access.visibility import GUARDS, entries_seen, visible_groups, within_sight


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


GUARDS["job_id"] = _check_job
GUARDS["run_id"] = run_get
GUARDS["window_id"] = _check_window
entries_seen("job", Job.objects.all, "repository__worker_group")
entries_seen("run", Run.objects.all, "repository__worker_group")
entries_seen("window", Window.objects.all, "repository__worker_group")

"""Admin pages of jobs, their revisions and dependencies."""

import datetime as dt
from typing import Any

from django.contrib import admin
from django.db.models import Min, Q, QuerySet
from django.http import HttpRequest

from jobs.admin.marks import marked
from jobs.models import Job, JobDependency, JobRevision, JobSource, Schedule
from syncova_project.read_only_admin import ReadOnlyAdmin, ReadOnlyInline, shown


class JobSourceInline(ReadOnlyInline):
    """What the job backs up."""

    model = JobSource
    fields = readonly_fields = (
        "position",
        shown("source__type", "type"),
        shown("source__shown", "source"),
        shown("excludes"),
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Load the sources with their places."""
        return super().get_queryset(request).select_related("source")


class ScheduleInline(ReadOnlyInline):
    """When the job runs."""

    model = Schedule
    fields = readonly_fields = ("kind", shown("definition"), "next_at", "state", "missed", "deleted_at")


@admin.register(Job)
class JobAdmin(ReadOnlyAdmin):
    """Jobs with their last result and next instant."""

    list_display = (
        shown("name", order="name"),
        shown("repository__name", "repository"),
        "priority",
        "standing",
        "last_result",
        "last_finished_at",
        "next_run_at",
    )
    list_filter = ("last_state", ("paused_at", admin.EmptyFieldListFilter), ("deleted_at", admin.EmptyFieldListFilter))
    list_select_related = ("repository",)
    search_fields = ("name", "repository__name")
    inlines = (JobSourceInline, ScheduleInline)
    fields = readonly_fields = (
        "id",
        shown("name"),
        shown("repository__name", "repository"),
        shown("runner__name", "worker group"),
        "priority",
        "standing",
        "paused_at",
        "deleted_at",
        "bandwidth_limit_bps",
        "strict",
        "max_attempts",
        "revision_number",
        "created_at",
        "updated_at",
        "last_result",
        "last_finished_at",
        "last_succeeded_at",
        "next_run_at",
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[Job]:
        """Compute the next instant in the same query."""
        planned = Q(schedules__deleted_at__isnull=True)
        rows: QuerySet[Job] = super().get_queryset(request)
        return rows.annotate(due_at=Min("schedules__next_at", filter=planned))

    @admin.display(description="standing")
    def standing(self, job: Job) -> str:
        """Say whether the job is active, paused or deleted."""
        if job.deleted_at is not None:
            return "■ deleted"
        return "❚❚ paused" if job.paused_at is not None else "▶ active"

    @admin.display(description="last result", ordering="last_state")
    def last_result(self, job: Job) -> str:
        """Say how the last run ended."""
        return marked(job.last_state)

    @admin.display(description="next run", ordering="due_at")
    def next_run_at(self, job: Job) -> dt.datetime | None:
        """Say when the job is due."""
        due: dt.datetime | None = getattr(job, "due_at", None)
        return due


@admin.register(JobRevision)
class JobRevisionAdmin(ReadOnlyAdmin):
    """What each job was, revision by revision."""

    list_display = (shown("job__name", "job"), "number", "created_at", shown("created_by"))
    list_select_related = ("job",)
    search_fields = ("job__name", "created_by")
    fields = readonly_fields = (
        shown("job__name", "job"),
        "number",
        shown("snapshot"),
        "created_at",
        shown("created_by"),
    )


@admin.register(JobDependency)
class JobDependencyAdmin(ReadOnlyAdmin):
    """Which job waits for which."""

    list_display = (shown("job__name", "job"), shown("predecessor__name", "waits for"), "created_at")
    list_select_related = ("job", "predecessor")
    search_fields = ("job__name", "predecessor__name")
    fields = readonly_fields = (shown("job__name", "job"), shown("predecessor__name", "waits for"), "created_at")

"""Admin pages of jobs, their revisions and dependencies."""

import datetime as dt
import json
from collections.abc import Iterator, Sequence
from typing import Any

from django.contrib import admin
from django.db.models import OuterRef, Prefetch, QuerySet, Subquery
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html

from jobs.admin.job_actions import ACTIONS
from jobs.admin.job_panels import job_headline, job_panels, standing
from jobs.admin.marks import marked
from jobs.job_names import shown_snapshots
from jobs.models import Job, JobDependency, JobRevision, Run, Schedule
from jobs.selectors import phase
from jobs.states import ACTIVE_STATES, ScheduleState
from syncova_project.access.people import may
from syncova_project.access.scopes import Scope
from syncova_project.admin_pages.lists import HistoryList
from syncova_project.admin_pages.pages import PageAdmin, address_of
from syncova_project.admin_pages.panels import Panel
from syncova_project.log import single_line
from syncova_project.read_only_admin import EMPTY, shown


class StandingFilter(admin.SimpleListFilter):
    """Deleted jobs are seen by those alone who ask for them."""

    title, parameter_name = "standing", "standing"
    _CHOICES = (
        ("active", "Active", {"deleted_at__isnull": True, "paused_at__isnull": True}),
        ("paused", "Paused", {"deleted_at__isnull": True, "paused_at__isnull": False}),
        ("deleted", "Deleted", {"deleted_at__isnull": False}),
    )

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """Return what can be asked for."""
        return [(name, label) for name, label, _ in self._CHOICES]

    def choices(self, changelist: Any) -> Iterator[Any]:
        """Return the choices; the first one is none of them."""
        for number, choice in enumerate(super().choices(changelist)):
            yield choice if number else {**choice, "display": "Not deleted"}

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Return the jobs that are asked for; without a choice those that are kept."""
        chosen = next((conditions for name, _, conditions in self._CHOICES if name == self.value()), None)
        return queryset.filter(**(chosen or {"deleted_at__isnull": True}))


@admin.register(Job)
class JobAdmin(PageAdmin):
    """Jobs with their last result, next instant and what can be done to them."""

    list_display = (
        shown("name", order="name"),
        shown("repository__name", "repository"),
        "priority",
        "standing",
        "now",
        "last_result",
        "last_finished_at",
        "next_run_at",
    )
    list_filter = (StandingFilter, "last_state", "priority")
    list_select_related = ("repository",)
    search_fields = ("name", "repository__name")
    page_actions = ACTIONS
    fields = readonly_fields = (
        "id",
        shown("name"),
        shown("repository__name", "repository"),
        shown("runner__name", "worker group"),
        "priority",
        "paused_at",
        "deleted_at",
        "bandwidth_limit_bps",
        "rpo_seconds",
        "start_deadline_seconds",
        "max_runtime_seconds",
        shown("hooks"),
        "strict",
        "max_attempts",
        "revision_number",
        "created_at",
        "updated_at",
        "last_finished_at",
        "last_succeeded_at",
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[Job]:
        """Load with each job its active run, and its next instant for those that are shown alone."""
        planned = Schedule.objects.filter(job=OuterRef("pk"), deleted_at__isnull=True, state=ScheduleState.ACTIVE)
        first = planned.filter(next_at__isnull=False).order_by("next_at").values("next_at")[:1]
        active = Run.objects.filter(state__in=ACTIVE_STATES).order_by("id")
        rows: QuerySet[Job] = super().get_queryset(request)
        return rows.annotate(due_at=Subquery(first)).prefetch_related(
            Prefetch("runs", queryset=active, to_attr="active_runs")
        )

    def get_list_display(self, request: HttpRequest) -> tuple[Any, ...]:
        """Add what may be done to a job at once, for those who may."""
        return (*self.list_display, "at_once") if may(request.user, Scope.JOBS_RUN) else self.list_display

    def headline(self, obj: Any) -> Sequence[str]:
        """Say how the job stands."""
        return job_headline(obj)

    def panels(self, request: HttpRequest, obj: Any) -> Sequence[Panel]:
        """Show its runs, schedules, sources, and what did not run."""
        return job_panels(obj)

    def is_live(self, obj: Any) -> bool:
        """Read the page again while a run is on."""
        return bool(obj.active_runs)

    @admin.display(description="standing")
    def standing(self, job: Job) -> str:
        """Say whether the job is active, paused or deleted."""
        return standing(job)

    @admin.display(description="now")
    def now(self, job: Any) -> str:
        """Lead to the run that waits or runs."""
        run = next(iter(job.active_runs), None)
        return EMPTY if run is None else _linked(run.pk, marked(phase(run)))

    @admin.display(description="at once")
    def at_once(self, job: Job) -> str:
        """Run a job, or resume a paused one, by the form that the list stands in."""
        if job.deleted_at is not None:
            return EMPTY
        name, label = ("run", "Run now") if job.paused_at is None else ("resume", "Resume")
        address = reverse("admin:jobs_job_do", args=[job.pk, name])
        told = f"{label}: {single_line(job.name)}"
        button = '<button type="submit" class="button" formaction="{}" aria-label="{}">{}</button>'
        return format_html(button, address, told, label)

    @admin.display(description="last result", ordering="last_state")
    def last_result(self, job: Job) -> str:
        """Say how the last run ended, and lead to it."""
        return EMPTY if job.last_run_id is None else _linked(job.last_run_id, marked(job.last_state))

    @admin.display(description="next run", ordering="due_at")
    def next_run_at(self, job: Job) -> dt.datetime | None:
        """Say when the job is due; a paused one is not."""
        if job.paused_at is not None or job.deleted_at is not None:
            return None
        due: dt.datetime | None = getattr(job, "due_at", None)
        return due


@admin.register(JobRevision)
class JobRevisionAdmin(HistoryList, PageAdmin):
    """What each job was, revision by revision, newest first."""

    lookups = ("job__id__exact",)
    list_display = (shown("job__name", "job"), "number", "created_at", shown("created_by"))
    list_select_related = ("job",)
    search_fields = ("job__name", "created_by")
    fields = readonly_fields = (
        shown("job__name", "job"),
        "number",
        "was",
        "created_at",
        shown("created_by"),
    )

    @admin.display(description="snapshot")
    def was(self, revision: JobRevision) -> str:
        """Show the revision, without ids of jobs that the person does not see."""
        return single_line(json.dumps(shown_snapshots([revision.snapshot])[0], ensure_ascii=False))


@admin.register(JobDependency)
class JobDependencyAdmin(PageAdmin):
    """Which job waits for which."""

    list_display = (shown("job__name", "job"), shown("predecessor__name", "waits for"), "created_at")
    list_select_related = ("job", "predecessor")
    search_fields = ("job__name", "predecessor__name")
    fields = readonly_fields = (shown("job__name", "job"), shown("predecessor__name", "waits for"), "created_at")


def _linked(run_id: object, text: str) -> str:
    return format_html('<a href="{}">{}</a>', address_of("jobs.run", run_id), text)

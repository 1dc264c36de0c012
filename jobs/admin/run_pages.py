"""Admin pages of runs, the queue, and the rows beneath a run. A page holds the end of the log, the API all of it."""

import uuid
from collections.abc import Sequence
from typing import Any, ClassVar, Final

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse

from jobs.admin.marks import marked
from jobs.admin.run_panels import run_headline, run_panels
from jobs.database_time import database_now
from jobs.job_names import held_subject
from jobs.listing import HeldSentences
from jobs.models import Run, RunEvent, TaskRun
from jobs.queue_listing import queue_page
from jobs.searching import search_runs
from jobs.selectors import phase
from jobs.services import run_cancel
from jobs.states import ACTIVE_STATES, FailureClass, RunState
from repositories.engine.display import show_bytes, show_count
from syncova_project.access.people import actor_of_person
from syncova_project.access.scopes import Scope
from syncova_project.admin_pages.actions import Done, PageAction, Values
from syncova_project.admin_pages.lists import AFTER, HistoryList
from syncova_project.admin_pages.pages import PageAdmin, address_of
from syncova_project.admin_pages.panels import Cell, Panel, link, row
from syncova_project.log import single_line
from syncova_project.paging import CursorRefusedError, Ordering, Page, PageRequest
from syncova_project.read_only_admin import shown

NEWEST: Final = Ordering("-created_at", "created_at", descending=True)
QUEUE_PAGE: Final = 100


class FailureFilter(admin.SimpleListFilter):
    """Failed runs by their class: asked with the state, since the index of what did not succeed has that alone."""

    title, parameter_name = "why it failed", "failure"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Any:
        """Return the classes."""
        return FailureClass.choices

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Return the failed runs of a class."""
        wanted = self.value()
        return queryset.filter(state=RunState.FAILED, failure_class=wanted) if wanted else queryset


def _cancel(request: HttpRequest, run: Run, _values: Values) -> Done:
    run_cancel(run_id=run.id, actor=actor_of_person(request.user), now=database_now())
    return Done("The run is asked to end.")


CANCEL: Final = PageAction(
    "cancel",
    "Cancel run",
    Scope.JOBS_RUN,
    _cancel,
    lambda run: run.state in ACTIVE_STATES and run.cancel_requested_at is None,
    question="End this run? What it has stored so far is no backup; the next run does not read that again.",
    destroys=True,
)


@admin.register(Run)
class RunAdmin(HistoryList, PageAdmin):
    """Runs, newest first."""

    keyset = NEWEST
    lookups = ("state__exact", "kind__exact", "failure", "job__id__exact", "repository__id__exact")
    list_display = (
        "created_at",
        shown("job__name", "job"),
        shown("repository__name", "repository"),
        "kind",
        "trigger",
        "mark",
        shown("held_code", "waits for"),
        "attempt",
        "started_at",
        "finished_at",
        "skipped",
        "stored",
    )
    list_filter = ("state", "kind", FailureFilter)
    list_select_related = ("job", "repository")
    search_fields = ("job__name", "error_code", "error_message")
    page_actions: ClassVar[Sequence[PageAction]] = (CANCEL,)
    fields = readonly_fields = (
        "id",
        shown("runner__name", "worker group"),
        "kind",
        "trigger",
        shown("requested_by"),
        "attempt",
        "fence",
        shown("held_code", "waits for"),
        "waits_on",
        "held_since",
        "scheduled_for",
        "not_before",
        "admitted_at",
        "started_at",
        "heartbeat_at",
        "finished_at",
        shown("worker"),
        "cancel_requested_at",
        "cancel_origin",
        shown("cancelled_by"),
        "failure_class",
        shown("reason_code"),
        "files",
        "skipped",
        "warnings",
        "logical_bytes",
        "bytes_read",
        "bytes_stored",
    )

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Run], search_term: str
    ) -> tuple[QuerySet[Run], bool]:
        """Leave the search to `read_list`, which knows the page."""
        return queryset, False

    def read_list(self, rows: QuerySet[Run], text: str, wanted: PageRequest) -> Page[Run]:
        """Search as the API does."""
        return search_runs(rows, text, wanted)

    def list_links(self, request: HttpRequest) -> Sequence[Cell]:
        """Lead to the queue."""
        return [Cell("Queue", reverse("admin:jobs_run_queue"))]

    def get_urls(self) -> list[URLPattern]:
        """Return the addresses of runs, and that of the queue."""
        view = self.admin_site.admin_view(self.queue_view)
        return [path("queue/", view, name="jobs_run_queue"), *super().get_urls()]

    def queue_view(self, request: HttpRequest) -> HttpResponse:
        """Show what waits, in the order in which it will be looked at, each with its reason."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        cursor, own = request.GET.get(AFTER, ""), reverse("admin:jobs_run_queue")
        try:
            page = queue_page({}, cursor, QUEUE_PAGE, now=database_now())
        except CursorRefusedError:
            return HttpResponseRedirect(own)
        sentences = HeldSentences()
        shown_rows = [_waiting(one.position, one.run, sentences) for one in page.rows]
        more = Cell("Next page", f"{own}?{AFTER}={page.next_cursor}") if page.next_cursor else None
        note = f"{show_count(page.waiting, 'run')} in all." if shown_rows else "Nothing waits."
        headings = ("place", "run", "kind", "job", "repository", "priority", "waits since", "because")
        panel = Panel("queue", "What waits, in order", headings, shown_rows, note, more)
        context = {**self.admin_site.each_context(request), "title": "Queue", "media": self.media, "opts": self.opts}
        return TemplateResponse(request, "syncova/panels.html", {**context, "panels": [panel], "is_live": not cursor})

    def get_queryset(self, request: HttpRequest) -> QuerySet[Run]:
        """Load what pages say of a run with it."""
        rows: QuerySet[Run] = super().get_queryset(request)
        return rows.select_related("job", "repository", "runner", "revision", "origin_run")

    def headline(self, obj: Any) -> Sequence[str]:
        """Say how the run stands and why."""
        return run_headline(obj)

    def panels(self, request: HttpRequest, obj: Any) -> Sequence[Panel]:
        """Show what happened to it, its sources, their problems and its log."""
        return run_panels(obj)

    def is_live(self, obj: Any) -> bool:
        """Read the page again until the run has ended."""
        return obj.state in ACTIVE_STATES

    @admin.display(description="state")
    def mark(self, run: Run) -> str:
        """Show the state as symbol and word."""
        return marked(phase(run))

    @admin.display(description="waits on")
    def waits_on(self, run: Run) -> str:
        """Show what holds the run, by its name where the person sees it."""
        return single_line(held_subject(run))

    @admin.display(description="stored")
    def stored(self, run: Run) -> str:
        """Show what the run added to the repository."""
        return show_bytes(run.bytes_stored)


class OfRun(HistoryList):
    """Rows beneath runs, newest first; searched by the run's whole id, which has an index."""

    search_fields: Any = ("run__id",)
    search_help_text: Any = "The whole id of a run."

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """Return the rows of one run; what is no id finds nothing."""
        if not search_term:
            return queryset, False
        try:
            return queryset.filter(run_id=uuid.UUID(search_term.strip())), False
        except ValueError:
            return queryset.none(), False


@admin.register(TaskRun)
class TaskRunAdmin(OfRun, PageAdmin):
    """Sources of runs, with their problems."""

    list_display = (
        shown("source__shown", "source"),
        "mark",
        "mode",
        "started_at",
        "finished_at",
        "files",
        "skipped",
        "warnings",
        shown("backup_id"),
    )
    list_select_related = ("source",)
    fields = readonly_fields = (
        "id",
        "run_id",
        shown("source__shown", "source"),
        "mark",
        "mode",
        shown("backup_id"),
        shown("parent_backup_id"),
        shown("chain"),
        shown("manifest_id"),
        "started_at",
        "finished_at",
        "failure_class",
        shown("error_code"),
        shown("error_message"),
        shown("error_hint"),
        shown("problems"),
        "files",
        "directories",
        "links",
        "others",
        "skipped",
        "warnings",
        "notes",
        "logical_bytes",
        "bytes_read",
        "bytes_stored",
        "new_chunks",
    )

    @admin.display(description="state")
    def mark(self, task: TaskRun) -> str:
        """Show the state as symbol and word."""
        return marked(task.state)


@admin.register(RunEvent)
class RunEventAdmin(OfRun, PageAdmin):
    """Events of all runs, newest first."""

    list_display = ("at", "run_id", "code", "from_state", "to_state", "fence", shown("actor"))
    fields = readonly_fields = (
        "at",
        "run_id",
        "code",
        "from_state",
        "to_state",
        "fence",
        shown("actor"),
        shown("parameters"),
    )


def _waiting(position: int, run: Run, sentences: HeldSentences) -> list[Cell]:
    job = link(run.job.name, address_of("jobs.job", run.job_id)) if run.job else ""
    where = link(run.repository.name, address_of("repositories.repository", run.repository_id))
    run_link = link(str(run.pk), address_of("jobs.run", run.pk))
    since = run.held_since or run.created_at
    return row(str(position), run_link, run.kind, job, where, run.priority, since, sentences.of(run))

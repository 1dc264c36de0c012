"""Admin pages of runners, their worker processes and the sources on them."""

from django.contrib import admin

from jobs.models import Runner, Source, WorkerProcess
from syncova_project.admin_pages.pages import PageAdmin
from syncova_project.read_only_admin import ReadOnlyInline, shown


class WorkerProcessInline(ReadOnlyInline):
    """The processes that give the runner its slots."""

    model = WorkerProcess
    fields = readonly_fields = (
        shown("host"),
        "process_id",
        "slots",
        "draining",
        "drain_requested",
        "started_at",
        "last_seen",
    )


@admin.register(Runner)
class RunnerAdmin(PageAdmin):
    """Worker groups and agents."""

    list_display = ("name", "kind", shown("source_roots"), "dead_since", "created_at")
    list_filter = ("kind",)
    search_fields = ("name",)
    inlines = (WorkerProcessInline,)
    fields = readonly_fields = ("id", "name", "kind", shown("source_roots"), "dead_since", "created_at")


@admin.register(WorkerProcess)
class WorkerProcessAdmin(PageAdmin):
    """Who takes runs, and when each was last seen."""

    list_display = (
        shown("host"),
        "process_id",
        "runner",
        "slots",
        "draining",
        "drain_requested",
        "started_at",
        "last_seen",
    )
    list_select_related = ("runner",)
    search_fields = ("host", "runner__name")
    fields = readonly_fields = list_display


@admin.register(Source)
class SourceAdmin(PageAdmin):
    """Everything that jobs back up, once per runner."""

    list_display = (shown("shown", "source", order="shown"), "type", "runner", "max_concurrent_runs", "created_at")
    list_filter = ("type",)
    list_select_related = ("runner",)
    search_fields = ("shown",)
    fields = readonly_fields = ("id", shown("shown", "source"), "type", "runner", "max_concurrent_runs", "created_at")

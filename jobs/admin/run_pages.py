"""Admin pages of runs, their sources and their events. The log is read over the API, where it is bounded."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from jobs.admin.marks import marked
from jobs.models import Run, RunEvent, TaskRun
from jobs.sentences import held_sentence, is_postponed, postponed_sentence
from repositories.engine.display import show_bytes
from syncova_project import clock
from syncova_project.log import single_line
from syncova_project.read_only_admin import ReadOnlyAdmin, ReadOnlyInline, shown


class TaskRunInline(ReadOnlyInline):
    """What became of each source of the run."""

    model = TaskRun
    fields = readonly_fields = (
        "position",
        shown("source__shown", "source"),
        "state",
        "mode",
        "files",
        "skipped",
        "warnings",
        "bytes_read",
        "bytes_stored",
        shown("backup_id"),
        shown("error_code"),
        shown("error_message"),
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Load the sources with their tasks."""
        return super().get_queryset(request).select_related("source")


class RunEventInline(ReadOnlyInline):
    """What happened to the run, in order."""

    model = RunEvent
    fields = readonly_fields = ("at", "code", "from_state", "to_state", "fence", shown("actor"), shown("parameters"))


@admin.register(Run)
class RunAdmin(ReadOnlyAdmin):
    """Runs, newest first."""

    list_display = (
        "created_at",
        shown("job__name", "job"),
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
    list_filter = ("state", "kind", "trigger", "failure_class")
    list_select_related = ("job",)
    search_fields = ("job__name", "error_code", "error_message", "worker")
    inlines = (TaskRunInline, RunEventInline)
    fields = readonly_fields = (
        "id",
        shown("job__name", "job"),
        shown("repository__name", "repository"),
        shown("runner__name", "worker group"),
        "kind",
        "trigger",
        shown("requested_by"),
        "mark",
        "attempt",
        "fence",
        shown("held_code", "waits for"),
        shown("held_subject", "waits on"),
        "waits_because",
        "held_since",
        "scheduled_for",
        "not_before",
        "admitted_at",
        "started_at",
        "heartbeat_at",
        "finished_at",
        shown("worker"),
        shown("progress"),
        "cancel_requested_at",
        "cancel_origin",
        shown("cancelled_by"),
        "failure_class",
        shown("error_code"),
        shown("error_message"),
        shown("error_hint"),
        shown("reason_code"),
        shown("reason_parameters"),
        "files",
        "skipped",
        "warnings",
        "logical_bytes",
        "bytes_read",
        "bytes_stored",
    )

    @admin.display(description="state", ordering="state")
    def mark(self, run: Run) -> str:
        """Show the state as symbol and word."""
        return marked(run.state)

    @admin.display(description="waits because")
    def waits_because(self, run: Run) -> str:
        """Say why the run waits, and until when where that is known."""
        why = postponed_sentence(run) if is_postponed(run, clock.now()) else held_sentence(run)
        return single_line(why) or "-"

    @admin.display(description="stored", ordering="bytes_stored")
    def stored(self, run: Run) -> str:
        """Show what the run added to the repository."""
        return show_bytes(run.bytes_stored)


@admin.register(TaskRun)
class TaskRunAdmin(ReadOnlyAdmin):
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
    list_filter = ("state", "mode")
    list_select_related = ("source",)
    search_fields = ("source__shown", "backup_id", "error_code", "error_message")
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

    @admin.display(description="state", ordering="state")
    def mark(self, task: TaskRun) -> str:
        """Show the state as symbol and word."""
        return marked(task.state)


@admin.register(RunEvent)
class RunEventAdmin(ReadOnlyAdmin):
    """Events of all runs, newest first."""

    ordering = ("-id",)
    list_display = ("at", "run_id", "code", "from_state", "to_state", "fence", shown("actor"))
    list_filter = ("code",)
    search_fields = ("code", "actor")
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

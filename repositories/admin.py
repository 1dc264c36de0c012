"""Admin pages of repositories, their freeze journal and the references to backups. Shows no sealed secret."""

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from repositories.engine.display import show_bytes
from repositories.models import Backup, Repository, RepositoryFreeze
from repositories.selectors import accepts_backups, repositories_visible
from syncova_project.log import single_line
from syncova_project.read_only_admin import ReadOnlyAdmin, ReadOnlyInline, shown


class FreezeInline(ReadOnlyInline):
    """The freeze journal of one repository."""

    model = RepositoryFreeze
    fields = readonly_fields = (
        "frozen_at",
        shown("frozen_by"),
        shown("reason"),
        "run_id",
        "cleared_at",
        shown("cleared_by"),
    )


@admin.register(Repository)
class RepositoryAdmin(ReadOnlyAdmin):
    """Repositories with what they accept and why not."""

    list_display = (shown("name", order="name"), shown("location"), "worker_group", "state", "accepts", "created_at")
    list_filter = ("state", "worker_group")
    search_fields = ("name", "location", "repository_id")
    inlines = (FreezeInline,)
    fields = readonly_fields = (
        "id",
        shown("name"),
        shown("location"),
        "worker_group",
        "state",
        shown("state_code"),
        shown("state_reason"),
        "accepts",
        "repository_id",
        "observed_repository_id",
        "observed_at",
        "max_concurrent_runs",
        "serial_gate",
        "fence_intended",
        "fence_confirmed",
        "created_at",
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[Repository]:
        """Load open freezes with the rows, so that a page costs a fixed number of queries."""
        ordering = self.get_ordering(request)
        return repositories_visible().order_by(*ordering) if ordering else repositories_visible()

    @admin.display(description="accepts backups")
    def accepts(self, repository: Repository) -> str:
        """Say yes, or why not."""
        accepted, reason = accepts_backups(repository)
        return "✓ yes" if accepted else f"✗ {single_line(reason)}"


@admin.register(RepositoryFreeze)
class RepositoryFreezeAdmin(ReadOnlyAdmin):
    """The whole journal, newest first."""

    list_display = (
        "frozen_at",
        shown("repository__name", "repository"),
        shown("reason"),
        shown("frozen_by"),
        "cleared_at",
    )
    list_filter = (("cleared_at", admin.EmptyFieldListFilter),)
    list_select_related = ("repository",)
    search_fields = ("reason", "repository__name")
    fields = readonly_fields = (
        shown("repository__name", "repository"),
        "frozen_at",
        shown("frozen_by"),
        shown("reason"),
        "run_id",
        "cleared_at",
        shown("cleared_by"),
    )


@admin.register(Backup)
class BackupAdmin(ReadOnlyAdmin):
    """References to backups, newest first; the repository itself is the truth."""

    list_display = (
        "backup_id",
        shown("repository__name", "repository"),
        shown("source_name", "source"),
        "mode",
        "logical",
        "stored",
        "skipped",
        "warnings",
        "created_at",
    )
    list_filter = ("mode", "repository")
    list_select_related = ("repository",)
    search_fields = ("backup_id", "source_name", "manifest_id")
    fields = readonly_fields = (
        "backup_id",
        shown("repository__name", "repository"),
        shown("source_name", "source"),
        "run_id",
        "task_run_id",
        "manifest_id",
        "chain",
        "mode",
        shown("parent"),
        "logical_bytes",
        "bytes_read",
        "bytes_stored",
        "files",
        "skipped",
        "warnings",
        "created_at",
    )

    @admin.display(description="size", ordering="logical_bytes")
    def logical(self, backup: Backup) -> str:
        """Show the full size of what the backup describes."""
        return show_bytes(backup.logical_bytes)

    @admin.display(description="stored", ordering="bytes_stored")
    def stored(self, backup: Backup) -> str:
        """Show what it added to the repository."""
        return show_bytes(backup.bytes_stored)

"""Admin pages of repositories and of the references to backups. Shows no sealed secret.

They stand here, since they tell of runs: how much the newest check has proven, and what can be asked of them.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from django.contrib import admin
from django.db.models import OuterRef, Q, QuerySet, Subquery
from django.http import HttpRequest

from jobs.admin.job_panels import changes_panel, runs_panel
from jobs.admin.marks import marked
from jobs.admin.repository_actions import BACKUP_ACTIONS, REPOSITORY_ACTIONS
from jobs.models import Run, Source
from jobs.proof import newest_check, proof_told
from repositories.engine.display import show_bytes
from repositories.models import Backup, Repository
from repositories.selectors import accepts_backups, freeze_journal, repositories_visible
from syncova_project.admin_pages.lists import HistoryList
from syncova_project.admin_pages.pages import PageAdmin, address_of, list_address
from syncova_project.admin_pages.panels import Cell, Panel, link, row
from syncova_project.log import single_line
from syncova_project.paging import Ordering
from syncova_project.read_only_admin import shown

_MOST_FOUND: Final = 1000
_FREEZES: Final = 20


@admin.register(Repository)
class RepositoryAdmin(PageAdmin):
    """Repositories with their state, what they accept and why not, and how much of them is proven."""

    list_display = (
        shown("name", order="name"),
        shown("location"),
        "worker_group",
        "mark",
        "accepts",
        "proven",
        "created_at",
    )
    list_filter = ("state",)
    search_fields = ("name", "location", "repository_id")
    page_actions = REPOSITORY_ACTIONS
    fields = readonly_fields = (
        "id",
        shown("name"),
        shown("location"),
        "worker_group",
        "mark",
        shown("state_code"),
        shown("state_reason"),
        "accepts",
        "proven",
        "repository_id",
        "observed_repository_id",
        "observed_at",
        shown("trouble_code"),
        shown("trouble_reason"),
        "trouble_at",
        shown("reindex_reason"),
        "max_concurrent_runs",
        "serial_gate",
        "fence_intended",
        "fence_confirmed",
        "created_at",
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[Repository]:
        """Load open freezes and the newest check with the rows, so that a page costs a fixed number of queries."""
        rows = repositories_visible().annotate(newest_check=Subquery(newest_check(OuterRef("pk"))))
        ordering = self.get_ordering(request)
        return rows.order_by(*ordering) if ordering else rows

    def headline(self, obj: Any) -> Sequence[str]:
        """Say how the repository stands, what it accepts and how much of it is proven."""
        return [self.mark(obj), f"Accepts backups: {self.accepts(obj)}", f"Proven: {self.proven(obj)}"]

    def panels(self, request: HttpRequest, obj: Any) -> Sequence[Panel]:
        """Show its freezes and latest runs."""
        every = Cell("All runs on this repository", list_address("jobs.run", repository__id__exact=obj.pk))
        backups = Cell("Backups in it", list_address("repositories.backup", repository__id__exact=obj.pk))
        return [
            _freezes(obj),
            runs_panel(Run.objects.filter(repository=obj), every),
            Panel("backups", "Backups", more=backups),
            changes_panel("repository", obj.pk),
        ]

    @admin.display(description="state", ordering="state")
    def mark(self, repository: Repository) -> str:
        """Show the state as symbol and word."""
        return marked(repository.state)

    @admin.display(description="accepts backups")
    def accepts(self, repository: Repository) -> str:
        """Say yes, or why not."""
        accepted, reason = accepts_backups(repository)
        return "✓ yes" if accepted else f"✗ {single_line(reason)}"

    @admin.display(description="proven")
    def proven(self, repository: Any) -> str:
        """Say which share of its data checks have read whole and found good."""
        return proven_share(repository.newest_check)


def _freezes(repository: Repository) -> Panel:
    shown_rows = [
        row(
            "✓ cleared" if one.cleared_at else "✗ open",
            one.frozen_at,
            one.frozen_by,
            one.reason,
            one.cleared_at,
            one.cleared_by,
        )
        for one in freeze_journal(repository.pk)[:_FREEZES]
    ]
    journal = list_address("repositories.repositoryfreeze", repository__id__exact=repository.pk)
    every = Cell("All freezes of this repository", journal)
    headings = ("state", "frozen", "by", "reason", "cleared", "by")
    note = "" if shown_rows else "It was never frozen."
    return Panel("freezes", "Freezes", headings, shown_rows, note, every if shown_rows else None)


def proven_share(check: object) -> str:
    """Return the proven share by what the newest check told, None where none has ended."""
    if not isinstance(check, Mapping):
        return "✗ nothing: it was never checked"
    proof = proof_told(check)
    if proof is None or proof.percent is None:
        return "✗ unknown: the newest check told nothing of it"
    told = f"{proof.percent} % of {show_bytes(proof.bytes)}"
    if proof.oldest_verified_at:
        told += f", read since {single_line(proof.oldest_verified_at)[:10]}"
    return f"✓ all: {told}" if proof.percent == 100 else f"◐ a part: {told}"


class OfRepository(admin.RelatedFieldListFilter):
    """Backups by their repository, of those that the person sees."""

    def field_choices(self, field: Any, request: HttpRequest, model_admin: Any) -> Any:
        """Return the names of what is seen alone."""
        named = repositories_visible().order_by("name").values_list("id", "name")
        return [(key, single_line(name)) for key, name in named]


@admin.register(Backup)
class BackupAdmin(HistoryList, PageAdmin):
    """References to backups, newest first; the repository itself is the truth."""

    keyset = Ordering("-created_at", "created_at", descending=True)
    lookups = ("repository__id__exact", "run_id", "job_id")
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
    list_filter = (("repository", OfRepository),)
    list_select_related = ("repository",)
    search_fields = ("backup_id", "manifest_id", "source_name")
    search_help_text = "The whole id of a backup or manifest, or a part of a source."
    page_actions = BACKUP_ACTIONS
    fields = readonly_fields = (
        "backup_id",
        shown("source_name", "source"),
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

    def get_queryset(self, request: HttpRequest) -> QuerySet[Backup]:
        """Load each with its repository."""
        rows: QuerySet[Backup] = super().get_queryset(request)
        return rows.select_related("repository")

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Backup], search_term: str
    ) -> tuple[QuerySet[Backup], bool]:
        """Return the backups that have the id, or the manifest, or are of a source with the text in its name."""
        if not search_term:
            return queryset, False
        word = search_term.strip()
        named = Q(backup_id=word, repository__in=list(Repository.objects.values_list("pk", flat=True)))
        sources = Source.objects.filter(shown__icontains=word).values_list("pk", flat=True)[:_MOST_FOUND]
        return queryset.filter(named | Q(manifest_id=word) | Q(source_id__in=list(sources))), False

    def headline(self, obj: Any) -> Sequence[str]:
        """Say whether the backup is whole."""
        if obj.skipped:
            return [f"◐ partial: {obj.skipped} objects were skipped"]
        return ["✓ complete"]

    def panels(self, request: HttpRequest, obj: Any) -> Sequence[Panel]:
        """Lead to its repository, run and job."""
        lines = [row("repository", link(obj.repository.name, address_of("repositories.repository", obj.repository_id)))]
        if obj.run_id and Run.objects.filter(pk=obj.run_id).exists():
            lines.append(row("run", link(str(obj.run_id), address_of("jobs.run", obj.run_id))))
        return [Panel("about", "Where it is from", rows=lines)]

    @admin.display(description="size")
    def logical(self, backup: Backup) -> str:
        """Show the full size of what the backup describes."""
        return show_bytes(backup.logical_bytes)

    @admin.display(description="stored")
    def stored(self, backup: Backup) -> str:
        """Show what it added to the repository."""
        return show_bytes(backup.bytes_stored)

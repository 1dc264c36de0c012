"""Admin pages of upkeep plans and of what became of their instants."""

from django.contrib import admin

from jobs.models import UpkeepDecision, UpkeepPlan
from syncova_project.admin_pages.lists import HistoryList
from syncova_project.admin_pages.pages import PageAdmin
from syncova_project.read_only_admin import shown


@admin.register(UpkeepPlan)
class UpkeepPlanAdmin(PageAdmin):
    """Checks, prunes and deletions by what is due next."""

    list_display = (shown("repository__name", "repository"), "kind", shown("definition"), "next_at", "deleted_at")
    list_filter = ("kind",)
    list_select_related = ("repository",)
    search_fields = ("repository__name",)
    fields = readonly_fields = (
        "id",
        shown("repository__name", "repository"),
        "kind",
        shown("definition"),
        shown("parameters"),
        "anchor",
        "next_at",
        shown("flag"),
        "created_at",
        "deleted_at",
    )


@admin.register(UpkeepDecision)
class UpkeepDecisionAdmin(HistoryList, PageAdmin):
    """Why instants did not become runs of their own, newest first."""

    lookups = ("outcome__exact",)
    list_display = (
        shown("upkeep__repository__name", "repository"),
        shown("upkeep__kind", "kind"),
        "first_at",
        "last_at",
        "count",
        "outcome",
        shown("reason_code"),
    )
    list_filter = ("outcome",)
    list_select_related = ("upkeep__repository",)
    search_fields = ("upkeep__repository__name", "reason_code")
    fields = readonly_fields = (
        shown("upkeep__repository__name", "repository"),
        shown("upkeep__kind", "kind"),
        "first_at",
        "last_at",
        "count",
        "count_is_minimum",
        "outcome",
        shown("reason_code"),
        "run_id",
        "created_at",
    )

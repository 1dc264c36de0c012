"""Admin page of the freeze journal. Pages of repositories and backups stand where runs are known: in jobs.admin."""

from django.contrib import admin

from repositories.models import RepositoryFreeze
from syncova_project.admin_pages.lists import HistoryList
from syncova_project.admin_pages.pages import PageAdmin
from syncova_project.read_only_admin import shown


@admin.register(RepositoryFreeze)
class RepositoryFreezeAdmin(HistoryList, PageAdmin):
    """The whole journal, newest first."""

    lookups = ("cleared_at__isempty", "repository__id__exact")
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

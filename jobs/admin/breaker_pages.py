"""Admin pages of the circuit breakers of repositories."""

from django.contrib import admin

from jobs.models import RepositoryBreaker
from syncova_project.admin_pages.pages import PageAdmin
from syncova_project.read_only_admin import shown


@admin.register(RepositoryBreaker)
class RepositoryBreakerAdmin(PageAdmin):
    """How often in a row runs failed because of each repository, and until when the others wait."""

    list_display = (
        shown("repository__name", "repository"),
        "failures",
        shown("error_code", "last failure"),
        "open_until",
        "updated_at",
    )
    list_select_related = ("repository",)
    search_fields = ("repository__name", "error_code")
    fields = readonly_fields = (
        shown("repository__name", "repository"),
        "failures",
        shown("error_code", "last failure"),
        "trips",
        "open_until",
        "updated_at",
    )

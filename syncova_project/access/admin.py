"""Admin pages of access control: which tokens there are and what was done. Shows no digest and no kept answer."""

from typing import Final

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest

from syncova_project.access import (
    people_admin,  # noqa: F401 - its pages take the place of Django's
    selectors,  # noqa: F401 - says which entries are seen
)
from syncova_project.access.models import ApiToken, AuditEntry, AuditSeal
from syncova_project.admin_pages.lists import HistoryList
from syncova_project.admin_pages.pages import PageAdmin
from syncova_project.paging import Ordering
from syncova_project.read_only_admin import shown

# An id alone has no index: it is looked for among things of every kind.
_SUBJECTS: Final = ("job", "repository", "run", "runner", "token", "user", "group", "window", "worker")


@admin.register(ApiToken)
class ApiTokenAdmin(PageAdmin):
    """Tokens by their public prefix; made and revoked with `manage token_create` and `token_revoke`."""

    list_display = ("prefix", shown("name", order="name"), shown("scopes"), "last_used_at", "expires_at", "revoked_at")
    search_fields = ("name", "prefix")
    fields = readonly_fields = (
        "prefix",
        shown("name"),
        shown("scopes"),
        shown("worker_groups"),
        shown("user__username", "person"),
        shown("parent__prefix", "made with"),
        "created_at",
        "last_used_at",
        "expires_at",
        "revoked_at",
    )


@admin.register(AuditEntry)
class AuditEntryAdmin(HistoryList, PageAdmin):
    """Who did what, newest first."""

    keyset = Ordering("-at", "at", descending=True)
    lookups = ("actor", "action", "subject_type", "subject_id")
    list_display = ("at", shown("actor"), shown("action"), shown("subject_type"), shown("subject_id"), "address")
    search_fields = ("actor", "action", "subject_id")
    search_help_text = "The whole name of who acted (user:admin), of an action (job.change), or the id of a thing."
    fields = readonly_fields = (
        "at",
        shown("actor"),
        shown("action"),
        shown("subject_type"),
        shown("subject_id"),
        shown("details_seen", "details"),
        shown("request_id"),
        shown("address"),
    )

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[AuditEntry], search_term: str
    ) -> tuple[QuerySet[AuditEntry], bool]:
        """Return the entries by whole words, each of which has an index."""
        if not search_term:
            return queryset, False
        word = search_term.strip()
        named = Q(actor=word) | Q(action=word) | Q(subject_type__in=_SUBJECTS, subject_id=word)
        return queryset.filter(named), False


@admin.register(AuditSeal)
class AuditSealAdmin(PageAdmin):
    """The chain over the audit trail; `manage verify_audit` proves it."""

    list_display = ("position", "entry_id", "sealed_at")
    search_fields = ("=position", "=entry_id")
    fields = readonly_fields = ("position", "entry_id", "sealed_at")

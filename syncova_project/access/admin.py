"""Admin pages of access control: which tokens there are and what was done. Shows no digest and no kept answer."""

from django.contrib import admin

from syncova_project.access import people_admin  # noqa: F401 - its pages take the place of Django's
from syncova_project.access.models import ApiToken, AuditEntry, AuditSeal
from syncova_project.read_only_admin import ReadOnlyAdmin, shown


@admin.register(ApiToken)
class ApiTokenAdmin(ReadOnlyAdmin):
    """Tokens by their public prefix; made and revoked with `manage token_create` and `token_revoke`."""

    list_display = ("prefix", shown("name", order="name"), shown("scopes"), "last_used_at", "expires_at", "revoked_at")
    search_fields = ("name", "prefix")
    fields = readonly_fields = (
        "prefix",
        shown("name"),
        shown("scopes"),
        "created_at",
        "last_used_at",
        "expires_at",
        "revoked_at",
    )


@admin.register(AuditEntry)
class AuditEntryAdmin(ReadOnlyAdmin):
    """Who did what, newest first."""

    list_display = ("at", shown("actor"), shown("action"), shown("subject_type"), shown("subject_id"), "address")
    list_filter = ("subject_type",)
    search_fields = ("actor", "action", "subject_id", "request_id")
    fields = readonly_fields = (
        "at",
        shown("actor"),
        shown("action"),
        shown("subject_type"),
        shown("subject_id"),
        shown("details"),
        shown("request_id"),
        shown("address"),
    )


@admin.register(AuditSeal)
class AuditSealAdmin(ReadOnlyAdmin):
    """The chain over the audit trail; `manage verify_audit` proves it."""

    list_display = ("position", "entry_id", "sealed_at")
    search_fields = ("=position", "=entry_id")
    fields = readonly_fields = ("position", "entry_id", "sealed_at")

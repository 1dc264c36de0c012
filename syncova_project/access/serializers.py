"""Bodies and query parameters of the API of access control, and its rows as JSON.

Owns names, forms and bounds of what may be sent in. Shows no digest and no secret.
"""

from typing import Any, Final

from rest_framework import serializers

from syncova_project.access.models import ApiToken, AuditEntry
from syncova_project.access.scopes import ALL_SCOPES
from syncova_project.instant_field import InstantField
from syncova_project.instants import instant
from syncova_project.paging import DEFAULT_LIMIT, MAX_LIMIT
from syncova_project.rest import Choice, PlainName, StrictSerializer

_MAX_WORDS: Final = 300


class AuditFilter(StrictSerializer):
    """The query parameters of GET /audit: `since` is within, `until` no longer."""

    actor = serializers.CharField(max_length=_MAX_WORDS, required=False)
    action = serializers.CharField(max_length=_MAX_WORDS, required=False)
    subject_type = serializers.CharField(max_length=_MAX_WORDS, required=False)
    subject_id = serializers.CharField(max_length=_MAX_WORDS, required=False)
    since = InstantField(required=False)
    until = InstantField(required=False)
    cursor = serializers.CharField(max_length=2000, default="")
    limit = serializers.IntegerField(min_value=1, max_value=MAX_LIMIT, default=DEFAULT_LIMIT)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Refuse an id without its kind: an id alone names nothing."""
        if "subject_id" in attrs and "subject_type" not in attrs:
            raise serializers.ValidationError({"subject_type": ["Is needed beside subject_id."]})
        return attrs


class TokenBody(StrictSerializer):
    """The body of POST /tokens; without `expires_at` a token ends with the one that made it, or never.

    `worker_groups` are those whose repositories it sees, null all that its maker sees.
    """

    name = PlainName(max_length=200)
    scopes = serializers.ListField(child=Choice(ALL_SCOPES), min_length=1, max_length=len(ALL_SCOPES))
    expires_at = InstantField(required=False, allow_null=True, default=None)
    worker_groups = serializers.ListField(
        child=serializers.CharField(max_length=100), min_length=1, max_length=100, allow_null=True, default=None
    )


class PageFilter(StrictSerializer):
    """What a list takes."""

    cursor = serializers.CharField(max_length=2000, default="")
    limit = serializers.IntegerField(min_value=1, max_value=MAX_LIMIT, default=DEFAULT_LIMIT)


def token_json(token: ApiToken) -> dict[str, Any]:
    """Return a token by its public part, which is its id."""
    return {
        "id": token.prefix,
        "name": token.name,
        "scopes": token.scopes,
        "worker_groups": token.worker_groups,
        "created_at": instant(token.created_at),
        "expires_at": instant(token.expires_at),
        "last_used_at": instant(token.last_used_at),
        "revoked_at": instant(token.revoked_at),
    }


def audit_json(entry: AuditEntry) -> dict[str, Any]:
    """Return one entry of the audit trail, as the caller may read it."""
    return {
        "id": entry.pk,
        "at": instant(entry.at),
        "actor": entry.actor,
        "action": entry.action,
        "subject_type": entry.subject_type,
        "subject_id": entry.subject_id,
        "details": entry.details_seen,
        "request_id": entry.request_id,
        "address": entry.address,
    }

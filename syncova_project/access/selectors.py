"""Reads of access control: which token is it, and what the audit trail says.

Owns the look-up of a presented token. Writes nothing but the time of last use.
"""

import datetime as dt
import functools
import operator
from collections.abc import Mapping
from typing import Any

from django.db.models import Q, QuerySet

from syncova_project.access.models import ApiToken, AuditEntry
from syncova_project.access.principals import Principal
from syncova_project.access.tokens import make_token, parse_token
from syncova_project.access.visibility import SEEN, SUBJECTS, visible_groups

USE_IS_NOTED_EVERY = dt.timedelta(minutes=1)


def token_find(*, text: str, now: dt.datetime) -> ApiToken | None:
    """Return the live token that `text` proves, or None: unknown, wrong, expired and revoked look the same.

    An unknown prefix costs the same comparison as a known one, so that answers' times tell nothing.
    """
    plain = parse_token(text)
    if plain is None:
        return None
    token = ApiToken.objects.select_related("user").filter(prefix=plain.prefix).first()
    proven = plain.matches(bytes(token.digest) if token else make_token().digest)
    if token is None or not proven or not is_live(token, now):
        return None
    _note_use(token, now)
    return token


def audit_matching(filters: Mapping[str, Any]) -> QuerySet[AuditEntry]:
    """Return the entries that all the given filters let through: whole words, and a half-open stretch of time."""
    found = AuditEntry.objects.all()
    for name in ("actor", "action", "subject_type", "subject_id"):
        if name in filters:
            found = found.filter(**{name: filters[name]})
    if "since" in filters:
        found = found.filter(at__gte=filters["since"])
    if "until" in filters:
        found = found.filter(at__lt=filters["until"])
    return entries_visible(found)


def entries_visible(found: QuerySet[AuditEntry]) -> QuerySet[AuditEntry]:
    """Return those of the entries that the caller sees."""
    if visible_groups() is None:
        return found
    # What belongs to no repository is nobody's who sees but some of them.
    seen = (Q(subject_type=kind) & of_kind() for kind, of_kind in SUBJECTS.items())
    return found.filter(functools.reduce(operator.or_, seen, Q(pk__in=[])))


def is_live(token: ApiToken, now: dt.datetime) -> bool:
    """Say whether the token is neither revoked nor expired, nor its person switched off."""
    if token.revoked_at is not None or (token.user is not None and not token.user.is_active):
        return False
    return token.expires_at is None or token.expires_at > now


def own_tokens(principal: Principal) -> QuerySet[ApiToken]:
    """Return a person's tokens, or a token itself and those that were made with it: not its owner's others."""
    if principal.token is None:
        return ApiToken.objects.filter(user_id=principal.user_id) if principal.user_id else ApiToken.objects.none()
    return ApiToken.objects.filter(Q(pk=principal.token.pk) | Q(parent_id=principal.token.pk))


def _note_use(token: ApiToken, now: dt.datetime) -> None:
    # Once a minute at most: a busy client must not turn every read into a write of the same row.
    stale = Q(last_used_at__isnull=True) | Q(last_used_at__lt=now - USE_IS_NOTED_EVERY)
    if token.last_used_at is None or token.last_used_at < now - USE_IS_NOTED_EVERY:
        ApiToken.objects.filter(stale, pk=token.pk).update(last_used_at=now)


SEEN["access.auditentry"] = entries_visible

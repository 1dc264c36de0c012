"""Writes of access control: tokens made and revoked, audit entries.

Owns the rule that the acting transaction also writes the audit entry: these functions open no transaction that
could commit without the caller's. Never logs or returns a secret but the one new token of `token_create`.
"""

import datetime as dt
import uuid
from collections.abc import Mapping, Sequence
from typing import ClassVar

from django.db import transaction

from syncova_project.access.models import ApiToken, AuditEntry
from syncova_project.access.origin import current_origin
from syncova_project.access.principals import Principal
from syncova_project.access.scopes import ALL_SCOPES
from syncova_project.access.tokens import make_token
from syncova_project.errors import NotFoundError, PermissionDeniedError, ValidationFailedError
from syncova_project.instants import instant


class TokenNotFoundError(NotFoundError):
    """No token has the given prefix."""

    code: ClassVar[str] = "TOKEN_NOT_FOUND"


def audit_record(
    *,
    actor: str,
    action: str,
    subject_type: str,
    subject_id: uuid.UUID | str,
    now: dt.datetime,
    details: Mapping[str, object] | None = None,
) -> AuditEntry:
    """Write one entry of the audit trail, within the caller's transaction (E3).

    `action` is `<noun>.<verb>`, `subject_type` the noun in the singular; `details` holds JSON values, never a secret.
    """
    origin = current_origin()
    return AuditEntry.objects.create(
        at=now,
        actor=actor,
        action=action,
        subject_type=subject_type,
        subject_id=str(subject_id),
        details=dict(details or {}),
        request_id=origin.request_id,
        address=origin.address,
    )


def token_create(
    *,
    name: str,
    scopes: Sequence[str],
    now: dt.datetime,
    actor: str = "system",
    expires_at: dt.datetime | None = None,
    maker: Principal | None = None,
) -> tuple[ApiToken, str]:
    """Make a token and return its row and its text, which nothing can show again.

    One that a `maker` makes is theirs: it may no more than they, and ends no later than the token it was made with.
    Raises ValidationFailedError, PermissionDeniedError.
    """
    unknown = sorted(set(scopes) - set(ALL_SCOPES))
    if unknown or not scopes or not name.strip():
        raise ValidationFailedError(
            "A token needs a name and at least one known right.",
            hint=f"Known rights: {', '.join(ALL_SCOPES)}.",
            details={"scopes": unknown} if unknown else {},
        )
    if maker is not None:
        expires_at = _bounded(maker, scopes, expires_at)
    if expires_at is not None and expires_at <= now:
        sentence = "Has to lie ahead."
        raise ValidationFailedError(f"expires_at: {sentence}", details={"expires_at": [sentence]})
    plain = make_token()
    with transaction.atomic():
        token = ApiToken.objects.create(
            name=name,
            prefix=plain.prefix,
            digest=plain.digest,
            scopes=sorted(set(scopes)),
            created_at=now,
            expires_at=expires_at,
            user_id=maker.user_id if maker else None,
            parent=maker.token if maker else None,
        )
        audit_record(
            actor=actor,
            action="token.create",
            subject_type="token",
            subject_id=plain.prefix,
            now=now,
            details={"name": name, "scopes": token.scopes, "expires_at": instant(expires_at)},
        )
    return token, plain.text


def token_revoke(*, prefix: str, actor: str, now: dt.datetime) -> ApiToken:
    """Revoke a token for good, and all that were made with it; repeating it changes nothing."""
    with transaction.atomic():
        token = ApiToken.objects.select_for_update().filter(prefix=prefix).first()
        if token is None:
            raise no_such_token(prefix)
        ends = [token]
        while ends:
            _revoke(ends, actor, now)
            ends = list(ApiToken.objects.select_for_update().filter(parent__in=ends).order_by("id"))
    return token


def token_widen(*, token: ApiToken, scopes: Sequence[str], now: dt.datetime) -> None:
    """Give a token of this machine's own the rights that a new version brought."""
    with transaction.atomic():
        before, token.scopes = token.scopes, sorted(scopes)
        token.save(update_fields=["scopes"])
        told = {"before": before, "after": token.scopes}
        audit_record(
            actor="system", action="token.widen", subject_type="token", subject_id=token.prefix, now=now, details=told
        )


def no_such_token(prefix: str) -> TokenNotFoundError:
    """Return the error for a token that is not there, or not the caller's."""
    return TokenNotFoundError(f"There is no token {prefix!r}.", hint="List the tokens with: manage token_list")


def _revoke(tokens: Sequence[ApiToken], actor: str, now: dt.datetime) -> None:
    for token in tokens:
        if token.revoked_at is None:
            token.revoked_at = now
            token.save(update_fields=["revoked_at"])
            audit_record(actor=actor, action="token.revoke", subject_type="token", subject_id=token.prefix, now=now)


def _bounded(maker: Principal, scopes: Sequence[str], expires_at: dt.datetime | None) -> dt.datetime | None:
    """Refuse rights that the maker lacks; return when the token ends at the latest."""
    lacking = sorted(set(scopes) - maker.scopes)
    if lacking:
        raise PermissionDeniedError(
            "A token may no more than who makes it.",
            hint="Leave out the rights in details, or ask somebody who has them.",
            details={"lacking": lacking},
        )
    ends = maker.token.expires_at if maker.token else None
    return min((one for one in (ends, expires_at) if one is not None), default=None)

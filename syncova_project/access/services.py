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
from syncova_project.access.visibility import sees, unknown_groups
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
    maker: Principal | str = "system",
    expires_at: dt.datetime | None = None,
    worker_groups: Sequence[str] | None = None,
) -> tuple[ApiToken, str]:
    """Make a token and return its row and its text, which nothing can show again.

    One that a caller makes is theirs: it may and sees no more than they, and ends no later than what made it.
    Raises ValidationFailedError, PermissionDeniedError.
    """
    _check_rights(name, scopes)
    caller = None if isinstance(maker, str) else maker
    # Groups are written in small letters everywhere.
    worker_groups = None if worker_groups is None else sorted({group.lower() for group in worker_groups})
    if caller is not None:
        expires_at = _bounded(caller, scopes, expires_at)
        _check_seen(caller, worker_groups)
    _check_groups(worker_groups)
    if caller is not None and worker_groups is None and caller.groups is not None:
        worker_groups = sorted(caller.groups)
    _check_end(expires_at, now)
    plain = make_token()
    with transaction.atomic():
        token = ApiToken.objects.create(
            name=name,
            prefix=plain.prefix,
            digest=plain.digest,
            scopes=sorted(set(scopes)),
            worker_groups=worker_groups,
            created_at=now,
            expires_at=expires_at,
            user_id=caller.user_id if caller else None,
            parent=caller.token if caller else None,
        )
        _record_token(token, maker if isinstance(maker, str) else maker.actor)
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
    hint = "List yours with: GET /api/v1/tokens; all there are with: ./syncova manage token_list"
    return TokenNotFoundError(f"There is no token {prefix!r}.", hint=hint)


def _record_token(token: ApiToken, actor: str) -> None:
    audit_record(
        actor=actor,
        action="token.create",
        subject_type="token",
        subject_id=token.prefix,
        now=token.created_at,
        details=_told(token),
    )


def _told(token: ApiToken) -> dict[str, object]:
    return {
        "name": token.name,
        "scopes": token.scopes,
        "worker_groups": token.worker_groups,
        "expires_at": instant(token.expires_at),
    }


def _check_rights(name: str, scopes: Sequence[str]) -> None:
    unknown = sorted(set(scopes) - set(ALL_SCOPES))
    if unknown or not scopes or not name.strip():
        raise ValidationFailedError(
            "A token needs a name and at least one known right.",
            hint=f"Known rights: {', '.join(ALL_SCOPES)}.",
            details={"scopes": unknown} if unknown else {},
        )


def _check_end(expires_at: dt.datetime | None, now: dt.datetime) -> None:
    if expires_at is not None and expires_at <= now:
        sentence = "Has to lie ahead."
        raise ValidationFailedError(f"expires_at: {sentence}", details={"expires_at": [sentence]})


def _check_groups(worker_groups: Sequence[str] | None) -> None:
    """Refuse a group that nobody knows: a slip of the pen would make a token that sees nothing, without a word."""
    unknown, known = unknown_groups(worker_groups or ())
    if unknown:
        told = f"There is no worker group {', '.join(unknown)}."
        seen = ", ".join(name for name in known if sees(name))
        hint = f"Known: {seen}. A group is known once it has workers or repositories."
        raise ValidationFailedError(f"worker_groups: {told}", hint=hint, details={"worker_groups": [told]})


def _check_seen(maker: Principal, wanted: list[str] | None) -> None:
    """Refuse groups that the maker does not see."""
    unseen = sorted(set(wanted or ()) - maker.groups) if maker.groups is not None else []
    if unseen:
        raise PermissionDeniedError(
            "A token may see no more than who makes it.",
            hint="Leave out the groups in details.",
            details={"lacking": unseen},
        )


def _revoke(tokens: Sequence[ApiToken], actor: str, now: dt.datetime) -> None:
    for token in tokens:
        if token.revoked_at is None:
            token.revoked_at = now
            token.save(update_fields=["revoked_at"])
            audit_record(
                actor=actor,
                action="token.revoke",
                subject_type="token",
                subject_id=token.prefix,
                now=now,
                details=_told(token),
            )


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

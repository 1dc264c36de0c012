"""One answer per Idempotency-Key (E5): the key's row is inserted first, in the transaction that creates.

A rival with the same key waits for that transaction: it then reads the answer, or goes ahead after a rollback.
Owns the rows of keys; knows nothing of what is created. Only successes are kept, for a day.
"""

import datetime as dt
import hmac
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from django.conf import settings
from django.db import OperationalError, connection, transaction

from syncova_project.access.models import IdempotencyKey
from syncova_project.errors import ConflictError, ValidationFailedError

KEPT_FOR = dt.timedelta(hours=24)
RIVAL_WAITS = "5s"
MAX_KEY = 255
# The key's row is taken over once its answer is a day old; a younger one makes the statement return no row.
CLAIM = """
INSERT INTO idempotency_keys (principal, key, fingerprint, created_at) VALUES (%s, %s, %s, %s)
ON CONFLICT (principal, key) DO UPDATE
    SET fingerprint = excluded.fingerprint, created_at = excluded.created_at, status = NULL, answer = NULL
    WHERE idempotency_keys.created_at < %s
RETURNING id
"""
# Each claim drops a few rows that nobody may ask for any more, so that the table stays as large as a day.
FORGET = """
DELETE FROM idempotency_keys WHERE id IN (
    SELECT id FROM idempotency_keys WHERE created_at < %s ORDER BY created_at LIMIT 20 FOR UPDATE SKIP LOCKED
)
"""


class IdempotencyKeyReusedError(ConflictError):
    """The key was used for another request."""

    code: ClassVar[str] = "IDEMPOTENCY_KEY_REUSED"


class IdempotencyInProgressError(ConflictError):
    """The first request with the key is still being worked on."""

    code: ClassVar[str] = "IDEMPOTENCY_IN_PROGRESS"


class SecretAlreadyShownError(ConflictError):
    """The first answer held a secret, which is shown once and kept nowhere."""

    code: ClassVar[str] = "SECRET_ALREADY_SHOWN"


def secret_already_shown(location: str) -> SecretAlreadyShownError:
    """Return what answers a request whose first answer held a secret."""
    return SecretAlreadyShownError(
        "The answer to this Idempotency-Key held a secret, which was shown once.",
        hint="Delete the thing at the location in details, if the secret is lost, and ask anew with a new key.",
        details={"location": location},
    )


@dataclass(frozen=True, slots=True)
class KeyedRequest:
    """A request that carries a key: whose it is, and what it asks."""

    principal: str
    key: str
    method: str
    path: str
    body: bytes

    def fingerprint(self) -> bytes:
        """Return 32 bytes that tell this request from every other; keyed, since bodies may hold secrets."""
        parts = b"\0".join([self.method.encode(), self.path.encode(), self.body])
        return hmac.digest(settings.SECRET_KEY.encode(), b"syncova/idempotency/1\0" + parts, "sha256")


@dataclass(frozen=True, slots=True)
class KeptAnswer:
    """An answer, and whether it was given before."""

    status: int
    body: Any
    replayed: bool


def answer_once(*, request: KeyedRequest, create: Callable[[], tuple[int, Any]], now: dt.datetime) -> KeptAnswer:
    """Return `create`'s answer, or the one kept for the same key and request; all within one transaction.

    Raises IdempotencyKeyReusedError, IdempotencyInProgressError, ValidationFailedError; what `create` raises leaves
    no trace of the key.
    """
    _check_key(request.key)
    with transaction.atomic():
        row_id = _claim(request, now)
        if row_id is None:
            return _kept(request)
        status, body = create()
        IdempotencyKey.objects.filter(pk=row_id).update(status=status, answer=body)
    return KeptAnswer(status, body, replayed=False)


def _claim(request: KeyedRequest, now: dt.datetime) -> int | None:
    values: list[str | bytes | dt.datetime] = [
        request.principal,
        request.key,
        request.fingerprint(),
        now,
        now - KEPT_FOR,
    ]
    with connection.cursor() as cursor:
        cursor.execute(FORGET, [now - KEPT_FOR])
        cursor.execute(f"SET LOCAL lock_timeout = '{RIVAL_WAITS}'")
        try:
            with transaction.atomic():
                cursor.execute(CLAIM, values)
                row = cursor.fetchone()
        except OperationalError as error:
            if getattr(error.__cause__, "pgcode", None) != "55P03":
                raise
            raise _in_progress() from error
        cursor.execute("SET LOCAL lock_timeout TO DEFAULT")
    return row[0] if row else None


def _kept(request: KeyedRequest) -> KeptAnswer:
    row = IdempotencyKey.objects.filter(principal=request.principal, key=request.key).first()
    if row is None:
        # Its day was just over for somebody whose clock is a moment ahead.
        raise _in_progress()
    if not hmac.compare_digest(bytes(row.fingerprint), request.fingerprint()) or row.status is None:
        raise IdempotencyKeyReusedError(
            "This Idempotency-Key was used for another request.", hint="Use a new key for a new request."
        )
    return KeptAnswer(row.status, row.answer, replayed=True)


def _in_progress() -> IdempotencyInProgressError:
    return IdempotencyInProgressError(
        "The first request with this Idempotency-Key is still being worked on.",
        hint="Send the same request again in a few seconds.",
    )


def _check_key(key: str) -> None:
    if not 0 < len(key) <= MAX_KEY or not key.isascii() or not key.isprintable():
        sentence = f"Has to be 1 to {MAX_KEY} printable ASCII characters."
        raise ValidationFailedError(
            "The Idempotency-Key is not acceptable.", hint=sentence, details={"Idempotency-Key": [sentence]}
        )

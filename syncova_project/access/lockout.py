"""Logins that fail are counted, and after too many the next are refused unseen for a while.

Owns the counts and their limits: by name and address, by address, by name. In PostgreSQL, not in a cache: a flushed
cache would let guessing begin anew. An attempt is counted before the password is looked at, so that fifty at once
are no better than one after the other. Keys are digests: people type passwords into the field of the name.
"""

import datetime as dt
import hmac
from typing import Any, ClassVar, Final

from django.conf import settings
from django.contrib.auth.backends import ModelBackend
from django.db import connection
from django.db.models import F
from django.http import HttpRequest

from syncova_project import clock
from syncova_project.access.addresses import neighbourhood
from syncova_project.access.logins import NOBODY, known_name
from syncova_project.access.models import LoginAttempt
from syncova_project.access.origin import current_origin
from syncova_project.access.services import audit_record
from syncova_project.errors import SyncovaError

WINDOW: Final = dt.timedelta(minutes=15)
# A name alone is locked late: locking somebody else out has to take more than a few tries.
LIMITS: Final = {"both": 5, "address": 20, "name": 100}
_COUNT: Final = """
INSERT INTO login_attempts (key, failures, until) SELECT unnest(%s::text[]), 1, %s ORDER BY 1
ON CONFLICT (key) DO UPDATE SET
    failures = CASE WHEN login_attempts.until <= %s THEN 1 ELSE least(login_attempts.failures + 1, 1000000) END,
    until = CASE WHEN login_attempts.until <= %s THEN excluded.until ELSE login_attempts.until END
RETURNING key, failures, until
"""
_FORGET: Final = """
DELETE FROM login_attempts WHERE key IN (
    SELECT key FROM login_attempts WHERE until <= %s ORDER BY until LIMIT 20 FOR UPDATE SKIP LOCKED
)
"""


class LoginLockedError(SyncovaError):
    """Too many logins under this name or from this address failed; `wait` seconds are left."""

    code: ClassVar[str] = "LOGIN_LOCKED"
    status: ClassVar[int] = 429
    wait: float = 0.0


class GuardedBackend(ModelBackend):
    """Django's own check of a password, behind the count of attempts."""

    def authenticate(
        self, request: HttpRequest | None, username: str | None = None, password: str | None = None, **kwargs: Any
    ) -> Any:
        """Return the user, None for a wrong password; raises LoginLockedError without looking at it."""
        if request is None or username is None or password is None:
            return super().authenticate(request, username=username, password=password, **kwargs)
        now = clock.now()
        keys = _keys(username, current_origin().address)
        _count(keys, username, now)
        user = super().authenticate(request, username=username, password=password, **kwargs)
        if user is not None:
            _forgive(keys)
        return user


def _keys(name: str, address: str) -> dict[str, str]:
    near = neighbourhood(address)
    told = {"both": f"{name.casefold()}\0{near}", "address": near, "name": name.casefold()}
    return {kind: _digest(f"{kind}\0{text}") for kind, text in told.items()}


def _digest(text: str) -> str:
    return hmac.digest(settings.SECRET_KEY.encode(), text.encode("utf-8", "replace"), "sha256").hex()


def _count(keys: dict[str, str], name: str, now: dt.datetime) -> None:
    with connection.cursor() as cursor:
        cursor.execute(_FORGET, [now])
        cursor.execute(_COUNT, [list(keys.values()), now + WINDOW, now, now])
        found = {key: (failures, until) for key, failures, until in cursor.fetchall()}
    locked = [(kind, *found[key]) for kind, key in keys.items() if found[key][0] > LIMITS[kind]]
    if not locked:
        return
    for kind, failures, until in locked:
        if failures == LIMITS[kind] + 1:
            _record(kind, name, until, now)
    wait = max((until - now).total_seconds() for _, _, until in locked)
    error = LoginLockedError(
        f"Too many logins failed. Try again in {int(wait // 60) + 1} minutes.",
        hint="On the server's machine, ./syncova manage unlock_logins ends the wait.",
    )
    error.wait = wait
    raise error


def _forgive(keys: dict[str, str]) -> None:
    """Take back the count of an attempt that was right; a name and address that belong together begin anew."""
    LoginAttempt.objects.filter(key=keys["both"]).delete()
    # One row each: two at once could wait for each other's.
    for kind in ("address", "name"):
        LoginAttempt.objects.filter(key=keys[kind], failures__gt=0).update(failures=F("failures") - 1)


def _record(kind: str, name: str, until: dt.datetime, now: dt.datetime) -> None:
    """Write once for each window that it began: a flood must not fill the trail."""
    audit_record(
        actor=NOBODY,
        action="session.lock",
        subject_type="user",
        subject_id=known_name({"username": name}),
        now=now,
        details={"by": kind, "until": until.isoformat()},
    )

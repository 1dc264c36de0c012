"""Whether who began a long answer may still have it: token, session, rights and sight are asked anew meanwhile (7.8).

Owns what stands for a caller after the request's own look at them. Notes no use and counts no request.
"""

from collections.abc import Callable
from importlib import import_module
from typing import Any, Final

from django.conf import settings
from django.contrib.auth import get_user
from django.http import HttpRequest
from rest_framework.exceptions import APIException, AuthenticationFailed
from rest_framework.request import Request

from syncova_project import clock
from syncova_project.access.models import ApiToken
from syncova_project.access.permissions import SessionEndedError, check_scopes
from syncova_project.access.principals import Principal
from syncova_project.access.scopes import Scope
from syncova_project.access.selectors import is_live
from syncova_project.access.visibility import limit_sight, unlimited_sight
from syncova_project.errors import SyncovaError

ASKED_SECONDS: Final = 5.0


class Standing:
    """The caller of a request, which needs one of these rights."""

    def __init__(self, request: Request, scopes: tuple[Scope, ...]) -> None:
        """Remember whose request it is."""
        self._token = request.auth if isinstance(request.auth, ApiToken) else None
        self._session_key = None if self._token else request._request.session.session_key
        self._scopes = scopes

    def principal(self) -> Principal:
        """Return who they are now; raises what their next request would be refused with."""
        principal = self._of_session() if self._token is None else _of_token(self._token)
        check_scopes(principal, self._scopes)
        return principal

    def _of_session(self) -> Principal:
        # Read anew, by Django's own question: a logout ends a session, and so does another password.
        anew: Any = HttpRequest()
        anew.session = import_module(settings.SESSION_ENGINE).SessionStore(self._session_key)
        user = get_user(anew)
        if not user.is_authenticated or not user.is_active:
            raise SessionEndedError
        return Principal.of_person(user)


class Watch:
    """A caller who has a long answer, asked every few seconds whether they may have more of it."""

    def __init__(self, standing: Standing, look: Callable[[], object]) -> None:
        """Watch from now on; `look` raises where what they have is not theirs to see."""
        self._standing, self._look, self._asked_at = standing, look, clock.monotonic()

    def refusal(self) -> SyncovaError | APIException | None:
        """Return the error that their next request would be refused with, None while they may go on."""
        if clock.monotonic() - self._asked_at < ASKED_SECONDS:
            return None
        try:
            with unlimited_sight():
                limit_sight(self._standing.principal().groups)
                self._look()
        except (SyncovaError, APIException) as error:
            return error
        self._asked_at = clock.monotonic()
        return None


def _of_token(seen: ApiToken) -> Principal:
    token = ApiToken.objects.select_related("user").filter(pk=seen.pk).first()
    if token is None or not is_live(token, clock.now()):
        raise AuthenticationFailed
    return Principal.of_token(token)

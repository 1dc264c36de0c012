"""Authentication: turns the Authorization header, or without one a person's session, into a principal.

Owns the header's form alone; which token it is, access.selectors says. The principal is no Django user: a token has
rights of its own and never a person's session.
"""

from typing import Any

from django.conf import settings
from rest_framework import exceptions
from rest_framework.authentication import BaseAuthentication, SessionAuthentication, get_authorization_header
from rest_framework.request import Request

from syncova_project import clock
from syncova_project.access.models import ApiToken
from syncova_project.access.principals import Principal
from syncova_project.access.selectors import token_find
from syncova_project.access.throttling import throttle_refused
from syncova_project.errors import PermissionDeniedError

KEYWORD = b"bearer"


class BearerAuthentication(BaseAuthentication):
    """`Authorization: Bearer syncova_…`; no header at all is anonymous, a wrong one is 401."""

    def authenticate(self, request: Request) -> tuple[Principal, ApiToken] | None:
        """Return principal and token, None without a header; NotAuthenticated and AuthenticationFailed for the rest."""
        header = get_authorization_header(request)
        if not header:
            return None
        keyword, _, text = header.partition(b" ")
        if keyword.lower() != KEYWORD:
            raise exceptions.NotAuthenticated("Another scheme than Bearer shows no token.")
        token = token_find(text=text.strip().decode("ascii", "replace"), now=clock.now())
        if token is None:
            throttle_refused()
            raise exceptions.AuthenticationFailed("The token is not valid.")
        return Principal.of_token(token), token

    def authenticate_header(self, request: Request) -> str:
        """Return the challenge of a 401."""
        return "Bearer"


class PersonAuthentication(SessionAuthentication):
    """A session of the admin's login, without an Authorization header; what changes something needs the CSRF token."""

    def authenticate(self, request: Request) -> tuple[Any, None] | None:
        """Return the person's principal, None without a session; PermissionDeniedError where its token is missing."""
        if settings.SESSION_COOKIE_NAME not in request.COOKIES:
            return None
        user = request._request.user
        if not user.is_authenticated or not user.is_active:
            return None
        self.enforce_csrf(request)
        return Principal.of_person(user), None

    def enforce_csrf(self, request: Request) -> None:
        """Raise the error that names the header, where what changes something lacks it or has a wrong one."""
        try:
            super().enforce_csrf(request)
        except exceptions.PermissionDenied as error:
            raise PermissionDeniedError(
                "A session may change nothing without the token of its pages, so that no other site does it for you.",
                hint=f"Send the value of the cookie {settings.CSRF_COOKIE_NAME} in the header X-CSRFToken, with this "
                "server as Referer or Origin, or ask with a token: Authorization: Bearer syncova_…",
            ) from error

"""The request's edge: gives each request an id and an origin, and every answer its security headers.

Owns the Content-Security-Policy: no page loads anything from another host. What a proxy says of a request is believed
of the proxies that SYNCOVA_TRUSTED_PROXIES names. Decides no right.
"""

import re
import uuid
from collections.abc import Callable
from http import HTTPStatus

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from syncova_project.access.addresses import client_address, is_trusted
from syncova_project.access.lockout import LoginLockedError
from syncova_project.access.origin import Origin, request_origin
from syncova_project.access.people import groups_of
from syncova_project.access.visibility import limit_sight, unlimited_sight

Handler = Callable[[HttpRequest], HttpResponse]

ACCEPTABLE_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)


class RequestOriginMiddleware:
    """Names the request for logs and audit; a client's own X-Request-ID is kept when it is harmless."""

    def __init__(self, get_response: Handler) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        given = request.headers.get("X-Request-ID", "")
        request_id = given if ACCEPTABLE_ID.fullmatch(given) else uuid.uuid4().hex
        with request_origin(Origin(request_id, _address(request))), unlimited_sight():
            response = self.get_response(request)
        response["X-Request-ID"] = request_id
        return response

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        """Answer a login that is locked out, wherever it was tried, before anything else sees it as a failure."""
        if not isinstance(exception, LoginLockedError):
            return None
        text = f"{exception.message} {exception.hint}\n"
        answer = HttpResponse(text, status=exception.status, content_type="text/plain; charset=utf-8")
        answer["Retry-After"] = str(int(exception.wait) + 1)
        return answer


def _address(request: HttpRequest) -> str:
    connection = str(request.META.get("REMOTE_ADDR", ""))
    trusted = settings.SYNCOVA_TRUSTED_PROXIES
    if not trusted:
        return connection
    if not is_trusted(connection, trusted):
        # Anybody could claim that their plain connection was encrypted.
        request.META.pop("HTTP_X_FORWARDED_PROTO", None)
        return connection
    return client_address(connection, request.headers.get("X-Forwarded-For", ""), trusted)


class PageSightMiddleware:
    """Limits what pages of the admin show to what the person sees; the API limits its own callers."""

    def __init__(self, get_response: Handler) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if request.path.startswith("/admin/") and request.user.is_authenticated:
            limit_sight(groups_of(request.user))
        return self.get_response(request)


class ContentSecurityMiddleware:
    """Adds the policy to every answer, and forbids caches to keep what the API says."""

    def __init__(self, get_response: Handler) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        response.setdefault("Content-Security-Policy", POLICY)
        response.setdefault("Permissions-Policy", "camera=(), geolocation=(), microphone=(), payment=()")
        if request.path.startswith("/api/"):
            response.setdefault("Cache-Control", "no-store")
        if response.status_code == HTTPStatus.NOT_MODIFIED:
            # It would be that of the answer which is not sent (RFC 9110, 8.6); Django's own middleware says 0.
            del response["Content-Length"]
        return response
